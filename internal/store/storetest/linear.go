package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	histories = 25 // recorded
	fewer     = 5  // of a slow store
	clients   = 5
	calls     = 14 // of each client
)

// checkLinear has clients work on one store concurrently, and checks that their history is
// linearizable: swaps by version, batches sent twice, claims, renewals, fenced commits, readings.
// The model is that of the random walk.
func checkLinear(t *testing.T, open func(t *testing.T) store.Store, o Options) {
	seeds := uint64(histories)
	if o.Slow {
		seeds = fewer
	}
	for seed := range seeds {
		s := open(t)
		history, err := record(t.Context(), s, seed)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if !linear(history) {
			t.Errorf("seed %d: no order explains these answers:\n%s", seed, historyText(history))
		}
	}
}

// call is a client's call to a store.
type call struct {
	kind   callKind
	now    time.Time
	batch  store.Batch
	query  store.ClaimQuery
	leases []store.Lease
	write  store.Write
	run    run.Key
	task   string
}

type callKind string

const (
	commits  callKind = "commit"
	claims   callKind = "claim"
	renews   callKind = "renew"
	releases callKind = "release"
	puts     callKind = "put"
	asksRun  callKind = "run"
	asksTask callKind = "task"
	asksRead callKind = "reading"
)

// reply is its answer; missing values are zero.
type reply struct {
	conflict bool
	claims   []store.Claim
	kept     []store.Lease
	put      store.Put
	run      run.Run
	task     store.Task
	readings []*sensor.Reading
}

// life is the duration of leases: a few calls, so that some expire under their holders.
const life = 30 * time.Second

// make makes the call.
func (c call) make(ctx context.Context, s store.Store) (r reply, err error) {
	switch c.kind {
	case commits:
		err = s.Commit(ctx, c.batch, c.now)
		if r.conflict = errors.Is(err, store.ErrConflict); r.conflict {
			err = nil
		}
	case claims:
		r.claims, err = s.Claim(ctx, c.query, c.now)
	case renews:
		r.kept, err = s.Renew(ctx, c.leases, life, c.now)
	case releases:
		err = s.Release(ctx, c.leases, c.now)
	case puts:
		var all []store.Put
		if all, err = s.PutReadings(ctx, []store.Write{c.write}, c.now); err == nil {
			r.put = all[0]
		}
	case asksRun:
		r.run, err = s.Run(ctx, c.run)
	case asksTask:
		r.task, err = s.Task(ctx, c.task)
	case asksRead:
		var all [][]*sensor.Reading
		if all, err = s.Readings(ctx, []store.ReadingQuery{{Pipeline: "orders", Key: c.write.Reading.Key}}); err == nil {
			r.readings = all[0]
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return r, err
}

// explains reports whether the model would have answered so, and updates the model.
func (m *model) explains(c call, r reply) bool {
	switch c.kind {
	case commits:
		return (m.commit(c.batch, c.now) != nil) == r.conflict
	case claims:
		return m.claimBeside(c.query, r.claims, c.now) == nil
	case renews:
		return slices.Equal(m.renew(c.leases, c.now), r.kept)
	case releases:
		m.release(c.leases, c.now)
		return true
	case puts:
		return m.put(c.write, r.put, c.now) == nil
	case asksRun:
		was := m.runs[c.run]
		return was.Version == r.run.Version && was.Status == r.run.Status && was.Reason == r.run.Reason
	case asksTask:
		task := m.tasks[c.task]
		return task == nil && r.task == (store.Task{}) || task != nil && task.Task == r.task
	case asksRead:
		return slices.EqualFunc(m.shown(c.write.Reading.Key, c.write.Reading.Period), r.readings, func(a, b *sensor.Reading) bool {
			return a.Version == b.Version && sensor.SameData(a.Fields, b.Fields)
		})
	}
	return false
}

// linear reports whether some order explains a history.
func linear(history []porcupine.Operation) bool {
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return newModel() },
		Step: func(before, c, r any) (bool, any) {
			next := before.(model).clone()
			ok := next.explains(c.(call), r.(reply))
			return ok, next
		},
		Equal: func(a, b any) bool { return a.(model).print() == b.(model).print() },
	}, history)
}

// String returns a call in one line: only what the model depends on.
func (c call) String() string {
	at := c.now.Sub(noon)
	switch c.kind {
	case commits:
		var parts []string
		for _, w := range c.batch.Runs {
			parts = append(parts, fmt.Sprintf("%s %d→%d %s", w.Next.Key, w.Read, w.Next.Version, w.Next.Status))
		}
		for _, t := range c.batch.Tasks {
			parts = append(parts, fmt.Sprintf("schedule %s at +%s", t.ID, t.Due.Sub(noon)))
		}
		for _, id := range c.batch.Finished {
			parts = append(parts, "finish "+id)
		}
		if c.batch.Lease != nil {
			parts = append(parts, fmt.Sprintf("under %v", *c.batch.Lease))
		}
		return fmt.Sprintf("+%s commit %s: %s", at, c.batch.ID, strings.Join(parts, ", "))
	case claims:
		return fmt.Sprintf("+%s claim up to %d", at, c.query.Limit)
	case renews, releases:
		return fmt.Sprintf("+%s %s %v", at, c.kind, c.leases)
	case puts:
		return fmt.Sprintf("+%s put %v, order %d", at, c.write.Reading.Fields, c.write.Order)
	default:
		return fmt.Sprintf("+%s %s %s%s", at, c.kind, c.run, c.task)
	}
}

// String returns the answer in one line.
func (r reply) String() string {
	var parts []string
	if r.conflict {
		parts = append(parts, "conflict")
	}
	for _, c := range r.claims {
		parts = append(parts, fmt.Sprintf("%s due +%s, token %d", c.Task.ID, c.Task.Due.Sub(noon), c.Lease.Token))
	}
	if len(r.kept) > 0 {
		parts = append(parts, fmt.Sprintf("kept %v", r.kept))
	}
	if r.put != (store.Put{}) {
		parts = append(parts, fmt.Sprintf("version %d, changed %t, ignored %t", r.put.Version, r.put.Changed, r.put.Ignored))
	}
	if r.run.Version > 0 {
		parts = append(parts, fmt.Sprintf("version %d %s by %s", r.run.Version, r.run.Status, r.run.Reason))
	}
	if r.task.ID != "" {
		parts = append(parts, fmt.Sprintf("%s due +%s", r.task.ID, r.task.Due.Sub(noon)))
	}
	for _, found := range r.readings {
		parts = append(parts, fmt.Sprintf("version %d %v", found.Version, found.Fields))
	}
	return strings.Join(parts, "; ")
}

// recorder records who called what when, by a shared counter.
type recorder struct {
	clock   atomic.Int64 // counts calls and returns
	passed  atomic.Int64 // time since noon
	mu      sync.Mutex
	history []porcupine.Operation
	failed  error
}

// record runs clients on an empty store. The seed decides how each client reacts to its answers;
// the scheduler decides how they interleave.
func record(ctx context.Context, s store.Store, seed uint64) ([]porcupine.Operation, error) {
	rec := &recorder{}
	first := rec.client(0, seed)
	first.do(ctx, s, first.begin())
	var all sync.WaitGroup
	for n := range clients {
		c := rec.client(n, seed)
		all.Go(func() {
			for range calls {
				c.do(ctx, s, c.draw())
			}
		})
	}
	all.Wait()
	return rec.history, rec.failed
}

// historyText formats a history in the order of the calls.
func historyText(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, o := range history {
		fmt.Fprintf(&text, "%d..%d client %d: %s => %s\n", o.Call, o.Return, o.ClientId, o.Input, o.Output)
	}
	return text.String()
}

func (rec *recorder) client(n int, seed uint64) *client {
	return &client{id: n, rec: rec, rand: rand.New(rand.NewPCG(seed, uint64(n))), seen: map[run.Key]run.Run{}}
}
