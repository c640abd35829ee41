package record

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// task is a stored task and the last lease on it.
type task struct {
	store.Task `json:"task"`
	Token      int64     `json:"token,omitempty"`
	Until      time.Time `json:"until,omitzero"` // the lease is held before this instant, by the lease clock
	Holder     string    `json:"holder,omitempty"`
	Moved      bool      `json:"moved,omitempty"` // another Batch has stored it since it was claimed

	version int64 // version of its row; 0 if it is new
}

func taskOf(r row.Row) (*task, error) {
	t, err := decode[task](r)
	t.version = r.Version
	return &t, err
}

// leased returns the last lease on the task.
func (t *task) leased() store.Lease { return store.Lease{Task: t.ID, Token: t.Token} }

func (t *task) end() { t.Until, t.Moved, t.Holder = time.Time{}, false, "" }

// row lists the task by when it is due; a lease does not move it. Every write gets a random version, so
// that a task that was deleted and stored again is not mistaken for the earlier one.
func (t *task) row() (row.Row, error) {
	body, err := encode(t)
	if err != nil {
		return row.Row{}, err
	}
	r := row.Row{Ref: refTask(t.ID), Version: 1 + rand.Int64N(1<<62), Body: body, Tag: string(t.Pipeline)}
	r.Places[row.Pending] = row.Place{List: listDue + listed(t.Kind), Key: join(store.Nanos(t.Ready()), t.ID)}
	if !t.Until.IsZero() {
		r.Lock = row.Lock{Name: lockName(t.Task), Holder: strconv.FormatInt(t.Token, 10) + " " + t.Holder}
	}
	return r, nil
}

// lockName returns the name under which operators find the lease on a task.
func lockName(t store.Task) string {
	if t.Key != (run.Key{}) {
		return "eval:" + string(t.Key.Pipeline) + ":" + string(t.Key.Schedule)
	}
	return string(t.Kind) + ":" + string(t.Pipeline)
}

// leaseClock determines which leases are held at a caller's instant.
type leaseClock struct {
	now   time.Time // by the lease clock
	peers row.Peers
	// unanswered are leases that no caller has.
	unanswered *unanswered
}

func (s *Store) leaseClock(now time.Time) leaseClock {
	peers := s.engine.Peers()
	return leaseClock{now: now.Add(peers.Skew).Round(0).UTC(), peers: peers, unanswered: &s.unanswered}
}

// free reports whether no live process holds the task, or this one without knowing.
func (c leaseClock) free(t *task) bool {
	dead := c.peers.Alive != nil && t.Holder != "" && t.Holder != c.peers.Self && !c.peers.Alive(t.Holder)
	return !c.now.Before(t.Until) || dead || t.Holder == c.peers.Self && c.unanswered.has(t.leased())
}

// holds reports whether this process holds the lease. If several processes share the data, the
// token alone is not enough: a database that lost its last commits issues the same numbers again.
func (c leaseClock) holds(t *task, l store.Lease) bool {
	mine := c.peers.Alive == nil || t.Holder == c.peers.Self
	return t.Token == l.Token && mine && c.now.Before(t.Until)
}

// lease leases the task to this process.
func (c leaseClock) lease(t *task, token int64, life time.Duration) {
	t.Token, t.Until, t.Moved, t.Holder = token, c.now.Add(life), false, c.peers.Self
}

// claimable returns when, by the caller's clock, a task that is due at due can be claimed.
func (c leaseClock) claimable(t *task, due time.Time) time.Time {
	if until := t.Until.Add(-c.peers.Skew); !t.Until.IsZero() && until.After(due) {
		return until
	}
	return due
}

// task returns a task as read by the plan; nil if there is none.
func (p *plan) task(id string) *task {
	r, is := p.found[refTask(id)]
	if !is {
		return nil
	}
	t, err := taskOf(r)
	p.fail(err)
	return t
}

func (p *plan) own(id string) bool { return p.Lease != nil && p.Lease.Task == id }

// tasks stores and finishes tasks as documented at Batch.Tasks, on condition that the lease is
// held.
func (p *plan) tasks() {
	p.leased()
	for _, t := range p.Tasks {
		t.Due = t.Due.Round(0).UTC()
		old := p.task(t.ID)
		if old != nil && old.Kind == store.HandleChange && !p.own(t.ID) {
			continue
		}
		quiet := p.Awaited && old != nil && !old.Moved && (p.own(t.ID) || p.Lease == nil && old.Until.IsZero())
		p.store(p.stored(old, p.traced(old, t)), quiet)
	}
	for _, id := range p.Finished {
		read := row.Any
		if old := p.task(id); old != nil && p.own(id) {
			if old.Moved {
				old.end()
				p.store(old, false)
				continue
			}
			read = old.version
		}
		p.ops = append(p.ops, row.Op{Do: row.Delete, If: read, Row: row.Row{Ref: refTask(id)}})
	}
}

// leased adds the condition that the lease is held. If it is not, the transaction is a conflict,
// unless it was applied before.
func (p *plan) leased() {
	if p.Lease == nil {
		return
	}
	held, of := p.task(p.Lease.Task), row.Row{Ref: refTask(p.Lease.Task)}
	switch {
	case held == nil || !p.lease.holds(held, *p.Lease):
		p.ops = []row.Op{{Do: row.Check, If: row.Never, Row: of}}
		p.Batch = store.Batch{ID: p.ID, Lease: p.Lease} // drop all its changes
	case !p.Settles(p.Lease.Task):
		p.ops = append(p.ops, row.Op{Do: row.Check, If: held.version, Row: of})
	}
}

// traced returns t with its trace.
func (p *plan) traced(old *task, t store.Task) store.Task {
	switch {
	case t.Trace != "" || !t.Kind.Traced():
	case p.trace == "" && old != nil:
		t.Trace = old.Trace
	default:
		t.Trace = p.trace
	}
	return t
}

// stored returns the task that results when t replaces old.
func (p *plan) stored(old *task, t store.Task) *task {
	switch {
	case old == nil:
		return &task{Task: t}
	case !p.own(t.ID):
		old.Task, old.Moved = t, !old.Until.IsZero()
	default:
		if !old.Moved || t.Ready().Before(old.Ready()) {
			old.Task = t
		}
		old.end()
	}
	return old
}

func (p *plan) store(t *task, quiet bool) {
	r, err := t.row()
	p.fail(err)
	p.ops = append(p.ops, row.Op{If: t.version, Row: r, Quiet: quiet})
}

// The lists of tasks. Each of them may have thousands of tasks that are due, and a claim for the
// tasks of another list does not read them.
const (
	steps   = "steps"
	changes = "changes"
	edits   = "edits" // what follows the acceptance of a file
	probes  = "probes"
	timers  = "timers"
)

var taskLists = []string{steps, changes, edits, probes, timers}

// listed returns the list for tasks of a kind. A newer version may have stored kinds that this one
// does not know, and an older one has stored tasks in the lists steps and timers only: those are
// found by a claim for all kinds.
func listed(kind store.TaskKind) string {
	switch kind {
	case store.Advance, store.AdvanceDry, store.CheckLeft:
		return steps
	case store.HandleChange:
		return changes
	case store.Arm, store.ReopenPeriods:
		return edits
	case store.RunProbe:
		return probes
	default:
		return timers
	}
}
