package sqlite

import (
	"context"
	"errors"
	"runtime"
	"strconv"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

const (
	queueLength = 1024 // capacity of the queue
	heavyWeight = 200  // rows from which a request is committed after the smaller ones
	groupWeight = 2048 // maximum rows per commit, unless one request has more
)

// writer owns the only connection that changes the file. It commits all queued requests in one
// transaction, with one fsync, and then answers them.
type writer struct {
	*row.Groups  // Receive, Ack, Backlog
	conn         *conn
	queue        chan *request
	progress     progress
	checkpointer *checkpointer
	condition    *condition
	files        openFiles
	logged       bool // the marker says that the log has commits
	torn         bool // a commit failed, and may have left part of it in the log

	lastChange, lastEvent int64 // positions

	tasksChanged, eventsChanged store.Signal
}

func newWriter(c *conn, r reserve) (*writer, error) {
	w := &writer{conn: c, condition: &condition{reserve: r}, queue: make(chan *request, queueLength)}
	var err error
	if w.lastChange, err = c.number(`SELECT max(n) FROM (SELECT max(last) AS n FROM changes
		UNION ALL SELECT max(through) FROM groups
		UNION ALL SELECT value FROM meta WHERE name = 'last_change')`); err != nil {
		return nil, err
	}
	if w.lastEvent, err = c.number("SELECT value FROM meta WHERE name = 'last_event'"); err != nil {
		return nil, err
	}
	newest, err := scan(c, row.Range{Kind: row.Events, List: string(row.Events), Backwards: true, Limit: 1})
	if err != nil || len(newest.Rows) == 0 {
		return w, err
	}
	position, err := strconv.ParseInt(newest.Rows[0].Key, 10, 64)
	w.lastEvent = max(w.lastEvent, position)
	return w, err
}

// request is a call waiting for its commit.
type request struct {
	ctx    context.Context
	op     op
	weight int // rows
	done   chan error
}

// op is the change that a call makes. It is run again if the transaction was rolled back, so it
// must set its results anew each time.
type op interface{ do(tx *tx) error }

// tx is the transaction of a group of requests.
type tx struct {
	*conn
	w                     *writer
	lastChange, lastEvent int64
	changed               int64 // rows
	tasks, events         bool  // waiters for the topic must be woken
}

// change runs a statement and returns how many rows it changed.
func (tx *tx) change(query string, args ...any) (int64, error) {
	n, err := tx.changes(query, args...)
	tx.changed += n
	return n, err
}

// write queues o and waits for its commit. If ctx ends first, it is unknown whether o takes effect.
func (e *Engine) write(ctx context.Context, o op, weight int) error {
	if err := e.isOpen(); err != nil {
		return err
	}
	r, _ := e.requests.Get().(*request)
	r.ctx, r.op, r.weight = ctx, o, weight
	select {
	case e.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.quit:
		return row.ErrClosed
	}
	select {
	case err := <-r.done:
		r.ctx, r.op = nil, nil
		e.requests.Put(r)
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stopped:
	}
	select {
	case err := <-r.done: // it was in the last commit
		return err
	default:
		return row.ErrClosed
	}
}

// loop commits requests until quit is closed, and then the rest of the queue.
func (w *writer) loop(quit <-chan struct{}) {
	for {
		select {
		case r := <-w.queue:
			w.yield()
			light, heavy := apart(w.gather(r))
			w.commit(light)
			w.commit(heavy)
			w.checkpointer.committed(w.conn)
		case <-quit:
			for len(w.queue) > 0 {
				w.commit(w.gather(<-w.queue))
			}
			return
		}
	}
}

// yield lets concurrent callers join the group commit, as long as more of them arrive.
func (w *writer) yield() {
	for n := -1; n < len(w.queue); {
		n = len(w.queue)
		runtime.Gosched()
	}
}

// gather collects queued requests without waiting for more.
func (w *writer) gather(first *request) []*request {
	group, weight := []*request{first}, first.weight
	for weight < groupWeight {
		select {
		case r := <-w.queue:
			group, weight = append(group, r), weight+r.weight
		default:
			return group
		}
	}
	return group
}

// apart splits a group so that small requests do not wait for large ones.
func apart(group []*request) (light, heavy []*request) {
	for _, r := range group {
		if r.weight < heavyWeight {
			light = append(light, r)
		} else {
			heavy = append(heavy, r)
		}
	}
	return light, heavy
}

// commit commits a group and answers its requests. If one of them fails the transaction, the
// requests before it, the request itself and those after it are committed separately, so that only
// the failing one fails.
func (w *writer) commit(group []*request) {
	if len(group) == 0 {
		return
	}
	var answers []error
	var failed int
	err := w.condition.withReserve(func() (err error) {
		answers, failed, err = w.attempt(group)
		return err
	})
	if err != nil && len(group) > 1 {
		w.commit(group[:failed])
		w.commit(group[failed : failed+1])
		w.commit(group[failed+1:])
		return
	}
	if err == nil {
		err = w.files.lost() // after the commit: a file that is there now keeps it
	}
	if err == nil && !w.logged && !w.torn {
		w.logged = markCommits(w.conn.path) == nil // otherwise the next commit does it
	}
	w.condition.record(err)
	for i, r := range group {
		if err != nil {
			r.done <- err
		} else {
			r.done <- answers[i]
		}
	}
}

// attempt runs the group's transaction. If it returns an error, nothing has been changed, and
// failed is a request to commit separately.
func (w *writer) attempt(group []*request) (answers []error, failed int, err error) {
	tx, err := w.begin()
	if err != nil {
		return nil, 0, err
	}
	answers = make([]error, len(group))
	for i, r := range group {
		if answers[i] = r.ctx.Err(); answers[i] != nil {
			continue // its caller has returned
		}
		before := tx.changed
		answers[i] = r.op.do(tx)
		if err := answers[i]; err != nil && (tx.changed > before || !errors.Is(err, store.ErrConflict)) {
			return nil, i, tx.rollback(err)
		}
	}
	if err := tx.commit(); err != nil {
		if !w.torn {
			w.torn = markOpen(w.conn.path) == nil
		}
		return nil, len(group) / 2, tx.rollback(err)
	}
	return answers, 0, nil
}

func (w *writer) begin() (*tx, error) {
	tx := &tx{conn: w.conn, w: w, lastChange: w.lastChange, lastEvent: w.lastEvent}
	return tx, tx.exec("BEGIN IMMEDIATE")
}

// commit commits the transaction, and wakes waiters for its changes.
func (tx *tx) commit() error {
	w := tx.w
	saved, err := tx.saveProgress()
	if err != nil {
		return err
	}
	if err := tx.exec("COMMIT"); err != nil {
		return err
	}
	w.progress.remove(saved)
	changed := tx.lastChange > w.lastChange
	w.lastChange, w.lastEvent = tx.lastChange, tx.lastEvent
	if changed {
		w.Raise()
	}
	if tx.tasks {
		w.tasksChanged.Raise()
	}
	if tx.events {
		w.eventsChanged.Raise()
	}
	return nil
}

func (tx *tx) rollback(err error) error {
	_ = tx.exec("ROLLBACK") // fails if SQLite has already rolled back
	return err
}
