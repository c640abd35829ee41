package record

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Claim leases tasks, as many per transaction as fit.
func (s *Store) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	select {
	case s.claims <- struct{}{}: // one call at a time: tokens must be issued in the order they are drawn
		defer func() { <-s.claims }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	claims := []store.Claim{}
	err := retry(ctx, isConflict, func() error {
		leased, err := s.claim(ctx, q, now)
		for _, t := range leased {
			claims = append(claims, store.Claim{Task: t.Task, Lease: t.leased()})
		}
		return err
	})
	if errors.Is(err, errRepeat) {
		return claims, nil // other processes are busy claiming the same tasks
	}
	return claims, wrap(err, "claim tasks")
}

// claim tries once. It returns store.ErrConflict if one of the first tasks has changed since it was
// read.
func (s *Store) claim(ctx context.Context, q store.ClaimQuery, now time.Time) (leased []*task, err error) {
	clock := s.leaseClock(now)
	due, err := s.claimable(ctx, q, clock, now)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	token, err := s.engine.Next(ctx, len(due))
	if err != nil {
		return nil, err
	}
	for i, t := range due {
		clock.lease(t, max(token+int64(i), t.Token+1), q.Lease)
	}
	for len(due) > 0 {
		n := min(len(due), s.maxOps())
		err := s.replaceAll(ctx, due[:n], clock, true)
		if err != nil && !isConflict(err) {
			s.unanswered.add(due[:n], clock.now)
		}
		if err != nil && len(leased) > 0 {
			return leased, nil // the caller works on these; its next call finds out what is wrong
		}
		if err != nil {
			return nil, err
		}
		leased, due = append(leased, due[:n]...), due[n:]
	}
	return leased, nil
}

// unanswered are the leases of claims that failed without an answer. The engine may have stored
// them, but no caller has them, so this process may claim their tasks again at once. They are kept
// in memory: a record of each claim in the database would be a row more for every task, and would
// not help, because a new claim has a new token. Leases of a process that dies are ended for it.
type unanswered struct {
	mu     sync.Mutex
	leases map[store.Lease]time.Time // until when each would be held
}

func (u *unanswered) add(tasks []*task, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.leases, func(_ store.Lease, until time.Time) bool { return !now.Before(until) })
	if u.leases == nil {
		u.leases = map[store.Lease]time.Time{}
	}
	for _, t := range tasks {
		u.leases[t.leased()] = t.Until
	}
}

func (u *unanswered) has(l store.Lease) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, is := u.leases[l]
	return is
}

// replace writes tasks back, and returns those that had not changed since they were read.
func (s *Store) replace(ctx context.Context, tasks []*task, clock leaseClock, quiet bool) ([]*task, error) {
	var done []*task
	for size := s.maxOps(); len(tasks) > 0; {
		n := min(len(tasks), size)
		err := s.replaceAll(ctx, tasks[:n], clock, quiet)
		switch {
		case err == nil:
			done = append(done, tasks[:n]...)
		case !isConflict(err):
			return nil, err
		case n > 1:
			size = n / 2
			continue
		}
		tasks = tasks[n:]
	}
	return done, nil
}

// replaceAll writes tasks back in one transaction. It returns store.ErrConflict if one of them has
// changed since it was read.
func (s *Store) replaceAll(ctx context.Context, tasks []*task, clock leaseClock, quiet bool) error {
	var tx row.Tx
	for _, t := range tasks {
		r, err := t.row()
		if err != nil {
			return err
		}
		tx.Ops = append(tx.Ops, row.Op{If: t.version, Row: r, Quiet: quiet})
	}
	return s.engine.Apply(ctx, tx, clock.now)
}

// claimable lists the tasks that q may claim, in order.
func (s *Store) claimable(ctx context.Context, q store.ClaimQuery, clock leaseClock, now time.Time) ([]*task, error) {
	if q.Task == "" {
		return s.dueTasks(ctx, q, now.Add(1), q.Limit, func(t *task) bool {
			from, wanted := q.From(t.Task)
			return wanted && !now.Before(from) && clock.free(t)
		})
	}
	r, err := s.get(ctx, refTask(q.Task))
	if err != nil || r.Version == 0 || q.Limit <= 0 {
		return nil, err
	}
	t, err := taskOf(r)
	if err != nil || !clock.free(t) {
		return nil, err
	}
	return []*task{t}, nil
}

// dueTasks lists tasks that are due before an instant, longest due first, until limit of them are
// wanted.
func (s *Store) dueTasks(ctx context.Context, q store.ClaimQuery, before time.Time, limit int, wanted func(*task) bool) ([]*task, error) {
	if limit <= 0 {
		return nil, nil
	}
	lists := ranges(q, row.Pending, listDue)
	for i := range lists {
		lists[i].To, lists[i].Limit = store.Nanos(before), min(limit, store.DefaultPage)+heldAround
	}
	var all []*task
	counts := map[string]int{} // wanted tasks per list
	err := s.eachPage(ctx, lists, func(i int, rows []row.Row) (bool, error) {
		for _, r := range rows {
			t, err := taskOf(r)
			if err != nil {
				return false, err
			}
			if wanted(t) {
				all = append(all, t)
				counts[lists[i].List]++
			}
		}
		return counts[lists[i].List] < limit, nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *task) int { return cmp.Or(a.Ready().Compare(b.Ready()), cmp.Compare(a.ID, b.ID)) })
	return all[:min(limit, len(all))], nil
}

// heldAround is how many extra tasks a page has: some of the first are usually held.
const heldAround = 16

// Renew extends what is still held.
func (s *Store) Renew(ctx context.Context, leases []store.Lease, life time.Duration, now time.Time) ([]store.Lease, error) {
	held, err := s.changeHeld(ctx, leases, now, true, func(t *task, c leaseClock) { t.Until = c.now.Add(life) })
	return held, wrap(err, "renew leases")
}

// Release ends leases.
func (s *Store) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	_, err := s.changeHeld(ctx, leases, now, false, func(t *task, _ leaseClock) { t.end() })
	return wrap(err, "release leases")
}

// changeHeld changes the tasks whose leases are held, and returns those leases.
func (s *Store) changeHeld(ctx context.Context, leases []store.Lease, now time.Time, quiet bool, change func(*task, leaseClock)) ([]store.Lease, error) {
	clock, done := s.leaseClock(now), map[store.Lease]bool{}
	for left, try := leases, 0; len(left) > 0 && try < tries; try++ {
		tasks, err := s.held(ctx, left, clock)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			change(t, clock)
		}
		replaced, err := s.replace(ctx, tasks, clock, quiet)
		if err != nil {
			return nil, err
		}
		for _, t := range replaced {
			done[t.leased()] = true
		}
		left = nil
		for _, t := range tasks { // changed concurrently: the lease may still be held
			if l := t.leased(); !done[l] {
				left = append(left, l)
			}
		}
		if err := pause(ctx, try); err != nil && len(left) > 0 {
			return nil, err
		}
	}
	var held []store.Lease
	for _, l := range leases {
		if done[l] {
			held = append(held, l)
		}
	}
	return held, nil
}

// held reads the tasks whose leases are held.
func (s *Store) held(ctx context.Context, leases []store.Lease, clock leaseClock) ([]*task, error) {
	found, err := getAll(ctx, s, leases, func(l store.Lease) row.Ref { return refTask(l.Task) }, taskOf)
	if err != nil {
		return nil, err
	}
	var tasks []*task
	for _, l := range leases {
		if t := found[l]; t != nil && clock.holds(t, l) {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// VoidLeases ends all leases.
func (s *Store) VoidLeases(ctx context.Context) error {
	clock, lists := s.leaseClock(time.Time{}), ranges(store.ClaimQuery{}, row.Pending, listDue)
	for i := range lists {
		lists[i].Limit = store.MaxPage
	}
	for range tries {
		var leased []*task
		err := s.eachPage(ctx, lists, func(_ int, rows []row.Row) (bool, error) {
			for _, r := range rows {
				t, err := taskOf(r)
				if err != nil {
					return false, err
				}
				if !t.Until.IsZero() {
					t.end()
					leased = append(leased, t)
				}
			}
			return true, nil
		})
		if err != nil || len(leased) == 0 {
			return wrap(err, "void leases")
		}
		if _, err := s.replace(ctx, leased, clock, false); err != nil {
			return wrap(err, "void leases")
		}
	}
	return wrap(errRepeat, "void leases")
}

// Task returns one task.
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	t, err := find[task](ctx, s, refTask(id), "task %q", id)
	return t.Task, err
}

// NextDue returns when a task of the query can be claimed next. It reads tasks in order of their due
// times and stops when no later one can be earlier.
func (s *Store) NextDue(ctx context.Context, q store.ClaimQuery) (time.Time, error) {
	clock := s.leaseClock(time.Time{})
	lists := ranges(q, row.Pending, listDue)
	for i := range lists {
		lists[i].Limit = nextPage
	}
	var soonest time.Time
	sooner := func(at time.Time) bool { return soonest.IsZero() || at.Before(soonest) }
	err := s.eachPage(ctx, lists, func(_ int, rows []row.Row) (bool, error) {
		for _, r := range rows {
			t, err := decode[task](r)
			if err != nil {
				return false, err
			}
			if !sooner(t.Ready()) {
				return false, nil
			}
			from, wanted := q.From(t.Task)
			if at := clock.claimable(&t, from); wanted && sooner(at) {
				soonest = at.UTC()
			}
		}
		return true, nil
	})
	return soonest, wrap(err, "read when the next task is due")
}

// nextPage is how many tasks of each list NextDue reads at first: usually the first one that is not held is
// enough.
const nextPage = 8

// Overdue leaves out tasks whose lease has not been expired for as long.
func (s *Store) Overdue(ctx context.Context, before time.Time, limit int, kinds ...store.TaskKind) ([]store.Task, error) {
	clock, q := s.leaseClock(before), store.ClaimQuery{Kinds: kinds}
	found, err := s.dueTasks(ctx, q, before, store.PageSize(limit), func(t *task) bool {
		_, wanted := q.From(t.Task)
		return wanted && clock.claimable(t, t.Ready()).Before(before)
	})
	if err != nil {
		return nil, wrap(err, "list overdue tasks")
	}
	var late []store.Task
	for _, t := range found {
		late = append(late, t.Task)
	}
	return late, nil
}

// TasksChanged returns a channel that is closed when a task is stored, finished or released.
func (s *Store) TasksChanged() <-chan struct{} { return s.engine.Changed(row.TaskTopic) }

// ranges returns the lists of the kinds in q, excluding the pipelines in q.Except.
func ranges(q store.ClaimQuery, index row.Index, list string) (all []row.Range) {
	except := make([]string, len(q.Except))
	for i, id := range q.Except {
		except[i] = string(id)
	}
	for _, name := range taskLists {
		in := func(kind store.TaskKind) bool { return listed(kind) == name }
		if len(q.Kinds) == 0 || slices.ContainsFunc(q.Kinds, in) {
			all = append(all, row.Range{Kind: row.Tasks, Index: index, List: list + name, Except: except})
		}
	}
	return all
}
