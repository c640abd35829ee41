package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// leases says who holds which task. They are kept in memory: the directory belongs to one process, so a lease whose process
// has crashed is nobody's, and claiming a task costs no commit. Only closing the store writes them down.
//
// A claim does not wait for the disk on account of what others commit: a transaction pins the tasks that it has looked at, and
// only who would claim one of these waits until it is visible or has come to nothing.
type leases struct {
	mu     sync.Mutex
	held   map[string]*lease
	pinned map[string]bool
	free   *sync.Cond // nothing is pinned any more
	token  int64      // the last that was given; starts higher each time the file is opened
}

func newLeases() *leases {
	ls := &leases{held: map[string]*lease{}, pinned: map[string]bool{}}
	ls.free = sync.NewCond(&ls.mu)
	return ls
}

// lease is never changed: another takes its place.
type lease struct {
	token int64
	until time.Time // it is held before this instant
	moved bool      // the task was stored by somebody else since it was claimed
	by    string    // the batch that it came with, if it did
	fresh bool      // it comes with the transaction that is being made
}

func (l *lease) holds(now time.Time) bool { return l != nil && now.Before(l.until) }

// claimable is the instant from which a task can be claimed.
func (l *lease) claimable(due time.Time) time.Time {
	if l != nil && l.until.After(due) {
		return l.until
	}
	return due
}

// apply makes the changes of a transaction. A lease whose task was stored by somebody else may have been renewed or released
// meanwhile.
func (ls *leases) apply(changes map[string]*lease) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for task, next := range changes {
		switch l := ls.held[task]; {
		case next == nil:
			delete(ls.held, task)
		case next.fresh:
			ls.held[task] = &lease{token: next.token, until: next.until, moved: next.moved, by: next.by}
		case l != nil:
			ls.held[task] = &lease{token: l.token, until: l.until, moved: next.moved, by: l.by}
		}
	}
	ls.unpin()
}

// drop leaves everything as it was before a transaction that came to nothing.
func (ls *leases) drop() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.unpin()
}

func (ls *leases) unpin() {
	clear(ls.pinned)
	ls.free.Broadcast()
}

// await waits until what is pinned now is not any more.
func (ls *leases) await() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.pinned) > 0 {
		ls.free.Wait()
	}
}

// mine gives a lease if it is still held; the caller holds the lock.
func (ls *leases) mine(of store.Lease, now time.Time) *lease {
	if l := ls.held[of.Task]; l.holds(now) && l.token == of.Token {
		return l
	}
	return nil
}

// lease gives the lease on a task as it will be after this transaction, and pins the task.
func (tx *tx) lease(task string) *lease {
	if l, changed := tx.leases[task]; changed {
		return l
	}
	ls := tx.w.leases
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.pinned[task] = true
	return ls.held[task]
}

// give leases a task with this transaction. A token that comes to nothing with it is never given again.
func (tx *tx) give(task string, until time.Time, by string) store.Lease {
	ls := tx.w.leases
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.token++
	tx.leases[task] = &lease{token: ls.token, until: until, by: by, fresh: true}
	return store.Lease{Task: task, Token: ls.token}
}

// Renew extends what is still held.
func (s *Store) Renew(_ context.Context, leases []store.Lease, forHowLong time.Duration, now time.Time) ([]store.Lease, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	var held []store.Lease
	for _, of := range leases {
		if l := s.leases.mine(of, now); l != nil {
			s.leases.held[of.Task] = &lease{token: l.token, until: now.Add(forHowLong), moved: l.moved, by: l.by}
			held = append(held, of)
		}
	}
	return held, nil
}

// Release ends leases.
func (s *Store) Release(_ context.Context, leases []store.Lease, now time.Time) error {
	if err := s.open(); err != nil {
		return err
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	for _, of := range leases {
		if s.leases.mine(of, now) != nil {
			delete(s.leases.held, of.Task)
			s.tasksChanged.Raise()
		}
	}
	return nil
}

// VoidLeases ends all of them. Opening the file has done so already.
func (s *Store) VoidLeases(context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	clear(s.leases.held)
	s.tasksChanged.Raise()
	return nil
}
