package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// cut is an engine whose connection breaks during a transaction.
type cut struct {
	row.Engine
	after   int  // how many transactions are answered before that
	applied bool // whether that one is applied
}

func (c *cut) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	if c.after--; c.after != -1 {
		return c.Engine.Apply(ctx, tx, now)
	}
	if c.applied {
		if err := c.Engine.Apply(ctx, tx, now); err != nil {
			return err
		}
	}
	return store.ErrAway
}

// tasksOn returns a store on an engine, with four due tasks. It leases one task per transaction.
func tasksOn(t *testing.T, e row.Engine, now time.Time) *record.Store {
	t.Helper()
	s := record.New(e, record.Options{MaxOps: 1})
	b := store.Batch{ID: "tasks"}
	for _, id := range []string{"a", "b", "c", "d"} {
		b.Schedule(store.Task{ID: id, Kind: store.Advance, Pipeline: "orders", Due: now})
	}
	if err := s.Commit(t.Context(), b, now); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTasksOfAClaimWithoutAnAnswerAreClaimedAgainAtOnce(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	q := store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}
	for name, c := range map[string]struct {
		cut   cut
		first []string // what the claim that is cut returns
	}{
		"applied":                     {cut{after: 0, applied: true}, nil},
		"not applied":                 {cut{after: 0}, nil},
		"applied, after other tasks":  {cut{after: 2, applied: true}, []string{"a", "b"}},
		"not applied, after the same": {cut{after: 2}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &cut{Engine: memory.NewEngine(), after: -1}
			s := tasksOn(t, e, now)
			*e = cut{e.Engine, c.cut.after, c.cut.applied}
			claims, err := s.Claim(t.Context(), q, now)
			if failed := errors.Is(err, store.ErrAway); failed != (c.first == nil) {
				t.Errorf("the claim that was cut: %v", err)
			}
			if got := claimed(claims); !slices.Equal(got, c.first) {
				t.Errorf("it returned %q, want %q", got, c.first)
			}
			more, err := s.Claim(t.Context(), q, now)
			if err != nil {
				t.Fatal(err)
			}
			all := append(claims, more...)
			if got := claimed(all); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
				t.Errorf("both returned %q, want each task once", got)
			}
			for _, one := range all {
				b := store.Batch{ID: "done " + one.Task.ID, Lease: &one.Lease, Finished: []string{one.Task.ID}}
				if err := s.Commit(t.Context(), b, now); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestLeaseThatAnotherProcessHoldsIsNotTakenForOneWithoutAnAnswer(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	q := store.ClaimQuery{Replica: "here", Limit: 10, Lease: time.Minute}
	e := &cut{Engine: memory.NewEngine(), after: -1}
	s := tasksOn(t, e, now)
	e.after = 0 // the claim is not stored, and another process claims the tasks
	if _, err := s.Claim(t.Context(), q, now); !errors.Is(err, store.ErrAway) {
		t.Fatal(err)
	}
	others, err := record.New(e.Engine, record.Options{}).Claim(t.Context(), q, now)
	if err != nil || len(others) != 4 {
		t.Fatalf("the other process claimed %+v, %v", others, err)
	}
	if claims, err := s.Claim(t.Context(), q, now); err != nil || len(claims) > 0 {
		t.Errorf("claimed %q, %v, which the other process holds", claimed(claims), err)
	}
}

func claimed(claims []store.Claim) (ids []string) {
	for _, c := range claims {
		ids = append(ids, c.Task.ID)
	}
	return ids
}

// reads counts the rows that scans return.
type reads struct {
	row.Engine
	rows int
}

func (r *reads) Scan(ctx context.Context, ranges []row.Range) ([]row.Page, error) {
	pages, err := r.Engine.Scan(ctx, ranges)
	for _, p := range pages {
		r.rows += len(p.Rows)
	}
	return pages, err
}

// The first files of a large installation make thousands of tasks due at once, as do an outage and a
// flood of runs. Each claim then reads only tasks that it may claim.
func TestClaimReadsNoTasksOfOtherQueues(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	counted := &reads{Engine: memory.NewEngine()}
	s := record.New(counted, record.Options{})
	for _, kind := range []store.TaskKind{store.Arm, store.ReopenPeriods, store.RunProbe, store.Advance} {
		for i := range 100 {
			b := store.Batch{ID: fmt.Sprint(kind, i)}
			b.Schedule(store.Task{ID: fmt.Sprint(kind, i), Kind: kind, Pipeline: "orders", Due: now})
			if err := s.Commit(t.Context(), b, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kinds := range [][]store.TaskKind{{store.FireDeadline, store.Fire}, {store.HandleChange}, {store.RunProbe}, {store.Arm}} {
		counted.rows = 0
		if _, err := s.Claim(t.Context(), store.ClaimQuery{Replica: "here", Kinds: kinds, Limit: 1, Lease: time.Minute}, now); err != nil {
			t.Fatal(err)
		}
		if counted.rows > 20 {
			t.Errorf("a claim for a task of %v read %d rows", kinds, counted.rows)
		}
	}
}
