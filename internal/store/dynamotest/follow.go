package dynamotest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/row"
)

// follower is an engine that also does what the streams and the functions do on AWS: after each
// Apply it appends the events to the log and hands out the changes.
type follower struct {
	*dynamo.Engine
	*feed
	groups *row.Groups
}

var _ row.Engine = (*follower)(nil)

// feed is what all followers of the same tables share.
type feed struct {
	groups *row.Groups

	tasks, events store.Signal

	applying sync.Mutex
	applied  map[string]bool // by the ids of transactions

	mu      sync.Mutex
	last    int64
	changes []row.Change
}

// feeds are by what names their tables.
var feeds struct {
	mu sync.Mutex
	of map[string]*feed
}

// Follow returns e with a feed of changes and a log of events that is never behind, provided that
// all changes of its tables, of which name is the URL or another name of their own, go through
// followers of this process.
func Follow(e *dynamo.Engine, name string) row.Engine {
	feeds.mu.Lock()
	defer feeds.mu.Unlock()
	if feeds.of == nil {
		feeds.of = map[string]*feed{}
	}
	f := feeds.of[name]
	if f == nil {
		f = &feed{applied: map[string]bool{}}
		f.groups = row.NewGroups(f, func(string, row.Progress) {})
		feeds.of[name] = f
	}
	return &follower{Engine: e, feed: f, groups: f.groups.Open()}
}

// Open is dynamo.Open for a store that does so.
func Open(ctx context.Context, url string, o dynamo.Options) (*dynamo.Store, error) {
	e, err := dynamo.OpenEngine(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return e.Store(Follow(e, url)), nil
}

// Apply hands out the changes only after the events are in the log: a caller repeats it after an
// error.
func (f *follower) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	f.applying.Lock()
	defer f.applying.Unlock()
	changes, err := f.changesOf(ctx, tx, now)
	if err != nil {
		return err
	}
	if err := f.Engine.Apply(ctx, tx, now); err != nil {
		return err
	}
	if len(tx.Events) > 0 {
		if err := f.relay(ctx, now); err != nil {
			return err
		}
	}
	if tx.ID == "" || !f.applied[tx.ID] {
		f.applied[tx.ID] = true
		f.append(changes)
		f.wake(tx)
	}
	return nil
}

// Changed returns a channel that only changes close: there are no other processes to poll for.
func (f *follower) Changed(t row.Topic) <-chan struct{} {
	if t == row.EventTopic {
		return f.events.Next()
	}
	return f.tasks.Next()
}

func (f *feed) wake(tx row.Tx) {
	if len(tx.Events) > 0 {
		f.events.Raise()
	}
	if slices.ContainsFunc(tx.Ops, func(op row.Op) bool {
		return op.Row.Kind == row.Tasks && op.Do != row.Check && !op.Quiet
	}) {
		f.tasks.Raise()
	}
}

// changesOf returns the changes of a transaction, without those of rows that exist and stay.
func (f *follower) changesOf(ctx context.Context, tx row.Tx, now time.Time) (changes []row.Change, err error) {
	for _, op := range tx.Ops {
		if op.Change == nil {
			continue
		}
		if op.If == row.First {
			found, err := f.Get(ctx, []row.Ref{op.Row.Ref})
			if err != nil {
				return nil, err
			}
			if found[0].Version > 0 {
				continue
			}
		}
		changes = append(changes, row.Change{At: now, Body: slices.Clone(op.Change)})
	}
	return changes, nil
}

// relay moves the events of all outboxes into the log.
func (f *follower) relay(ctx context.Context, now time.Time) error {
	waiting, err := f.Outboxes(ctx, time.Time{}, store.MaxPage)
	if err != nil {
		return err
	}
	for _, o := range waiting {
		if err := f.Append(ctx, o.Events); err != nil {
			return err
		}
		if err := f.Relayed(ctx, o, now); err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) append(changes []row.Change) {
	if len(changes) == 0 {
		return
	}
	f.mu.Lock()
	for _, c := range changes {
		f.last++
		c.Position = f.last
		f.changes = append(f.changes, c)
	}
	f.mu.Unlock()
	f.groups.Raise()
}

// ChangesAfter reads the feed.
func (f *feed) ChangesAfter(_ context.Context, position int64, limit int) ([]row.Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	later := f.changes[f.after(position):]
	return slices.Clone(later[:min(limit, len(later))]), nil
}

// CountAfter counts in the feed.
func (f *feed) CountAfter(_ context.Context, position int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.changes) - f.after(position), nil
}

func (f *feed) after(position int64) int {
	return len(f.changes) - int(min(f.last-position, int64(len(f.changes))))
}

// Receive, Ack and Backlog are those of the groups.
func (f *follower) Receive(ctx context.Context, group, consumer string, limit int) ([]row.Change, error) {
	return f.groups.Receive(ctx, group, consumer, limit)
}

func (f *follower) Ack(ctx context.Context, group string, changes []row.Change) error {
	return f.groups.Ack(ctx, group, changes)
}

func (f *follower) Backlog(ctx context.Context, group string) (int, *row.Change, error) {
	return f.groups.Backlog(ctx, group)
}

// Trim forgets changes that all groups have acknowledged.
func (f *follower) Trim(ctx context.Context, now time.Time, limit int) (int, error) {
	if n, err := f.Engine.Trim(ctx, now, limit); err != nil {
		return n, err
	}
	passed, exists := f.groups.Passed()
	if !exists {
		return 0, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(f.after(passed), limit)
	f.changes = slices.Delete(f.changes, 0, n)
	return n, nil
}

// Close closes the engine.
func (f *follower) Close() error {
	f.groups.Close()
	return f.Engine.Close()
}
