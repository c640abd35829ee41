// Package memory is the store that forgets: a map and sorted lists behind one mutex. It is what
// handlers are tested on and what the simulator runs on. It starts no goroutine and reads no clock,
// so the same calls give the same answers, inside a testing/synctest bubble too.
package memory

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Store is one process's hold on the data. Others may have theirs: see Open.
type Store struct {
	*record.Store
	engine *engine
}

// New returns an empty store.
func New() *Store { return on(newEngine()) }

// Open returns another hold on the same data, as a second process has one.
func (s *Store) Open() *Store { return on(s.engine.open()) }

func on(e *engine) *Store { return &Store{record.New(e, record.Options{}), e} }

// LoseEvents forgets the latest n events and returns them, as a failover to a server does that had
// not received them. Their positions are not used again.
func (s *Store) LoseEvents(n int) []store.StoredEvent {
	var lost []store.StoredEvent
	for _, r := range s.engine.loseEvents(n) {
		e, err := record.EventOf(r)
		if err != nil {
			panic(err) // this process has written it
		}
		lost = append(lost, e)
	}
	return lost
}

// engine is the handle that one process has on a table of rows. It starts no goroutine and reads no
// clock, so the same calls give the same answers, inside a testing/synctest bubble too.
type engine struct {
	*table
	*row.Groups // Receive, Ack, Backlog
	self        string
	closed      atomic.Bool
}

// table is what all handles share. It shares bodies with its callers, which never modify them.
type table struct {
	mu      sync.Mutex
	records map[row.Ref]*stored
	lists   map[listName]list

	applied  map[string]time.Time // when a transaction was applied, by its ID
	ids      []string             // those IDs, in the order of Apply
	eventIDs map[string]bool
	changes  []row.Change

	handles, lastNumber, lastEvent, lastChange int64
	tasksChanged, eventsChanged                store.Signal
}

// NewEngine returns an engine without rows.
func NewEngine() row.Engine { return newEngine() }

func newEngine() *engine {
	t := &table{
		records: map[row.Ref]*stored{}, lists: map[listName]list{},
		applied: map[string]time.Time{}, eventIDs: map[string]bool{},
	}
	return t.handle(row.NewGroups(t, func(string, row.Progress) {}))
}

// open returns another handle on the same rows, as a second process has one.
func (e *engine) open() *engine { return e.handle(e.Groups.Open()) }

func (t *table) handle(g *row.Groups) *engine {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handles++
	return &engine{table: t, Groups: g, self: fmt.Sprintf("memory/%d", t.handles)}
}

// lock locks the table, unless the handle is closed.
func (e *engine) lock() error {
	if e.closed.Load() {
		return row.ErrClosed
	}
	e.mu.Lock()
	return nil
}

// Close closes this handle; others on the same rows stay open.
func (e *engine) Close() error {
	e.closed.Store(true)
	e.Groups.Close()
	return nil
}

// Peers names this handle.
func (e *engine) Peers() row.Peers { return row.Peers{Self: e.self} }

// Changed returns the same channel to all that wait for the same topic.
func (e *engine) Changed(t row.Topic) <-chan struct{} {
	if t == row.TaskTopic {
		return e.tasksChanged.Next()
	}
	return e.eventsChanged.Next()
}

// Apply checks all conditions, then makes all changes.
func (e *engine) Apply(_ context.Context, tx row.Tx, now time.Time) error {
	if err := e.lock(); err != nil {
		return err
	}
	defer e.mu.Unlock()
	if _, again := e.applied[tx.ID]; again {
		return nil
	}
	for i, op := range tx.Ops {
		if !e.holds(op) {
			return &row.Conflict{Op: i, Ref: op.Row.Ref}
		}
	}
	now = now.Round(0).UTC()
	if tx.ID != "" {
		e.applied[tx.ID] = now
		e.ids = append(e.ids, tx.ID)
	}
	before := e.lastChange
	for _, op := range tx.Ops {
		e.do(op, now)
	}
	for _, event := range tx.Events {
		e.emit(event)
	}
	if e.lastChange > before {
		e.Raise()
	}
	return nil
}

// holds reports whether the condition of op holds.
func (t *table) holds(op row.Op) bool {
	if op.If < 0 {
		return op.If != row.Never
	}
	r := t.records[op.Row.Ref]
	return r == nil && op.If == 0 || r != nil && op.If == r.Version
}

func (t *table) do(op row.Op, now time.Time) {
	r := t.records[op.Row.Ref]
	switch {
	case op.If == row.First && r != nil:
		return
	case op.Do == row.Put && r == nil:
		t.add(&stored{Row: op.Row})
	case op.Do == row.Put:
		t.replace(r, op.Row)
	case op.Do == row.Delete && r != nil:
		t.remove(r)
	}
	if len(op.Change) > 0 {
		t.lastChange++
		t.changes = append(t.changes, row.Change{Position: t.lastChange, At: now, Body: op.Change})
	}
	if op.Row.Kind == row.Tasks && op.Do != row.Check && !op.Quiet {
		t.tasksChanged.Raise()
	}
}

// emit appends an event, unless its ID is in the log.
func (t *table) emit(e row.Event) {
	if t.eventIDs[e.ID] {
		return
	}
	t.eventIDs[e.ID] = true
	t.lastEvent++
	at := row.Digits(t.lastEvent)
	t.add(&stored{event: e.ID, Row: row.Row{
		Ref: row.Ref{Kind: row.Events, Part: e.Part, Key: at}, Version: 1, Body: e.Body,
		Places: [row.Indexes]row.Place{
			row.Ordered: {List: string(row.Events), Key: at},
			row.Pending: {List: string(row.Events) + ":" + e.Type, Key: at},
			row.Aging:   {List: string(row.Events), Key: store.Nanos(e.At) + "#" + at},
		},
	}})
	t.eventsChanged.Raise()
}

// Get reads rows from the map.
func (e *engine) Get(_ context.Context, refs []row.Ref) ([]row.Row, error) {
	if err := e.lock(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	rows := make([]row.Row, len(refs))
	for i, ref := range refs {
		if r := e.records[ref]; r != nil {
			rows[i] = r.Row
		}
	}
	return rows, nil
}

// Scan reads rows from the lists.
func (e *engine) Scan(_ context.Context, ranges []row.Range) ([]row.Page, error) {
	if err := e.lock(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	pages := make([]row.Page, len(ranges))
	for i, r := range ranges {
		pages[i] = e.page(r)
	}
	return pages, nil
}

// Next counts.
func (e *engine) Next(_ context.Context, n int) (int64, error) {
	if err := e.lock(); err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	e.lastNumber += int64(n)
	return e.lastNumber - int64(n) + 1, nil
}

// Drop deletes rows one after the other.
func (e *engine) Drop(_ context.Context, rows []row.Row) (dropped int, err error) {
	if err := e.lock(); err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	for _, old := range rows {
		if r := e.records[old.Ref]; r != nil && r.Version == old.Version {
			e.remove(r)
			dropped++
		}
	}
	return dropped, nil
}

// Trim forgets changes, then IDs, oldest first.
func (e *engine) Trim(_ context.Context, now time.Time, limit int) (int, error) {
	passed, _ := e.Passed() // 0 without a group
	if err := e.lock(); err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	changes := min(limit, len(e.changes)-len(e.after(passed)))
	clear(e.changes[:changes])
	e.changes = e.changes[changes:]
	ids := 0
	for ids < min(limit-changes, len(e.ids)) && e.applied[e.ids[ids]].Before(now.Add(-store.CommitLife)) {
		delete(e.applied, e.ids[ids])
		ids++
	}
	e.ids = e.ids[ids:]
	return changes + ids, nil
}

// ChangesAfter is for Groups, as is CountAfter.
func (t *table) ChangesAfter(_ context.Context, position int64, limit int) ([]row.Change, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.after(position)
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

func (t *table) CountAfter(_ context.Context, position int64) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.after(position)), nil
}

func (t *table) after(position int64) []row.Change {
	return t.changes[sort.Search(len(t.changes), func(i int) bool { return t.changes[i].Position > position }):]
}
