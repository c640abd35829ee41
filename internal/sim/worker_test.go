package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// A claim is written without comparing: the last of several workers also gets the attempt.
func TestRevertClaimIsNotCompared(t *testing.T) {
	breaks(t, AtMostOneStart, onCommit(func(ctx context.Context, below store.Store, b store.Batch, now time.Time) error {
		if strings.HasPrefix(b.ID, "claim/") {
			current, err := below.Run(ctx, b.Runs[0].Next.Key)
			if err == nil && current.Version >= b.Runs[0].Next.Version {
				b.Runs[0].Read, b.Runs[0].Next.Version = current.Version, current.Version+1
			}
		}
		return below.Commit(ctx, b, now)
	}), only(0, "lands", handed), func(p *plan) { p.options.chaos.turns = 0.5 })
}

// A claim is granted on the gate's state at the time of the offer.
func TestRevertClaimTrustsTheOffer(t *testing.T) {
	breaks(t, NoUnsafeStart, onStore(func(_ *World, _ string, below store.Store) store.Store {
		return &trusting{Store: below, offered: map[run.Key][]*sensor.Reading{}}
	}), only(0, "lands", handed), func(p *plan) { p.writes = time.Minute })
}

// trusting answers gate queries with the gate's state at the time of the offer.
type trusting struct {
	store.Store
	offered map[run.Key][]*sensor.Reading
	current run.Run
}

func (s *trusting) Run(ctx context.Context, key run.Key) (run.Run, error) {
	r, err := s.Store.Run(ctx, key)
	s.current = r
	return r, err
}

func (s *trusting) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	answers, err := s.Store.Readings(ctx, queries)
	if err != nil || len(queries) != 1 || queries[0].Pipeline != handed {
		return answers, err
	}
	if s.current.Offered() && s.current.Period == queries[0].Period {
		if before, there := s.offered[s.current.Key]; there {
			return [][]*sensor.Reading{before}, nil
		}
	}
	if s.current.Period == queries[0].Period {
		s.offered[s.current.Key] = answers[0]
	}
	return answers, err
}

// In a world without faults a worker that reports in time never counts as lost.
func TestWorkersInAQuietWorldAreNotLost(t *testing.T) {
	given := 0
	for seed := range uint64(6) {
		p := newPlan(seed, Replay{tune: func(p *plan) {
			only(0, "lands", handed)(p)
			p.hush()
			seldom(p)
			p.writes = 5 * time.Minute
			often(0, WorkerDied, WorkerSilent, Raced)(p)
		}})
		w := New(p.options)
		w.AdvanceTo(p.calm)
		for id, all := range w.shifts {
			given += len(all)
			if told := w.watch.notes.said[id]; len(told) == 0 && all[0].over {
				t.Errorf("seed %d: the worker of %s was told to stop before it had reported", seed, id)
			}
		}
		w.Close()
	}
	if given < 6 {
		t.Errorf("%d attempts were claimed in 6 worlds: the workers do nothing", given)
	}
}
