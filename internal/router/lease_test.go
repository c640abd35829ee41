package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// overslept is a store that a worker reaches after its lease has expired: before its first commit,
// another one claims the task.
type overslept struct {
	*memory.Store
	takeOver  func()
	committed []string // ids of the batches that were committed after that
}

func (s *overslept) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if take := s.takeOver; take != nil {
		s.takeOver = nil
		take()
	}
	err := s.Store.Commit(ctx, b, now)
	if err == nil {
		s.committed = append(s.committed, b.ID)
	}
	return err
}

// A conflict makes a handler decide again. It must not lose its lease on the way.
func TestWorkerThatLostItsLeaseCommitsNothingHoweverOftenItDecides(t *testing.T) {
	audited := strings.Replace(audited("  evaluation: {window: 6h, interval: 30m}"), "schedule: {", `sla: {deadline: "10:00"}`+"\nschedule: {", 1)
	completed := func(t *testing.T) *world {
		w := newWorld(t, audited)
		w.Write("audited", "arrival", "n=1")
		w.succeed(auditedRun)
		return w
	}
	for task, c := range map[string]struct {
		world  func(t *testing.T) *world
		handle func(r *router.Router, m *slamonitor.Monitor, c store.Claim, now time.Time) error
	}{
		"fire/hourly": {
			func(t *testing.T) *world { return newWorld(t, hourly("")) },
			func(r *router.Router, _ *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return r.Fire(ctx, c, now)
			},
		},
		"post-run/" + auditedRun: {
			completed,
			func(r *router.Router, _ *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return r.CheckPostRun(ctx, c, now)
			},
		},
		"deadline/" + auditedRun + "/absolute": {
			func(t *testing.T) *world { return newWorld(t, audited) },
			func(_ *router.Router, m *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return m.Fire(ctx, c, now)
			},
		},
		"left/" + narrow3: {
			stopping,
			func(r *router.Router, _ *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return r.CheckLeft(ctx, c, now)
			},
		},
		"dry/" + dryRun: {
			func(t *testing.T) *world {
				w := newWorld(t, dry)
				w.Write("dry", "arrival", "status=ready")
				return w
			},
			nil, // the orchestrator does
		},
		"resume/plain": {
			func(t *testing.T) *world {
				w := newWorld(t, plain)
				w.pause("plain", store.Pause{Until: w.Now().Add(time.Hour)})
				return w
			},
			func(r *router.Router, _ *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return r.ResumeDue(ctx, c, now)
			},
		},
		"reopen/plain": {
			func(t *testing.T) *world {
				w := newWorld(t, plain)
				w.pause("plain", store.Pause{})
				w.Check(w.Router.Resume(ctx, "plain", "ada", "done", w.Now()))
				return w
			},
			func(r *router.Router, _ *slamonitor.Monitor, c store.Claim, now time.Time) error {
				return r.Reopen(ctx, c, now)
			},
		},
	} {
		t.Run(task, func(t *testing.T) {
			w := c.world(t)
			w.sleep(2 * time.Hour)
			claim := func() store.Claim {
				claims, err := w.Store.Claim(ctx, store.ClaimQuery{Replica: "one", Task: task, Limit: 1, Lease: time.Minute}, w.Now())
				w.Check(err)
				if len(claims) != 1 {
					t.Fatal("there is no such task")
				}
				return claims[0]
			}
			s := &overslept{Store: w.Store}
			s.takeOver = func() {
				w.sleep(time.Minute)
				claim()
			}
			r := router.New(router.Deps{Store: s, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps})
			var err error
			if c.handle == nil {
				steps := orchestrator.New(orchestrator.Deps{Store: s, Catalog: w.Catalog, Replica: "one"})
				_, err = steps.Step(ctx, claim(), w.Now)
			} else {
				err = c.handle(r, slamonitor.New(s, w.Catalog), claim(), w.Now())
			}
			if !errors.Is(err, store.ErrConflict) || len(s.committed) > 0 {
				t.Errorf("it committed %q, %v", s.committed, err)
			}
		})
	}
}
