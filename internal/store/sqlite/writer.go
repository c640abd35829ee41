package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var errClosed = errors.New("store is closed")

// The kinds of rows in the log.
const (
	kindSame = iota // a reading whose data is that of the one before it
	kindChanged
	kindRun
	kindPipeline
)

// groupWeight is how much is committed together at most, counted in readings.
const groupWeight = 1024

// writer owns the one connection that changes the file. Whatever waits in its queue when it turns to it is committed in one
// transaction, with one fsync for all; nobody is answered before that.
type writer struct {
	conn    *conn
	queue   chan *request
	overlay *overlay
	leases  *leases
	feed    *feed
	cursors *cursors

	checkpointer *checkpointer
	condition    *condition

	pos   int64 // the last position of the log
	event int64 // the last position of an event
	high  int64 // the latest instant of any event

	tips map[sensorID]tip
	rows map[rowID]*reading

	runs      *recent[run.Key, run.Run]
	pipelines *recent[pipeline.ID, store.Pipeline]

	foldAfter, foldStep int   // rows
	foldErr             error // why folding got stuck, if it is

	committed     atomic.Int64 // the last position that readers of the feed may see
	tasksChanged  store.Signal
	eventsChanged store.Signal
}

// request is a call that waits for its answer.
type request struct {
	ctx  context.Context
	op   op
	done chan error
}

func (r *request) weight() int {
	if p, ok := r.op.(*put); ok {
		return len(p.writes)
	}
	return store.MaxRows
}

// op is what a call does. It looks before it changes anything, so that with store.ErrConflict the transaction is as it
// was; any other error spoils it. An op may be done more than once, if the transaction it was in comes to nothing.
type op interface{ do(tx *tx) error }

// tx is the transaction of one group.
type tx struct {
	*conn
	w *writer

	pos, event, high int64

	told   []store.Change // to the feed
	puts   []*reading     // in order, with the last of each key and row beside it
	tips   map[sensorID]tip
	rows   map[rowID]*reading
	runs   map[run.Key]earlier // those that were swapped
	leases map[string]*lease   // what becomes of leases; nil for one that ends

	folded        bool     // it holds a step of folding
	tasks, events bool     // something of the kind was changed
	after         []func() // what is to be remembered once it is durable
}

type rowID struct {
	sensorID
	period period.Period
}

// write hands o to the writer and waits for its commit. If ctx ends first, nobody knows whether it took place.
func (s *Store) write(ctx context.Context, o op) error {
	if err := s.open(); err != nil {
		return err
	}
	r, _ := s.requests.Get().(*request)
	r.ctx, r.op = ctx, o
	select {
	case s.queue <- r: // the usual case, for which one look at one channel is enough
	default:
		select {
		case s.queue <- r:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.quit:
			return errClosed
		}
	}
	select {
	case err := <-r.done:
		r.ctx, r.op = nil, nil
		s.requests.Put(r)
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
	}
	select {
	case err := <-r.done: // it was among the last that were committed
		return err
	default:
		return errClosed
	}
}

// loop works until quit is closed, and then on what is queued.
func (w *writer) loop(quit <-chan struct{}) {
	for {
		select {
		case r := <-w.queue:
			before := w.pos
			w.letCome()
			w.commit(w.gather(r))
			w.tend(w.pos - before)
			w.checkpointer.tend(w.conn)
		case <-quit:
			for len(w.queue) > 0 {
				w.commit(w.gather(<-w.queue))
			}
			return
		}
	}
}

// letCome lets whoever is about to bring something come along, for as long as there are more of them: fewer commits, and for a
// single one no wait.
func (w *writer) letCome() {
	for n := -1; n < len(w.queue); {
		n = len(w.queue)
		runtime.Gosched()
	}
}

// gather takes what is queued, without waiting for more.
func (w *writer) gather(first *request) []*request {
	group, weight := []*request{first}, first.weight()
	for weight < groupWeight {
		select {
		case r := <-w.queue:
			group, weight = append(group, r), weight+r.weight()
		default:
			return group
		}
	}
	return group
}

// commit answers every request of the group. If one request fails the transaction of all, for example with a row that is
// too large, each is committed alone, so that only those that must fail do.
func (w *writer) commit(group []*request) {
	var answers []error
	err := w.condition.withReserve(func() (err error) {
		answers, err = w.attempt(group)
		return err
	})
	if err != nil && len(group) > 1 {
		for _, r := range group {
			w.commit([]*request{r})
		}
		return
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

// attempt makes the group's transaction. With an error nothing of it has happened.
func (w *writer) attempt(group []*request) (answers []error, err error) {
	defer w.leases.drop()
	tx, err := w.begin(len(group))
	if err != nil {
		return nil, err
	}
	answers = make([]error, len(group))
	for i, r := range group {
		if answers[i] = r.ctx.Err(); answers[i] != nil {
			continue // nobody waits for it any more
		}
		answers[i] = r.op.do(tx)
		if answers[i] != nil && !errors.Is(answers[i], store.ErrConflict) {
			return nil, tx.rollback(answers[i])
		}
	}
	return answers, tx.commit()
}

// begin begins a transaction of about so many calls.
func (w *writer) begin(calls int) (*tx, error) {
	clear(w.tips)
	clear(w.rows)
	tx := &tx{
		conn: w.conn, w: w, pos: w.pos, event: w.event, high: w.high, tips: w.tips, rows: w.rows, runs: map[run.Key]earlier{}, leases: map[string]*lease{},
		told: make([]store.Change, 0, calls), puts: make([]*reading, 0, calls),
	}
	return tx, tx.exec("BEGIN IMMEDIATE")
}

// commit makes the transaction durable, then visible, in this order.
func (tx *tx) commit() error {
	if err := tx.savePlaces(); err != nil {
		return tx.rollback(err)
	}
	if err := tx.saveCursors(); err != nil {
		return tx.rollback(err)
	}
	if err := tx.exec("COMMIT"); err != nil {
		return tx.rollback(err)
	}
	w := tx.w
	for _, f := range tx.after {
		f()
	}
	w.overlay.publish(tx.puts)
	w.leases.apply(tx.leases)
	w.feed.append(tx.told)
	fed := tx.pos > w.pos
	w.pos, w.event, w.high = tx.pos, tx.event, tx.high
	w.committed.Store(w.pos)
	if fed {
		w.feed.fed.Raise()
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
	_ = tx.conn.exec("ROLLBACK") // after most errors SQLite has done so by itself, and says that there is no transaction
	return err
}
