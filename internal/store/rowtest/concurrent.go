package rowtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var concurrencyClaims = []claim{
	{"EachVersionHasOneWinner", oneWinner},
	{"OneIDAppliedByManyHappensOnce", appliedByMany},
	{"NumbersAreDrawnOnce", drawnOnce},
	{"EventsAreAppendedOnce", appendedOnce},
}

const many = 8

// together runs do in several goroutines at once.
func together(do func(i int)) {
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// oneWinner increments one row from all goroutines. Its version is the sum: how often it was
// incremented.
func oneWinner(f *fixture) {
	const rounds = 10
	a := ref("orders", "a")
	var wins, conflicts atomic.Int64
	together(func(i int) {
		for range rounds {
			rows, err := f.e.Get(f.ctx, []row.Ref{a})
			if err != nil {
				f.t.Errorf("get: %v", err)
				return
			}
			next := rows[0].Version + 1
			tx := row.Tx{
				Ops:    []row.Op{put(at(a, next), next-1), put(at(ref("silver", fmt.Sprintf("%03d", next)), 1), 0)},
				Events: []row.Event{event("orders", fmt.Sprint(next))},
			}
			switch err := f.e.Apply(f.ctx, tx, noon); {
			case err == nil:
				wins.Add(1)
			case errors.Is(err, store.ErrConflict):
				conflicts.Add(1)
			default:
				f.t.Errorf("apply: %v", err)
			}
		}
	})
	same(f, "attempts", wins.Load()+conflicts.Load(), int64(many*rounds))
	f.is("sum", at(a, wins.Load()))
	same(f, "rows beside it", int64(len(f.keys(row.Range{Kind: kind, Part: "silver"}))), wins.Load())
	var want []string
	for i := range wins.Load() {
		want = append(want, eventBody(fmt.Sprint(i+1)))
	}
	same(f, "events", bodies(f.events("")), want)
	if wins.Load() < rounds {
		f.t.Errorf("only %d of %d increments were applied", wins.Load(), many*rounds)
	}
}

func appliedByMany(f *fixture) {
	together(func(int) {
		if err := f.e.Apply(f.ctx, full("x"), noon); err != nil {
			f.t.Errorf("apply: %v", err)
		}
	})
	looksFull(f, "x")
}

func drawnOnce(f *fixture) {
	var mu sync.Mutex
	drawn := map[int64]bool{}
	together(func(i int) {
		last := int64(0)
		for range 20 {
			first, err := f.e.Next(f.ctx, 1+i%3)
			if err != nil || first <= last {
				f.t.Errorf("number %d came after %d, error %v", first, last, err)
				return
			}
			mu.Lock()
			for last = first; last < first+int64(1+i%3); last++ {
				if drawn[last] {
					f.t.Errorf("number %d was drawn twice", last)
				}
				drawn[last] = true
			}
			mu.Unlock()
			last--
		}
	})
}

func appendedOnce(f *fixture) {
	together(func(i int) {
		for n := range 5 {
			tx := row.Tx{Events: []row.Event{event("orders", fmt.Sprint(n)), event("silver", fmt.Sprint(i, "/", n))}}
			if err := f.e.Apply(f.ctx, tx, noon); err != nil {
				f.t.Errorf("apply: %v", err)
			}
		}
	})
	same(f, "events that all append", len(f.events("orders")), 5)
	same(f, "events that one appends", len(f.events("silver")), many*5)
}

func changeByOne(f *fixture) {
	const changes = 50
	EachOnce(f.ctx, f.t, changes, func(n int) error {
		op := changing(put(at(ref("orders", "a"), 1), row.Any), fmt.Sprint(n))
		return f.e.Apply(f.ctx, row.Tx{Ops: []row.Op{op}}, noon)
	}, func(ctx context.Context, consumer string) (positions []int64, ack func() error, err error) {
		some, err := f.e.Receive(ctx, "router", consumer, 3)
		for _, c := range some {
			positions = append(positions, c.Position)
		}
		return positions, func() error { return f.e.Ack(f.ctx, "router", some) }, err
	})
	same(f, "backlog", f.backlog("router"), 0)
}

// EachOnce has one goroutine write changes and many others receive them and say that they are done,
// and checks that each change is received once. Receive returns the positions of some changes, and
// ends with its context.
func EachOnce[P comparable](
	ctx context.Context, t rapid.TB, changes int, write func(n int) error,
	receive func(ctx context.Context, consumer string) (positions []P, done func() error, err error),
) {
	ctx, cancel := context.WithTimeout(ctx, guard)
	defer cancel()
	var mu sync.Mutex
	received := map[P]int{}
	var finished atomic.Int64
	together(func(i int) {
		if i == 0 {
			for n := range changes {
				if err := write(n); err != nil {
					t.Errorf("write: %v", err)
				}
			}
			return
		}
		for {
			some, done, err := receive(ctx, fmt.Sprint(i))
			if err != nil {
				return
			}
			mu.Lock()
			for _, position := range some {
				received[position]++
			}
			mu.Unlock()
			if err := done(); err != nil {
				t.Errorf("done: %v", err)
			}
			if finished.Add(int64(len(some))) == int64(changes) {
				cancel()
			}
		}
	})
	for position, n := range received {
		if n != 1 {
			t.Errorf("change %v was received %d times", position, n)
		}
	}
	if len(received) != changes {
		t.Errorf("%d changes were received, want %d", len(received), changes)
	}
}
