package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// Claim compares when tasks are due with the caller's clock, which their times were made by, and leases with Redis' own.
func (s *Store) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	at, micros := s.leaseEnd(now, q.Lease)
	var a arguments
	s.leaseholder(&a, now)
	a.add(store.Nanos(now), at, micros, q.Replica, store.Nanos(now.Add(-q.LostAfter)), q.Task)
	a.number(max(q.Limit, 0))
	a.wanted(q)
	said, err := s.texts(ctx, claimScript, a)
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	claims := make([]store.Claim, 0, len(said)/2)
	for i := 0; i < len(said); i += 2 {
		t, err := decode[store.Task](said[i])
		if err != nil {
			return nil, err
		}
		token, err := strconv.ParseInt(said[i+1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("claim task %s: %w", t.ID, err)
		}
		claims = append(claims, store.Claim{Task: t, Lease: store.Lease{Task: t.ID, Token: token}})
	}
	return claims, nil
}

// wanted adds the kinds and pipelines of a query.
func (a *arguments) wanted(q store.ClaimQuery) {
	a.number(len(q.Kinds))
	for _, kind := range q.Kinds {
		a.add(string(kind))
	}
	a.number(len(q.Except))
	for _, id := range q.Except {
		a.add(string(id))
	}
}

func (a *arguments) leases(leases []store.Lease) {
	a.number(len(leases))
	for _, l := range leases {
		a.add(l.Task, strconv.FormatInt(l.Token, 10))
	}
}

// Renew extends what is still held.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error) {
	at, micros := s.leaseEnd(now, lease)
	var a arguments
	s.leaseholder(&a, now)
	a.add(at, micros)
	a.leases(leases)
	answer, err := s.run(ctx, renewScript, a)
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	places, err := asList(answer)
	if err != nil {
		return nil, fmt.Errorf("renew leases: %w", err)
	}
	var held []store.Lease
	for _, place := range places {
		n, ok := place.(int64)
		if !ok || n < 1 || int(n) > len(leases) {
			return nil, fmt.Errorf("renew leases: %w", unexpected(place))
		}
		held = append(held, leases[n-1])
	}
	return held, nil
}

// Release ends leases.
func (s *Store) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	var a arguments
	s.leaseholder(&a, now)
	a.leases(leases)
	if _, err := s.run(ctx, releaseScript, a); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	s.raise("t")
	return nil
}

// VoidLeases ends all of them.
func (s *Store) VoidLeases(ctx context.Context) error {
	if _, err := s.run(ctx, voidScript, nil); err != nil {
		return fmt.Errorf("void leases: %w", err)
	}
	s.raise("t")
	return nil
}

// Task gives one task.
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	return named(find[store.Task](ctx, s, "task", id))("task %s", id)
}

// NextDue reads tasks in the order in which they can be claimed until none can be sooner.
func (s *Store) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	var a arguments
	a.add(q.Replica, strconv.FormatInt(q.LostAfter.Microseconds(), 10))
	a.wanted(q)
	said, err := s.texts(ctx, nextDueScript, a)
	if err != nil {
		return time.Time{}, fmt.Errorf("read when the next task is due: %w", err)
	}
	if len(said) == 0 {
		return time.Time{}, nil
	}
	return store.FromNanos(said[0])
}

// Overdue leaves out what somebody has held since.
func (s *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]store.Task, error) {
	var a arguments
	a.add(store.Nanos(before))
	a.number(store.PageSize(limit))
	said, err := s.texts(ctx, overdueScript, a)
	if err != nil {
		return nil, fmt.Errorf("list overdue tasks: %w", err)
	}
	var late []store.Task
	for _, text := range said {
		t, err := decode[store.Task](text)
		if err != nil {
			return nil, err
		}
		late = append(late, t)
	}
	return late, nil
}

// TasksChanged is the same channel for all who wait for the next change.
func (s *Store) TasksChanged() <-chan struct{} { return s.signals['t'].Next() }
