package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// client is one of several concurrent clients of a store. It acts on the answers it got, however
// old they are by now.
type client struct {
	id   int
	rec  *recorder
	rand *rand.Rand

	seen   map[run.Key]run.Run
	leases []store.Lease
	sent   []store.Batch
}

// do makes a call, records it, and remembers the answer.
func (c *client) do(ctx context.Context, s store.Store, in call) {
	began := c.rec.clock.Add(1)
	runtime.Gosched() // lets others run in between, even if a call is quick
	out, err := in.make(ctx, s)
	runtime.Gosched()
	ended := c.rec.clock.Add(1)
	c.rec.mu.Lock()
	c.rec.history = append(c.rec.history, porcupine.Operation{ClientId: c.id, Input: in, Call: began, Output: out, Return: ended})
	if err != nil {
		c.rec.failed = fmt.Errorf("%s: %w", in.kind, err)
	}
	c.rec.mu.Unlock()
	if in.kind == asksRun {
		c.seen[in.run] = out.run
	}
	for _, claim := range out.claims {
		c.leases = append(c.leases, claim.Lease)
	}
}

// begin returns the call that stores the tasks.
func (c *client) begin() call {
	b := store.Batch{ID: "begin"}
	for _, id := range modelTasks {
		b.Schedule(taskFor(id, noon))
	}
	return call{kind: commits, batch: b, now: noon}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// draw returns the client's next call and advances the clock by 0, 1 or 5 s.
func (c *client) draw() call {
	wait := pick(c.rand, []time.Duration{0, time.Second, 5 * time.Second})
	in := call{now: noon.Add(time.Duration(c.rec.passed.Add(int64(wait))))}
	switch n := c.rand.IntN(20); {
	case n < 6:
		in.kind, in.batch = commits, c.drawBatch(in.now)
		c.sent = append(c.sent, in.batch)
	case n < 8 && len(c.sent) > 0: // as if the answer had been lost
		in.kind, in.batch = commits, pick(c.rand, c.sent)
	case n < 11:
		in.kind, in.query = claims, store.ClaimQuery{Replica: "here", Limit: 1 + c.rand.IntN(2), Lease: life}
	case n < 13 && len(c.leases) > 0:
		in.kind, in.leases = pick(c.rand, []callKind{renews, renews, releases}), []store.Lease{pick(c.rand, lately(c.leases))}
	case n < 15:
		in.kind, in.write = puts, write("", c.rand.Int64N(3))
		in.write.Order = c.rand.Int64N(4)
	case n < 16:
		in.kind, in.write = asksRead, write("", 0)
	case n < 17:
		in.kind, in.task = asksTask, pick(c.rand, modelTasks)
	default:
		in.kind, in.run = asksRun, pick(c.rand, modelRuns)
	}
	return in
}

// drawBatch swaps runs as they were last seen, and stores or finishes a task, perhaps under a
// lease.
func (c *client) drawBatch(now time.Time) store.Batch {
	b := store.Batch{ID: fmt.Sprintf("%d/%d", c.id, len(c.sent))}
	for _, key := range modelRuns[:1+c.rand.IntN(2)] {
		read := c.seen[key]
		next := opened(key)
		next.Version, next.Reason = read.Version+1, b.ID
		next.Status = pick(c.rand, run.Statuses())
		b.Swap(read, next)
	}
	if len(c.leases) > 0 && c.rand.IntN(2) == 0 {
		held := pick(c.rand, lately(c.leases))
		b.Lease = &held
		b.Runs = b.Runs[:c.rand.IntN(2)] // half the time, the lease is the only condition
		if c.rand.IntN(2) == 0 {
			b.Finish(held.Task)
			return b
		}
	}
	if c.rand.IntN(2) == 0 {
		b.Schedule(taskFor(pick(c.rand, modelTasks), now.Add(time.Duration(c.rand.IntN(3))*time.Second)))
	}
	return b
}
