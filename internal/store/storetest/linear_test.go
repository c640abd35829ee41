package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// unfenced accepts commits under a lease that another holder has by now.
type unfenced struct{ store.Store }

func (s unfenced) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	b.Lease = nil
	return s.Store.Commit(ctx, b, now)
}

// lastWins swaps a run whatever its current version is.
type lastWins struct{ store.Store }

func (s lastWins) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	var forced []store.Swap[run.Run]
	for _, w := range b.Runs {
		if current, err := s.Run(ctx, w.Next.Key); err == nil {
			w.Read = current.Version
			w.Next.Version = max(w.Next.Version, current.Version+1)
		}
		forced = append(forced, w)
	}
	b.Runs = forced
	return s.Store.Commit(ctx, b, now)
}

// forgetful does not recognise a Batch that it has committed.
type forgetful struct {
	store.Store
	n *atomic.Int64
}

func (s forgetful) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	b.ID = fmt.Sprintf("%s again %d", b.ID, s.n.Add(1))
	return s.Store.Commit(ctx, b, now)
}

// stale answers reads from a cache.
type stale struct {
	store.Store
	mu   *sync.Mutex
	runs map[run.Key]run.Run
}

func (s stale) Run(ctx context.Context, key run.Key) (run.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.runs[key]; known {
		delete(s.runs, key)
		return old, nil
	}
	fresh, err := s.Store.Run(ctx, key)
	s.runs[key] = fresh
	return fresh, err
}

// generous grants a task to every claim, held or not.
type generous struct{ store.Store }

func (s generous) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	return s.Store.Claim(ctx, q, now.Add(q.Lease))
}

func TestBrokenStoresAreCaught(t *testing.T) {
	for name, breaks := range map[string]func(store.Store) store.Store{
		"lease not fenced":  func(s store.Store) store.Store { return unfenced{s} },
		"lost update":       func(s store.Store) store.Store { return lastWins{s} },
		"batch taken twice": func(s store.Store) store.Store { return forgetful{s, new(atomic.Int64)} },
		"stale read":        func(s store.Store) store.Store { return stale{s, new(sync.Mutex), map[run.Key]run.Run{}} },
		"task given twice":  func(s store.Store) store.Store { return generous{s} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(histories) {
				history, err := record(t.Context(), breaks(memory.New()), seed)
				if err != nil {
					t.Fatal(err)
				}
				if !linear(history) {
					return
				}
			}
			t.Errorf("none of %d histories shows it", histories)
		})
	}
}
