package row

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("store is closed")

// Log is what Groups read changes from. Positions may have gaps.
type Log interface {
	// ChangesAfter returns up to limit committed changes after a position, oldest first.
	ChangesAfter(ctx context.Context, position int64, limit int) ([]Change, error)
	// CountAfter returns how many committed changes there are after a position.
	CountAfter(ctx context.Context, position int64) (int, error)
}

// Progress is what a group has acknowledged: every change up to Through, except those at the
// positions Open. A new group has the zero Progress: it begins at the oldest change kept.
type Progress struct {
	Through int64
	Open    []int64 // ascending
}

// Groups is Receive, Ack and Backlog of an engine whose data belongs to one process. Which changes
// are held is in memory only; the engine saves the Progress of each group.
type Groups struct {
	*groups
	closed bool
}

// groups is what all handles on the same data share.
type groups struct {
	log      Log
	moved    func(name string, p Progress)
	appended store.Signal

	mu  sync.Mutex
	all map[string]*group
}

// group is how far a group has read, and which changes of those it has not acknowledged, oldest
// first.
type group struct {
	read int64
	open []received
}

// received is a change, and the handle whose consumer holds it; nil if none does.
type received struct {
	Change
	by *Groups
}

// NewGroups returns no groups yet. They call moved with the progress of each group that was created
// or has acknowledged changes, so that the engine saves it, at once or later; changes whose
// acknowledgement was not saved are received again after a restart. They call moved and log while
// they are locked: while an engine holds a lock that one of those needs, it calls no method but
// Raise.
func NewGroups(log Log, moved func(name string, p Progress)) *Groups {
	return (&groups{log: log, moved: moved, all: map[string]*group{}}).Open()
}

// Restore adds a group as it was saved.
func (g *groups) Restore(ctx context.Context, name string, p Progress) error {
	m := &group{read: p.Through}
	for _, position := range p.Open {
		found, err := g.log.ChangesAfter(ctx, position-1, 1)
		if err != nil {
			return err
		}
		if len(found) > 0 && found[0].Position == position { // otherwise the database has lost it
			m.open = append(m.open, received{Change: found[0]})
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all[name] = m
	return nil
}

// Open returns another handle on the same groups: what one holds is not received through another.
func (g *groups) Open() *Groups { return &Groups{groups: g} }

// Raise wakes what waits in Receive. The engine calls it after every commit that appended changes.
func (g *groups) Raise() { g.appended.Raise() }

// Receive is that of Engine. Which consumer asks makes no difference.
func (g *Groups) Receive(ctx context.Context, name, _ string, limit int) ([]Change, error) {
	for {
		more := g.appended.Next()
		if changes, err := g.take(ctx, name, limit); err != nil || len(changes) > 0 {
			return changes, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take holds up to limit changes that no handle holds.
func (g *Groups) take(ctx context.Context, name string, limit int) (changes []Change, err error) {
	m, err := g.lock(name, true)
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	free := 0
	for _, r := range m.open {
		if r.by == nil {
			free++
		}
	}
	if free < limit {
		if err := g.readOn(ctx, m, limit-free); err != nil {
			return nil, err
		}
	}
	for i := range m.open {
		if r := &m.open[i]; r.by == nil && len(changes) < limit {
			r.by = g
			changes = append(changes, r.Change)
		}
	}
	return changes, nil
}

// readOn reads up to limit changes that the group has not read.
func (g *groups) readOn(ctx context.Context, m *group, limit int) error {
	unread, err := g.log.ChangesAfter(ctx, m.read, limit)
	for _, c := range unread {
		m.open, m.read = append(m.open, received{Change: c}), c.Position
	}
	return err
}

// Ack is that of Engine. A group may acknowledge changes that it has not received.
func (g *Groups) Ack(ctx context.Context, name string, changes []Change) error {
	m, err := g.lock(name, true)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	acked := make(map[int64]bool, len(changes))
	last := int64(0)
	for _, c := range changes {
		acked[c.Position] = true
		last = max(last, c.Position)
	}
	for from := int64(-1); from < m.read && m.read < last; {
		from = m.read
		if err := g.readOn(ctx, m, store.MaxPage); err != nil {
			return err
		}
	}
	m.open = slices.DeleteFunc(m.open, func(r received) bool { return acked[r.Position] })
	p := Progress{Through: m.read}
	for _, r := range m.open {
		p.Open = append(p.Open, r.Position)
	}
	g.moved(name, p)
	return nil
}

// Backlog is that of Engine.
func (g *Groups) Backlog(ctx context.Context, name string) (int, *Change, error) {
	m, err := g.lock(name, false)
	if err != nil {
		return 0, nil, err
	}
	defer g.mu.Unlock()
	unread, err := g.log.CountAfter(ctx, m.read)
	if err != nil {
		return 0, nil, err
	}
	oldest, err := g.log.ChangesAfter(ctx, m.passed(), 1)
	if err != nil || len(oldest) == 0 {
		return 0, nil, err
	}
	return len(m.open) + unread, &oldest[0], nil
}

// Passed returns a position up to which every group has acknowledged all changes; false if there is
// no group.
func (g *groups) Passed() (position int64, exists bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.all {
		if passed := m.passed(); !exists || passed < position {
			position, exists = passed, true
		}
	}
	return position, exists
}

func (m *group) passed() int64 {
	if len(m.open) > 0 {
		return m.open[0].Position - 1
	}
	return m.read
}

// Close ends what waits on this handle and releases what it holds. Closing twice is fine.
func (g *Groups) Close() {
	if _, err := g.lock("", false); err != nil {
		return
	}
	defer g.mu.Unlock()
	g.closed = true
	for _, m := range g.all {
		for i := range m.open {
			if m.open[i].by == g {
				m.open[i].by = nil
			}
		}
	}
	g.Raise() // wakes what waits here, and other handles, which may receive what was released
}

// lock locks the groups, unless this handle is closed, and returns one of them, or an empty one if
// it does not exist.
func (g *Groups) lock(name string, create bool) (*group, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	m := g.all[name]
	if m == nil {
		m = &group{}
		if create {
			g.all[name] = m
			g.moved(name, Progress{})
		}
	}
	return m, nil
}
