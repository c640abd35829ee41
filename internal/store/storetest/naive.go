package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// model is a store in the fewest words: lists of what was taken, searched anew for each answer.
type model struct {
	taken   map[string]bool
	runs    map[run.Key]run.Run
	marks   map[string]bool
	events  []event.Event
	tasks   map[string]*modelTask
	token   int64        // the last that was given out
	writes  []modelWrite // in the order in which they were taken
	changes []modelChange
}

// newModel is an empty one.
func newModel() model {
	return model{taken: map[string]bool{}, runs: map[run.Key]run.Run{}, marks: map[string]bool{}, tasks: map[string]*modelTask{}}
}

// clone is a copy that may be changed.
func (m model) clone() model {
	m.taken, m.runs, m.marks = maps.Clone(m.taken), maps.Clone(m.runs), maps.Clone(m.marks)
	m.events, m.writes, m.changes = slices.Clip(m.events), slices.Clip(m.writes), slices.Clip(m.changes)
	tasks := make(map[string]*modelTask, len(m.tasks))
	for id, task := range m.tasks {
		one := *task
		tasks[id] = &one
	}
	m.tasks = tasks
	return m
}

// print is all that later answers can depend on.
func (m model) print() string {
	var text strings.Builder
	fmt.Fprintln(&text, m.taken, m.marks, m.token, m.writes) // maps are printed in order
	for _, r := range m.allRuns() {
		fmt.Fprintln(&text, r.Key, r.Version, r.Status, r.Attempt, r.Reason)
	}
	for _, t := range m.byDue() {
		fmt.Fprintln(&text, t.ID, t.Ready(), t.Replica, t.token, t.until, t.moved)
	}
	return text.String()
}

type modelTask struct {
	store.Task
	token int64
	until time.Time
	moved bool
}

type modelWrite struct {
	sensor.Reading
	order  int64
	series string
}

type modelChange struct {
	store.Change
	state [2]changeState // by group
}

type changeState int

const (
	fresh changeState = iota
	given
	finished
)

func (m *model) commit(b store.Batch, now time.Time) error {
	if m.taken[b.Identity()] {
		return nil
	}
	if b.Lease != nil && !m.holds(*b.Lease, now) {
		return store.ErrConflict
	}
	for _, s := range b.Runs {
		if m.runs[s.Next.Key].Version != s.Read {
			return store.ErrConflict
		}
	}
	for _, mark := range b.Marks {
		if m.marks[mark.ID] {
			return store.ErrConflict
		}
	}
	m.taken[b.Identity()] = true
	for _, s := range b.Runs {
		m.swap(s.Next, now)
	}
	for _, mark := range b.Marks {
		m.marks[mark.ID] = true
	}
	for _, e := range b.Events {
		if !slices.ContainsFunc(m.events, func(o event.Event) bool { return o.ID == e.ID }) {
			m.events = append(m.events, e)
		}
	}
	m.settle(b)
	return nil
}

func (m *model) swap(next run.Run, now time.Time) {
	before := m.runs[next.Key]
	m.runs[next.Key] = next
	if before.Status != next.Status || before.Attempt != next.Attempt {
		m.changes = append(m.changes, modelChange{Change: store.Change{
			Kind: store.RunMoved, At: now, Pipeline: next.Pipeline, Version: next.Version,
			Run: next.Key, Status: next.Status, Attempt: next.Attempt,
		}})
	}
}

func (m *model) settle(b store.Batch) {
	for _, next := range b.Tasks {
		old := m.tasks[next.ID]
		mine := b.Lease != nil && b.Lease.Task == next.ID
		switch {
		case old == nil:
			m.tasks[next.ID] = &modelTask{Task: next}
		case !mine && old.Kind == store.HandleChange:
		case mine && old.moved && !next.Ready().Before(old.Ready()):
			m.tasks[next.ID] = &modelTask{Task: old.Task}
		case mine:
			m.tasks[next.ID] = &modelTask{Task: next}
		default:
			old.Task, old.moved = next, true
		}
	}
	for _, id := range b.Finished {
		old := m.tasks[id]
		if old != nil && old.moved && b.Lease != nil && b.Lease.Task == id {
			m.tasks[id] = &modelTask{Task: old.Task}
		} else {
			delete(m.tasks, id)
		}
	}
}

func (m *model) holds(l store.Lease, now time.Time) bool {
	t := m.tasks[l.Task]
	return t != nil && t.token == l.Token && now.Before(t.until)
}

// claim checks and records claims that nothing ran beside: they are the first tasks that q may
// claim.
func (m *model) claim(q store.ClaimQuery, got []store.Claim, now time.Time) error {
	want := m.claimable(q, now)
	want = want[:min(len(want), q.Limit)]
	if len(got) != len(want) {
		return fmt.Errorf("claimed %+v, want %+v", got, want)
	}
	for i, c := range got {
		if c.Task != want[i] {
			return fmt.Errorf("claimed %+v, want %+v", c, want[i])
		}
	}
	return m.lease(q, got, now)
}

// claimBeside checks and records claims that other calls ran beside: each is a task that q may
// claim, in order. Tasks that those calls were changing may be missing.
func (m *model) claimBeside(q store.ClaimQuery, got []store.Claim, now time.Time) error {
	left := m.claimable(q, now)
	for _, c := range got {
		i := slices.Index(left, c.Task)
		if i < 0 {
			return fmt.Errorf("claimed %+v, want one of %+v", c, left)
		}
		left = left[i+1:]
	}
	return m.lease(q, got, now)
}

// claimable lists the tasks that q may claim, in order.
func (m *model) claimable(q store.ClaimQuery, now time.Time) (free []store.Task) {
	for _, task := range m.byDue() {
		bound := task.Replica != "" && task.Replica != q.Replica && now.Sub(task.Ready()) < q.LostAfter
		wanted := !task.Ready().After(now) && !bound && (len(q.Kinds) == 0 || task.Kind == q.Kinds[0])
		if q.Task != "" {
			wanted = task.ID == q.Task
		}
		if wanted && !task.until.After(now) {
			free = append(free, task.Task)
		}
	}
	return free
}

// lease records claims. Their tokens must be larger than all before.
func (m *model) lease(q store.ClaimQuery, got []store.Claim, now time.Time) error {
	for _, c := range got {
		if c.Lease.Task != c.Task.ID || c.Lease.Token <= m.token {
			return fmt.Errorf("claimed %+v, want a lease on that task and a token above %d", c, m.token)
		}
		task := m.tasks[c.Task.ID]
		task.token, task.until, task.moved = c.Lease.Token, now.Add(q.Lease), false
		m.token = c.Lease.Token
	}
	return nil
}

func (m *model) release(leases []store.Lease, now time.Time) {
	for _, l := range leases {
		if m.holds(l, now) {
			m.tasks[l.Task].until = time.Time{}
		}
	}
}

func (m *model) renew(leases []store.Lease, now time.Time) (held []store.Lease) {
	for _, l := range leases {
		if m.holds(l, now) {
			m.tasks[l.Task].until = now.Add(30 * time.Second)
			held = append(held, l)
		}
	}
	return held
}

func (m *model) byDue() []*modelTask {
	var all []*modelTask
	for _, t := range m.tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *modelTask) int { return cmp.Or(a.Ready().Compare(b.Ready()), cmp.Compare(a.ID, b.ID)) })
	return all
}

func (m *model) nextDue(q store.ClaimQuery) (next time.Time) {
	for _, t := range m.tasks {
		if len(q.Kinds) > 0 && t.Kind != q.Kinds[0] {
			continue
		}
		at := t.Ready()
		if t.Replica != "" && t.Replica != q.Replica {
			at = at.Add(q.LostAfter)
		}
		if t.until.After(at) {
			at = t.until
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func (m *model) overdue(before time.Time) (late []store.Task) {
	for _, t := range m.byDue() {
		if t.Ready().Before(before) && t.until.Before(before) {
			late = append(late, t.Task)
		}
	}
	return late
}

// put checks what a store said of a write, and takes note of it.
func (m *model) put(in store.Write, got store.Put, now time.Time) error {
	var old *modelWrite
	newest := int64(0)
	for i := range m.writes {
		newest = max(newest, m.writes[i].Version)
		if m.writes[i].Key == in.Reading.Key && m.writes[i].Period == in.Reading.Period {
			old = &m.writes[i]
		}
	}
	next := modelWrite{Reading: in.Reading, order: in.Order, series: in.Series}
	want := store.Put{Version: got.Version, UpdatedAt: now, Changed: true}
	if old != nil {
		if in.Order != 0 && in.Series == old.series && in.Order <= old.order {
			if got != (store.Put{Version: old.Version, UpdatedAt: old.UpdatedAt, Ignored: true}) {
				return fmt.Errorf("write %+v after %+v: %+v, want it ignored", in, *old, got)
			}
			return nil
		}
		if in.Order == 0 {
			next.order, next.series = old.order, old.series
		}
		want.Changed = !in.Reading.SameFacts(&old.Reading)
	}
	if got != want || got.Version <= newest {
		return fmt.Errorf("write %+v: %+v, want %+v and a version above %d", in, got, want, newest)
	}
	next.Version, next.UpdatedAt = got.Version, now
	if !got.Changed {
		next.ChangedAt = old.Unchanged()
	}
	m.writes = append(m.writes, next)
	m.changes = append(m.changes, modelChange{Change: store.Change{
		Kind: store.ReadingWritten, At: now, Pipeline: in.Pipeline, Sensor: in.Reading.Key,
		Period: in.Reading.Period, Version: got.Version, Changed: got.Changed,
	}})
	return nil
}

func (m *model) history(key sensor.Key) (out []*sensor.Reading) {
	for _, w := range slices.Backward(m.writes) {
		if w.Key == key {
			out = append(out, &w.Reading)
		}
	}
	return out
}

func (m *model) latest() (out []*sensor.Reading) {
	for _, key := range modelKeys {
		if all := m.history(key); len(all) > 0 {
			out = append(out, all[0])
		}
	}
	return out
}

// shown are the candidates for p, by period.
func (m *model) shown(key sensor.Key, p period.Period) (out []*sensor.Reading) {
	seen := map[period.Period]bool{}
	var other *sensor.Reading
	for _, r := range m.history(key) {
		if seen[r.Period] {
			continue
		}
		seen[r.Period] = true
		switch {
		case r.Period.IsZero(), r.Period == p, !p.IsZero() && r.Period.Holds(p):
			out = append(out, r)
		case other == nil || r.Period.Compare(other.Period) > 0:
			other = r
		}
	}
	if other != nil {
		out = append(out, other)
	}
	return byPeriod(out)
}

func (m *model) allRuns() (out []run.Run) {
	for _, r := range m.runs {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b run.Run) int {
		return cmp.Or(b.Period.Compare(a.Period), cmp.Compare(a.Pipeline, b.Pipeline))
	})
	return out
}

func (m *model) openRuns() []run.Run {
	out := slices.DeleteFunc(m.allRuns(), func(r run.Run) bool { return r.Status.Ended() })
	slices.Reverse(out) // no two of the walk's runs share a period
	return out
}

// free are the changes that a group may receive.
func (m *model) free(group int) (out []int) {
	for i, c := range m.changes {
		if c.state[group] == fresh {
			out = append(out, i)
		}
	}
	return out
}

func (m *model) backlog(group int) (n int, oldest time.Time) {
	for _, c := range m.changes {
		if c.state[group] == finished {
			continue
		}
		if n++; n == 1 {
			oldest = c.At
		}
	}
	return n, oldest
}
