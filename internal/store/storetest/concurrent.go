package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/rowtest"
)

var concurrencyClaims = []claim{
	{"EachVersionHasOneWinner", oneWinner},
	{"OneBatchSentByManyHappensOnce", sentByMany},
	{"AMarkIsSetByOne", markByOne},
	{"ATaskIsHeldByOne", taskByOne},
	{"AChangeIsHeldByOne", changeByOne},
	{"ReadingsNeverShareAVersion", versionsApart},
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

// oneWinner has all goroutines swap the same run as often as they can, each counting its own wins.
func oneWinner(f *fixture) {
	const rounds = 10
	f.create(opened(orders))
	var wins, conflicts atomic.Int64
	together(func(i int) {
		for n := range rounds {
			read, err := f.s.Run(f.ctx, orders)
			if err != nil {
				f.t.Errorf("read: %v", err)
				return
			}
			b := store.Batch{ID: fmt.Sprintf("%d/%d", i, n)}
			b.Swap(read, touched(read))
			b.Emit(newEvent(orders, fmt.Sprintf("version %d", read.Version+1), noon))
			b.SetMark(fmt.Sprintf("version/%d", read.Version+1), time.Time{})
			switch err := f.s.Commit(f.ctx, b, noon); {
			case err == nil:
				wins.Add(1)
			case errors.Is(err, store.ErrConflict):
				conflicts.Add(1)
			default:
				f.t.Errorf("commit: %v", err)
			}
		}
	})
	f.same("attempts", wins.Load()+conflicts.Load(), int64(many*rounds))
	f.same("version", f.run(orders).Version, 1+wins.Load())
	f.same("events", int64(len(f.everything().Events)), wins.Load())
	if wins.Load() < rounds {
		f.t.Errorf("only %d of %d swaps were taken", wins.Load(), many*rounds)
	}
}

func sentByMany(f *fixture) {
	f.schedule(taskFor("c", noon))
	b := f.batch()
	full(&b)
	together(func(int) {
		if err := f.s.Commit(f.ctx, b, noon); err != nil {
			f.t.Errorf("commit: %v", err)
		}
	})
	f.same("events", len(f.everything().Events), 2)
	f.same("changes", f.backlog("router"), 1)
}

func markByOne(f *fixture) {
	var winners atomic.Int64
	together(func(i int) {
		b := store.Batch{ID: fmt.Sprint(i)}
		b.SetMark("m", time.Time{})
		if f.s.Commit(f.ctx, b, noon) == nil {
			winners.Add(1)
		}
	})
	f.same("winners", winners.Load(), int64(1))
}

func taskByOne(f *fixture) {
	const tasks = 40
	for i := range tasks {
		f.schedule(taskFor(fmt.Sprint(i), noon))
	}
	var mu sync.Mutex
	claimed, tokens := map[string]int{}, map[int64]bool{}
	together(func(i int) {
		for {
			claims, err := f.s.Claim(f.ctx, store.ClaimQuery{Replica: fmt.Sprint(i), Limit: 3, Lease: time.Minute}, noon)
			if err != nil {
				f.t.Errorf("claim: %v", err)
			}
			if len(claims) == 0 {
				return
			}
			mu.Lock()
			for _, c := range claims {
				claimed[c.Task.ID]++
				tokens[c.Lease.Token] = true
			}
			mu.Unlock()
		}
	})
	for id, n := range claimed {
		if n != 1 {
			f.t.Errorf("task %s was given %d times", id, n)
		}
	}
	f.same("tasks and tokens", []int{len(claimed), len(tokens)}, []int{tasks, tasks})
}

func changeByOne(f *fixture) {
	const changes = 50
	rowtest.EachOnce(f.ctx, f.t, changes, func(n int) error {
		_, err := f.s.PutReadings(f.ctx, []store.Write{write("", int64(n))}, noon)
		return err
	}, func(ctx context.Context, consumer string) (positions []store.Position, done func() error, err error) {
		some, err := f.s.Receive(ctx, "router", consumer, 3)
		for _, c := range some {
			positions = append(positions, c.Position)
		}
		return positions, func() error { return f.s.Done(f.ctx, "router", some) }, err
	})
	f.same("backlog", f.backlog("router"), 0)
}

func versionsApart(f *fixture) {
	const writes = 20
	var mu sync.Mutex
	seen := map[int64]int{}
	together(func(i int) {
		last := int64(0)
		for n := range int64(writes) {
			w := write([]string{"", "2026-03-03"}[i%2], n)
			puts, err := f.s.PutReadings(f.ctx, []store.Write{w, w}, noon)
			if err != nil {
				f.t.Errorf("put: %v", err)
				return
			}
			if puts[0].Version <= last || puts[1].Version <= puts[0].Version {
				f.t.Errorf("versions %d and %d came after %d", puts[0].Version, puts[1].Version, last)
			}
			last = puts[1].Version
			mu.Lock()
			seen[puts[0].Version]++
			seen[puts[1].Version]++
			mu.Unlock()
		}
	})
	f.same("versions", len(seen), 2*many*writes)
	newest := int64(0)
	for v := range seen {
		newest = max(newest, v)
	}
	all := walk(f, 100, func(limit int, cursor string) (store.Page[*sensor.Reading], error) {
		return f.s.History(f.ctx, store.HistoryQuery{Pipeline: "orders", Key: "rows", Limit: limit, Cursor: cursor})
	})
	f.same("history", len(all), 2*many*writes)
	f.same("newest", all[0].Version, newest)
	if r := f.shown("2026-03-09").Reading; r == nil || seen[r.Version] != 1 {
		f.t.Errorf("the standing fact is %+v", r)
	}
}
