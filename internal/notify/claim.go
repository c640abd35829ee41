package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// abandoned is how long a sink may go without any process claiming it before its cursor is dropped.
const abandoned = 24 * time.Hour

// Holder is the replica that wants to deliver, and the duration of its lease.
type Holder struct {
	Replica string
	Lease   time.Duration
}

const taskPrefix = "deliver/"

func cursorName(name string) string { return "sink/" + name }

// Claim makes this process the one that delivers to a sink, as long as it keeps the lease. The
// Outbox is nil if another process has the lease. A sink's task becomes due only if no process has
// claimed it for long: see Abandon.
func (n *Notifier) Claim(ctx context.Context, s sink.Sink, h Holder, now time.Time) (*Outbox, store.Lease, error) {
	id := taskPrefix + s.Name()
	task, err := n.store.Task(ctx, id)
	fresh := errors.Is(err, store.ErrNotFound)
	if err != nil && !fresh {
		return nil, store.Lease{}, fmt.Errorf("read the task of sink %s: %w", s.Name(), err)
	}
	if fresh || !now.Before(task.Due) { // if the task is due, Abandon may have dropped its cursor
		if err := n.startCursor(ctx, s.Name()); err != nil {
			return nil, store.Lease{}, err
		}
	}
	if fresh || stale(task.Due, now) {
		if err := n.postponeAbandon(ctx, s.Name(), now); err != nil {
			return nil, store.Lease{}, err
		}
	}
	claims, err := n.store.Claim(ctx, store.ClaimQuery{Replica: h.Replica, Task: id, Limit: 1, Lease: h.Lease}, now)
	if err != nil {
		return nil, store.Lease{}, fmt.Errorf("claim sink %s: %w", s.Name(), err)
	}
	if len(claims) == 0 {
		return nil, store.Lease{}, nil
	}
	o, err := n.open(ctx, s, claims[0], h.Lease, now)
	return o, claims[0].Lease, err
}

// ErrTakenOver means that another process now delivers to the sink: this process must discard its
// state.
var ErrTakenOver = errors.New("another process delivers to this sink")

// takenOver returns err, or ErrTakenOver if a conflict shows that the lease is lost.
func takenOver(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return ErrTakenOver
	}
	return err
}

// stale reports whether a sink's task must be postponed soon, so that a sink in use is not
// abandoned.
func stale(due, now time.Time) bool { return !now.Before(due.Add(-abandoned / 2)) }

// postponeAbandon postpones the abandonment of a sink, because a process delivers to it or stands
// by to.
func (n *Notifier) postponeAbandon(ctx context.Context, name string, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("want/%s/%d", name, now.UnixNano())}
	b.Schedule(store.Task{ID: taskPrefix + name, Kind: store.Deliver, Due: now.Add(abandoned)})
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("claim sink %s: %w", name, err)
	}
	return nil
}

// startCursor sets the cursor of a new sink to the time the server started: a new channel should
// not receive three months of old alerts.
func (n *Notifier) startCursor(ctx context.Context, name string) error {
	at, err := n.store.Cursor(ctx, cursorName(name))
	if err != nil {
		return fmt.Errorf("read the cursor of sink %s: %w", name, err)
	}
	if at > 0 {
		return nil
	}
	at, err = n.store.PositionAt(ctx, n.since)
	if err != nil {
		return fmt.Errorf("find the start position of sink %s: %w", name, err)
	}
	return n.advance(ctx, name, at)
}

// advance stores a sink's cursor. After a crash before it, some events are sent again.
func (n *Notifier) advance(ctx context.Context, name string, at store.Position) error {
	if err := n.store.SetCursor(ctx, cursorName(name), at); err != nil {
		return fmt.Errorf("move the cursor of sink %s: %w", name, err)
	}
	return nil
}

// Abandon runs the task of a sink that no process has claimed for long. If the sink is not
// configured here, Abandon drops its cursor, so that no events are kept for it, and its bursts, and
// returns its name. Otherwise it returns "".
func (n *Notifier) Abandon(ctx context.Context, c store.Claim, now time.Time) (string, error) {
	name := c.Task.ID[len(taskPrefix):]
	b := store.Batch{ID: fmt.Sprintf("abandon/%s/%d", name, c.Lease.Token), Lease: &c.Lease}
	if n.find(name) != nil { // it is configured; no process was up to claim it
		b.Schedule(store.Task{ID: c.Task.ID, Kind: store.Deliver, Due: now.Add(abandoned)})
		return "", n.store.Commit(ctx, b, now)
	}
	if err := n.store.DropCursor(ctx, cursorName(name)); err != nil {
		return "", err
	}
	if err := n.forgetBursts(ctx, name, &c.Lease, now); err != nil {
		return "", err
	}
	b.Finish(c.Task.ID)
	return name, n.store.Commit(ctx, b, now)
}
