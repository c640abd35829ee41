package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	tasksByDue = "SELECT task, due, body FROM tasks WHERE due <= ? ORDER BY due, task"
	taskByID   = "SELECT task, due, body FROM tasks WHERE task = ?"
	// The + keeps SQLite from looking for the pipelines first.
	tasksOfKind = "SELECT task, due, body FROM tasks WHERE due <= ? AND kind = ? AND +pipeline NOT IN (SELECT value FROM json_each(?)) ORDER BY due, task"
)

// storedTask is a task with its lease. Its body is read only where it is wanted: of those that are due, most are held.
type storedTask struct {
	id    string
	due   time.Time
	body  string
	lease *lease
}

func (t storedTask) task() (store.Task, error) { return decode[store.Task](t.body) }

// eachDue gives the tasks that are due by then, longest first, until each has had enough.
func (s *Store) eachDue(ctx context.Context, due int64, each func(storedTask) error) error {
	return s.read(ctx, func(c *conn) error {
		s.leases.mu.Lock()
		defer s.leases.mu.Unlock()
		return s.eachTask(c, each, tasksByDue, due)
	})
}

// eachTask gives the tasks that a query finds. The leases are locked.
func (s *Store) eachTask(c *conn, each func(storedTask) error, query string, args ...any) error {
	return c.query(query, func(r row) error {
		return each(storedTask{id: r.text(0), due: fromNanos(r.int(1)), body: r.text(2), lease: s.leases.held[r.text(0)]})
	}, args...)
}

// Claim writes nothing: see leases.
func (s *Store) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	for {
		claims, err := s.claim(ctx, q, now)
		if !errors.Is(err, errPinned) {
			return claims, err
		}
		s.leases.await()
	}
}

// errPinned says that a task was met which a transaction has looked at.
var errPinned = errors.New("pinned")

func (s *Store) claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	var claims []store.Claim
	err := s.read(ctx, func(c *conn) error {
		s.leases.mu.Lock()
		defer s.leases.mu.Unlock()
		found, err := s.claimable(c, q, now)
		if err != nil {
			return err
		}
		for _, t := range found {
			if s.leases.pinned[t.ID] {
				return errPinned
			}
		}
		for _, t := range found {
			s.leases.token++
			s.leases.held[t.ID] = &lease{token: s.leases.token, until: now.Add(q.Lease)}
			claims = append(claims, store.Claim{Task: t, Lease: store.Lease{Task: t.ID, Token: s.leases.token}})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	return claims, nil
}

// claimable finds the tasks that q may claim, in order. Where q names kinds, it reads up to q.Limit tasks of each.
func (s *Store) claimable(c *conn, q store.ClaimQuery, now time.Time) ([]store.Task, error) {
	var found []store.Task
	read := func(query string, args ...any) error {
		n := 0
		return s.eachTask(c, func(stored storedTask) error {
			if n >= q.Limit {
				return errStop
			}
			if stored.lease.holds(now) {
				return nil
			}
			t, err := stored.task()
			from, wanted := q.From(t)
			if err == nil && (wanted && !now.Before(from) || q.Task != "") {
				found = append(found, t)
				n++
			}
			return err
		}, query, args...)
	}
	if q.Task != "" {
		err := read(taskByID, q.Task)
		return found, err
	}
	if len(q.Kinds) == 0 {
		err := read(tasksByDue, nanos(now))
		return found, err
	}
	except, err := json.Marshal(append([]pipeline.ID{}, q.Except...))
	if err != nil {
		return nil, err
	}
	for _, kind := range q.Kinds {
		if err := read(tasksOfKind, nanos(now), string(kind), string(except)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b store.Task) int { return cmp.Or(a.Ready().Compare(b.Ready()), cmp.Compare(a.ID, b.ID)) })
	return found[:min(len(found), q.Limit)], nil
}

// Task gives one task.
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	return find[store.Task](ctx, s, "SELECT body FROM tasks WHERE task = ?", id)
}

// NextDue reads tasks by due time until none can be sooner.
func (s *Store) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	var next time.Time
	sooner := func(at time.Time) bool { return next.IsZero() || at.Before(next) }
	err := s.eachDue(ctx, math.MaxInt64, func(stored storedTask) error {
		if !sooner(stored.due) {
			return errStop
		}
		if !sooner(stored.lease.claimable(stored.due)) {
			return nil // no need to decode it
		}
		t, err := stored.task()
		from, wanted := q.From(t)
		if at := stored.lease.claimable(from); wanted && sooner(at) {
			next = at.UTC()
		}
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("find the next task: %w", err)
	}
	return next, nil
}

// Overdue leaves out what somebody has held since.
func (s *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]store.Task, error) {
	var late []store.Task
	err := s.eachDue(ctx, nanos(before), func(stored storedTask) error {
		if len(late) == store.PageSize(limit) {
			return errStop
		}
		if !stored.lease.claimable(stored.due).Before(before) {
			return nil
		}
		t, err := stored.task()
		late = append(late, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list overdue tasks: %w", err)
	}
	return late, nil
}

// TasksChanged is the same channel for all who wait for the next change.
func (s *Store) TasksChanged() <-chan struct{} { return s.tasksChanged.Next() }

// settle stores and finishes the tasks of a batch. Its lease was looked at before: it is held.
func (b *batch) settle(tx *tx) error {
	for _, t := range b.tasks {
		if err := b.store(tx, t); err != nil {
			return err
		}
	}
	for _, id := range b.finished {
		if l := tx.lease(id); b.holds(id) && l != nil && l.moved {
			tx.leases[id] = nil // somebody asked for it again: it stays as they stored it
			continue
		}
		tx.leases[id] = nil
		if err := tx.exec("DELETE FROM tasks WHERE task = ?", id); err != nil {
			return err
		}
	}
	if b.hold != nil {
		b.given = tx.give(b.hold.Task, b.now.Add(b.hold.For), b.identity)
	}
	tx.tasks = tx.tasks || len(b.tasks)+len(b.finished) > 0
	return nil
}

// again finds the lease that the batch came with when it was done.
func (b *batch) again(tx *tx) {
	if b.hold == nil {
		return
	}
	if l := tx.lease(b.hold.Task); l.holds(b.now) && l.by == b.identity {
		b.given = store.Lease{Task: b.hold.Task, Token: l.token}
	}
}

// holds says whether the batch is made under a lease on that task.
func (b *batch) holds(task string) bool { return b.lease != nil && b.lease.Task == task }

func (b *batch) store(tx *tx, t taskRow) error {
	l := tx.lease(t.id)
	switch {
	case b.holds(t.id):
		tx.leases[t.id] = nil
		if l == nil || !l.moved {
			break
		}
		due, err := tx.number("SELECT due FROM tasks WHERE task = ?", t.id)
		if err != nil || t.due >= due {
			return err // somebody asked for it sooner
		}
	case l != nil:
		tx.leases[t.id] = &lease{token: l.token, until: l.until, moved: true, by: l.by, fresh: l.fresh}
	}
	return tx.exec("INSERT INTO tasks (task, due, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET due = excluded.due, body = excluded.body",
		t.id, t.due, t.body)
}
