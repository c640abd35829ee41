package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// leases says who holds which task. They are kept in memory: the directory belongs to one process, so a lease whose process
// has crashed is nobody's, and claiming a task costs no commit. Only closing the store writes them down.
type leases struct {
	mu    sync.Mutex
	held  map[string]*lease
	token int64 // the last that was given; starts higher each time the file is opened
}

// lease is never changed: another takes its place.
type lease struct {
	token int64
	until time.Time // it is held before this instant
	moved bool      // the task was stored by somebody else since it was claimed
}

func (l *lease) holds(now time.Time) bool { return l != nil && now.Before(l.until) }

// claimable is the instant from which a task can be claimed.
func (l *lease) claimable(due time.Time) time.Time {
	if l != nil && l.until.After(due) {
		return l.until
	}
	return due
}

// apply makes the changes of a transaction; the caller holds the lock.
func (ls *leases) apply(changes map[string]*lease) {
	for task, l := range changes {
		if l == nil {
			delete(ls.held, task)
		} else {
			ls.held[task] = l
		}
	}
}

// mine gives a lease if it is still held; the caller holds the lock.
func (ls *leases) mine(of store.Lease, now time.Time) *lease {
	if l := ls.held[of.Task]; l.holds(now) && l.token == of.Token {
		return l
	}
	return nil
}

// lease gives the lease on a task as it will be after this transaction.
func (tx *tx) lease(task string) *lease {
	if l, changed := tx.leases[task]; changed {
		return l
	}
	return tx.w.leases.held[task]
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
			s.leases.held[of.Task] = &lease{token: l.token, until: now.Add(forHowLong), moved: l.moved}
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
