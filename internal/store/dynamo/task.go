package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
)

// task is a stored task and the last lease on it.
type task struct {
	store.Task
	token int64
	until time.Time // the lease is held before this instant
	moved bool      // stored by somebody else since it was claimed
	mark  string    // of the row as it was read; every change gives it another
}

func taskOf(row Row) (*task, error) {
	t, err := decode[store.Task](row)
	if err != nil {
		return nil, err
	}
	return &task{Task: t, token: row.number("token"), until: row.instant("until"), moved: row.truth("moved"), mark: row.text("mark")}, nil
}

// free says that nobody holds the task.
func (t *task) free(now time.Time) bool { return !now.Before(t.until) }

func (t *task) holds(l store.Lease, now time.Time) bool { return t.token == l.Token && !t.free(now) }

func (t *task) end() { t.until, t.moved = time.Time{}, false }

// claimable returns the instant from which a task that is due then can be claimed.
func (t *task) claimable(due time.Time) time.Time {
	if t.until.After(due) {
		return t.until
	}
	return due
}

// row is listed by when it can be claimed, and by when it is due.
func (t *task) row() (Row, error) {
	json, err := encode(t.Task)
	if err != nil {
		return nil, err
	}
	return Row{
		"json": json, "token": number(t.token), "until": text(store.Nanos(t.until)), "moved": truth(t.moved), "mark": text(rand.Text()[:16]),
		"kind": text(string(t.Kind)), "due": text(store.Nanos(t.Ready())),
		"list": text("TASK"), "place": text(taskPrefix + join(store.Nanos(t.claimable(t.Ready())), t.ID)),
		"pending": text("TASK"), "pendingPlace": text(taskPrefix + join(store.Nanos(t.Ready()), t.ID)),
	}, nil
}

// unchanged is the condition that a task is as it was read; nil stands for one that was not there.
func unchanged(t *task) condition {
	if t == nil {
		return absent
	}
	return equals("mark", text(t.mark))
}

func (p *plan) task(id string) (*task, error) {
	row := p.found[taskAt(id)]
	if row == nil {
		return nil, nil
	}
	return taskOf(row)
}

func (p *plan) own(id string) bool { return p.Lease != nil && p.Lease.Task == id }

// lease makes sure that the lease is held. A Batch that settles its task makes sure of it there.
func (p *plan) lease() error {
	if p.Lease == nil {
		return nil
	}
	lost := fmt.Sprintf("the lease on task %s is lost", p.Lease.Task)
	held, err := p.task(p.Lease.Task)
	if err != nil {
		return err
	}
	if held == nil || !held.holds(*p.Lease, p.now) {
		return fmt.Errorf("%s: %w", lost, store.ErrConflict)
	}
	settles := slices.ContainsFunc(p.Tasks, func(t store.Task) bool { return t.ID == p.Lease.Task }) || slices.Contains(p.Finished, p.Lease.Task)
	if !settles {
		p.check(taskAt(p.Lease.Task), condition{
			text:   "#token = :token AND #until > :now",
			names:  map[string]string{"#token": "token", "#until": "until"},
			values: Row{":token": number(p.Lease.Token), ":now": text(store.Nanos(p.now))},
		}, lost)
	}
	return nil
}

// settle stores and finishes tasks as Batch.Tasks says. A task that changes under it is looked at again.
func (p *plan) settle() error {
	for _, t := range p.Tasks {
		t.Due = t.Due.Round(0).UTC()
		old, err := p.task(t.ID)
		if err != nil {
			return err
		}
		next := &task{Task: t}
		if old != nil {
			next = p.stored(old, t)
		}
		if p.Hold != nil && p.Hold.Task == t.ID {
			if old != nil && !old.free(p.now) {
				return fmt.Errorf("task %s is held: %w", t.ID, store.ErrConflict)
			}
			next.token, next.until, next.moved = p.token, p.now.Add(p.Hold.For), false
		}
		if err := p.store(old, next); err != nil {
			return err
		}
	}
	for _, id := range p.Finished {
		if err := p.finish(id); err != nil {
			return err
		}
	}
	return nil
}

// store writes a task in the place of what was read. Whoever follows the stream tells it from a lease by that.
func (p *plan) store(old, next *task) error {
	row, err := next.row()
	if err != nil {
		return err
	}
	row["stored"] = truth(true)
	p.put(taskAt(next.ID), row, unchanged(old), "")
	return nil
}

// stored is what becomes of a task that is stored again.
func (p *plan) stored(old *task, t store.Task) *task {
	next := *old
	if !p.own(t.ID) {
		next.Task, next.moved = t, true
		return &next
	}
	if !old.moved || t.Ready().Before(old.Ready()) {
		next.Task = t
	}
	next.end()
	return &next
}

func (p *plan) finish(id string) error {
	old, err := p.task(id)
	switch {
	case err != nil:
		return err
	case old == nil:
		p.check(taskAt(id), absent, "")
	case p.own(id) && old.moved:
		next := *old
		next.end()
		return p.store(old, &next)
	default:
		p.drop(taskAt(id), unchanged(old), "")
	}
	return nil
}

// Claim takes one task after the other; one that somebody else was quicker to take is passed over.
func (s *Store) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	defer s.serial()()
	claims := []store.Claim{}
	candidates, err := s.candidates(ctx, q, now)
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	if len(candidates) == 0 {
		return claims, nil
	}
	last, err := s.count(ctx, "TOKENS", int64(len(candidates)))
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	for i, t := range candidates {
		t.token, t.until, t.moved = last-int64(len(candidates)-1-i), now.Add(q.Lease), false
		switch err := s.replace(ctx, t); {
		case err == nil:
			claims = append(claims, store.Claim{Task: t.Task, Lease: store.Lease{Task: t.ID, Token: t.token}})
		case !errors.Is(err, errAgain):
			return nil, fmt.Errorf("claim task %s: %w", t.ID, err)
		}
	}
	return claims, nil
}

// candidates are the tasks that may be claimed, in order.
func (s *Store) candidates(ctx context.Context, q store.ClaimQuery, now time.Time) ([]*task, error) {
	if q.Limit <= 0 {
		return nil, s.open()
	}
	if q.Task != "" {
		row, err := s.row(ctx, taskAt(q.Task))
		if err != nil || row == nil {
			return nil, err
		}
		t, err := taskOf(row)
		if err != nil || !t.free(now) {
			return nil, err
		}
		return []*task{t}, nil
	}
	return s.dueTasks(ctx, now.Add(1), q.Limit, func(t *task) bool {
		from, wanted := q.From(t.Task)
		return wanted && !now.Before(from) && t.free(now)
	})
}

// dueTasks lists tasks that are due before an instant, longest due first, until there are enough of those that are wanted.
func (s *Store) dueTasks(ctx context.Context, before time.Time, limit int, wanted func(*task) bool) ([]*task, error) {
	due := list{table: Control, index: pending, hash: "TASK", before: taskPrefix + store.Nanos(before)}
	var all []*task
	for after := ""; ; {
		rows, end, more, err := s.listPiece(ctx, due, after, max(limit, store.DefaultPage))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			t, err := taskOf(row)
			if err != nil {
				return nil, err
			}
			if t.Ready().Before(before) && wanted(t) && len(all) < limit {
				all = append(all, t)
			}
		}
		if !more || len(all) == limit {
			slices.SortFunc(all, func(a, b *task) int { return cmp.Or(a.Ready().Compare(b.Ready()), cmp.Compare(a.ID, b.ID)) })
			return all, nil
		}
		after = end
	}
}

// replace writes a task in the place of what was read; errAgain if that has changed.
func (s *Store) replace(ctx context.Context, t *task) error {
	row, err := t.row()
	if err != nil {
		return err
	}
	where, on := taskAt(t.ID), unchanged(t)
	row["PK"], row["SK"] = text(where.pk), text(where.sk)
	_, err = s.do.put(ctx, &dynamodb.PutItemInput{
		TableName: s.table(Control), Item: row,
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	})
	if unmet(err) {
		return errAgain
	}
	return s.fault(err)
}

// count draws n numbers from a counter and gives the last of them.
func (s *Store) count(ctx context.Context, name string, n int64) (int64, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	out, err := s.do.update(ctx, &dynamodb.UpdateItemInput{
		TableName: s.table(Control), Key: counterAt(Control, name).key(), UpdateExpression: aws.String("ADD #n :n"),
		ExpressionAttributeNames: map[string]string{"#n": "n"}, ExpressionAttributeValues: Row{":n": number(n)},
		ReturnValues: types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", name, s.fault(err))
	}
	return Row(out.Attributes).number("n"), nil
}

// change does something to a task as long as a lease on it is held. It says whether it was.
func (s *Store) change(ctx context.Context, l store.Lease, now time.Time, do func(*task)) (bool, error) {
	for try := 0; ; try++ {
		row, err := s.row(ctx, taskAt(l.Task))
		if err != nil || row == nil {
			return false, err
		}
		t, err := taskOf(row)
		if err != nil || !t.holds(l, now) {
			return false, err
		}
		do(t)
		if err = s.replace(ctx, t); !errors.Is(err, errAgain) || try == tries {
			return err == nil, err
		}
	}
}

// Renew extends what is still held.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error) {
	defer s.serial()()
	var held []store.Lease
	for _, l := range leases {
		still, err := s.change(ctx, l, now, func(t *task) { t.until = now.Add(lease) })
		if err != nil {
			return nil, fmt.Errorf("renew the lease on task %s: %w", l.Task, err)
		}
		if still {
			held = append(held, l)
		}
	}
	return held, s.open()
}

// Release ends leases.
func (s *Store) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	defer s.serial()()
	for _, l := range leases {
		if _, err := s.change(ctx, l, now, (*task).end); err != nil {
			return fmt.Errorf("release task %s: %w", l.Task, err)
		}
	}
	s.tasks.Raise()
	return s.open()
}

// VoidLeases ends all of them, page by page.
func (s *Store) VoidLeases(ctx context.Context) error {
	defer s.serial()()
	err := s.every(ctx, list{table: Control, index: pending, hash: "TASK"}, func(rows []Row) error {
		for _, row := range rows {
			t, err := taskOf(row)
			if err != nil {
				return err
			}
			if t.until.Unix() <= 0 {
				continue
			}
			t.end()
			if err := s.replace(ctx, t); err != nil && !errors.Is(err, errAgain) {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("void leases: %w", err)
	}
	s.tasks.Raise()
	return nil
}

// Task gives one task.
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	return find[store.Task](ctx, s, taskAt(id), "task "+strconv.Quote(id))
}

// NextDue reads tasks in the order in which they can be claimed until none can be sooner.
func (s *Store) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	byClaimable := list{table: Control, index: listed, hash: "TASK"}
	var next time.Time
	sooner := func(at time.Time) bool { return next.IsZero() || at.Before(next) }
	for after := ""; ; {
		rows, end, more, err := s.listPiece(ctx, byClaimable, after, store.DefaultPage)
		if err != nil {
			return time.Time{}, fmt.Errorf("read when the next task is due: %w", err)
		}
		for _, row := range rows {
			t, err := taskOf(row)
			if err != nil {
				return time.Time{}, err
			}
			if !sooner(t.claimable(t.Ready())) {
				return next, nil
			}
			from, wanted := q.From(t.Task)
			if at := t.claimable(from); wanted && sooner(at) {
				next = at.UTC()
			}
		}
		if !more {
			return next, nil
		}
		after = end
	}
}

// Overdue leaves out what somebody has held since.
func (s *Store) Overdue(ctx context.Context, before time.Time, limit int) ([]store.Task, error) {
	found, err := s.dueTasks(ctx, before, store.PageSize(limit), func(t *task) bool { return t.claimable(t.Ready()).Before(before) })
	if err != nil {
		return nil, fmt.Errorf("list overdue tasks: %w", err)
	}
	var late []store.Task
	for _, t := range found {
		late = append(late, t.Task)
	}
	return late, nil
}
