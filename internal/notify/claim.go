package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// cursors say how far each sink has come.
type cursors interface {
	Cursor(ctx context.Context, name string) (store.Position, error)
	SetCursor(ctx context.Context, name string, at store.Position) error
	DropCursor(ctx context.Context, name string) error
}

// leases keep a sink to one process.
type leases interface {
	Task(ctx context.Context, id string) (store.Task, error)
	Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error)
	Renew(ctx context.Context, held []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error)
}

// abandoned is how long nobody has delivered to a sink before nothing is kept for it any more.
const abandoned = 24 * time.Hour

// Holder is who wants to deliver, and for how long without a sign of life.
type Holder struct {
	Replica string
	Lease   time.Duration
}

const taskPrefix = "deliver/"

func cursorName(name string) string { return "sink/" + name }

// Claim makes this process the one that delivers to a sink, for as long as it keeps the lease; the Outbox is nil where
// another one does. A sink's task is due only once nobody has wanted it for long: see Abandon.
func (n *Notifier) Claim(ctx context.Context, s sink.Sink, h Holder, now time.Time) (*Outbox, store.Lease, error) {
	id := taskPrefix + s.Name()
	task, err := n.store.Task(ctx, id)
	fresh := errors.Is(err, store.ErrNotFound)
	if err != nil && !fresh {
		return nil, store.Lease{}, fmt.Errorf("read the task of sink %s: %w", s.Name(), err)
	}
	if fresh || !now.Before(task.Due) { // a task that is due may have lost its cursor to Abandon
		if err := n.begin(ctx, s.Name()); err != nil {
			return nil, store.Lease{}, err
		}
	}
	if fresh || stale(task.Due, now) {
		if err := n.want(ctx, s.Name(), now); err != nil {
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

// ErrTakenOver says that another process delivers to the sink by now: what this one knows of it no longer counts.
var ErrTakenOver = errors.New("another process delivers to this sink")

// takenOver is err, or ErrTakenOver where a conflict shows that the lease is lost.
func takenOver(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return ErrTakenOver
	}
	return err
}

// stale says that a sink's task will be due before long although somebody wants it.
func stale(due, now time.Time) bool { return !now.Before(due.Add(-abandoned / 2)) }

// want notes that somebody delivers to a sink, or stands by to.
func (n *Notifier) want(ctx context.Context, name string, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("want/%s/%d", name, now.UnixNano())}
	b.Schedule(store.Task{ID: taskPrefix + name, Kind: store.Deliver, Due: now.Add(abandoned)})
	if err := n.store.Commit(ctx, b, now); err != nil {
		return fmt.Errorf("claim sink %s: %w", name, err)
	}
	return nil
}

// begin puts the cursor of a sink that was not there before to what has happened since the server began: nobody wants to
// be told of three months on the day a channel is set up.
func (n *Notifier) begin(ctx context.Context, name string) error {
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

// advance remembers how far a sink has come. A crash before it means that some events are sent again.
func (n *Notifier) advance(ctx context.Context, name string, at store.Position) error {
	if err := n.store.SetCursor(ctx, cursorName(name), at); err != nil {
		return fmt.Errorf("move the cursor of sink %s: %w", name, err)
	}
	return nil
}

// Abandon carries out the task of a sink that nobody has delivered to for long. If it is none of ours, its cursor is
// dropped, so that it holds no events back, and so is what waited for it; it gives the sink's name then, and "" otherwise.
func (n *Notifier) Abandon(ctx context.Context, c store.Claim, now time.Time) (string, error) {
	name := c.Task.ID[len(taskPrefix):]
	b := store.Batch{ID: fmt.Sprintf("abandon/%s/%d", name, c.Lease.Token), Lease: &c.Lease}
	if n.find(name) != nil { // nobody got round to it
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
