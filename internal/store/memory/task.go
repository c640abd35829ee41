package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// task is a stored task and the last lease on it.
type task struct {
	store.Task
	token int64
	until time.Time // the lease is held before this instant
	moved bool      // stored by somebody else since it was claimed
	by    string    // the batch that the lease came with, if it did
}

// free says that nobody holds the task.
func (t *task) free(now time.Time) bool { return !now.Before(t.until) }

// claimable returns the instant from which a task that is due then can be claimed.
func (t *task) claimable(due time.Time) time.Time {
	if t.until.After(due) {
		return t.until
	}
	return due
}

func (t *task) end() { t.until, t.moved = time.Time{}, false }

func compareTasks(a, b store.Task) int {
	return cmp.Or(a.Ready().Compare(b.Ready()), cmp.Compare(a.ID, b.ID))
}

// holds says whether a lease is still held.
func (s *Store) holds(l store.Lease, now time.Time) bool {
	t := s.tasks[l.Task]
	return t != nil && t.token == l.Token && !t.free(now)
}

// settle stores and finishes tasks. The lease of b was looked at before: it is held.
func (s *Store) settle(b store.Batch, now time.Time) {
	own := func(id string) bool { return b.Lease != nil && b.Lease.Task == id }
	for _, t := range b.Tasks {
		t.Due = instant(t.Due)
		old := s.tasks[t.ID]
		switch {
		case old == nil:
			s.tasks[t.ID] = &task{Task: t}
		case !own(t.ID):
			old.Task, old.moved = t, true
		default:
			if !old.moved || t.Ready().Before(old.Ready()) {
				old.Task = t
			}
			old.end()
		}
	}
	for _, id := range b.Finished {
		if t := s.tasks[id]; t != nil && own(id) && t.moved {
			t.end()
		} else {
			delete(s.tasks, id)
		}
	}
	if b.Hold != nil {
		t := s.tasks[b.Hold.Task]
		s.lease(t, b.Hold.For, now)
		t.by = b.Identity()
		b.Hold.Given = store.Lease{Task: t.ID, Token: t.token}
	}
	if len(b.Tasks)+len(b.Finished) > 0 {
		s.tasksChanged.Raise()
	}
}

// lease gives a task out.
func (s *Store) lease(t *task, lease time.Duration, now time.Time) {
	s.lastToken++
	t.token, t.until, t.moved, t.by = s.lastToken, instant(now.Add(lease)), false, ""
}

// given is the lease that a batch came with which was taken before.
func (s *Store) given(b store.Batch, now time.Time) {
	if b.Hold == nil {
		return
	}
	b.Hold.Given = store.Lease{}
	if t := s.tasks[b.Hold.Task]; t != nil && t.by == b.Identity() && !t.free(now) {
		b.Hold.Given = store.Lease{Task: t.ID, Token: t.token}
	}
}

// Claim gives tokens from one counter for all tasks, so that a lease on a task of the same name that was there before is
// never mistaken for one on this.
func (s *Store) Claim(_ context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var due []*task
	for _, t := range s.tasks {
		from, wanted := q.From(t.Task)
		wanted = wanted && !now.Before(from)
		if q.Task != "" {
			wanted = t.ID == q.Task
		}
		if wanted && t.free(now) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *task) int { return compareTasks(a.Task, b.Task) })
	due = due[:min(len(due), max(q.Limit, 0))]
	claims := make([]store.Claim, 0, len(due))
	for _, t := range due {
		s.lease(t, q.Lease, now)
		claims = append(claims, store.Claim{Task: t.Task, Lease: store.Lease{Task: t.ID, Token: t.token}})
	}
	return claims, nil
}

// Renew extends what is still held.
func (s *Store) Renew(_ context.Context, leases []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var held []store.Lease
	for _, l := range leases {
		if s.holds(l, now) {
			s.tasks[l.Task].until = instant(now.Add(lease))
			held = append(held, l)
		}
	}
	return held, nil
}

// Release ends leases.
func (s *Store) Release(_ context.Context, leases []store.Lease, now time.Time) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, l := range leases {
		if s.holds(l, now) {
			s.tasks[l.Task].end()
			s.tasksChanged.Raise()
		}
	}
	return nil
}

// VoidLeases ends all of them.
func (s *Store) VoidLeases(context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		t.end()
	}
	s.tasksChanged.Raise()
	return nil
}

// Task gives one task.
func (s *Store) Task(_ context.Context, id string) (store.Task, error) {
	if err := s.open(); err != nil {
		return store.Task{}, err
	}
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil {
		return store.Task{}, store.ErrNotFound
	}
	return t.Task, nil
}

// NextDue reads all tasks.
func (s *Store) NextDue(_ context.Context, q store.ClaimQuery) (time.Time, error) {
	if err := s.open(); err != nil {
		return time.Time{}, err
	}
	defer s.mu.Unlock()
	var next time.Time
	for _, t := range s.tasks {
		from, wanted := q.From(t.Task)
		if at := t.claimable(from); wanted && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

// Overdue leaves out what somebody has held since.
func (s *Store) Overdue(_ context.Context, before time.Time, limit int) ([]store.Task, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var late []store.Task
	for _, t := range s.tasks {
		if t.claimable(t.Ready()).Before(before) {
			late = append(late, t.Task)
		}
	}
	slices.SortFunc(late, compareTasks)
	return late[:min(len(late), store.PageSize(limit))], nil
}

// TasksChanged is the same channel for all who wait for the next change.
func (s *Store) TasksChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasksChanged.Next()
}
