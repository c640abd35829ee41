package memory

import (
	"context"
	"maps"
	"sort"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// group is how far those who share one group have come.
type group struct {
	place store.Position            // everything up to here is done
	done  map[store.Position]bool   // what is done beyond it
	held  map[store.Position]*Store // what was received and is not done, by whom
}

// group gives one by name; one that was never asked for begins at the oldest change that is kept.
func (d *data) group(name string) *group {
	g := d.groups[name]
	if g == nil {
		g = &group{done: map[store.Position]bool{}, held: map[store.Position]*Store{}}
		d.groups[name] = g
	}
	return g
}

func (g *group) letGo(s *Store) {
	maps.DeleteFunc(g.held, func(_ store.Position, by *Store) bool { return by == s })
}

// feed appends a change.
func (d *data) feed(c store.Change) {
	d.lastChange++
	c.Position, c.At = d.lastChange, instant(c.At)
	d.changes = append(d.changes, c)
	d.fed.Raise()
}

// after gives the changes beyond a place.
func (d *data) after(place store.Position) []store.Change {
	return d.changes[sort.Search(len(d.changes), func(i int) bool { return d.changes[i].Position > place }):]
}

// Receive waits on a channel, never on a clock.
func (s *Store) Receive(ctx context.Context, name, _ string, limit int) ([]store.Change, error) {
	for {
		changes, more, err := s.take(name, limit)
		if len(changes) > 0 || err != nil {
			return changes, err
		}
		select {
		case <-more:
		case <-s.closed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take holds what is free at this moment, and gives a channel that is closed when there may be more.
func (s *Store) take(name string, limit int) ([]store.Change, <-chan struct{}, error) {
	if err := s.open(); err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	g := s.group(name)
	var free []store.Change
	for _, c := range s.after(g.place) {
		if len(free) == store.PageSize(limit) {
			break
		}
		if !g.done[c.Position] && g.held[c.Position] == nil {
			g.held[c.Position] = s
			free = append(free, c)
		}
	}
	return free, s.fed.Next(), nil
}

// Done moves the place on as far as everything before it is done.
func (s *Store) Done(_ context.Context, name string, changes []store.Change) error {
	if err := s.open(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	g := s.group(name)
	for _, c := range changes {
		delete(g.held, c.Position)
		if c.Position > g.place {
			g.done[c.Position] = true
		}
	}
	for _, c := range s.after(g.place) {
		if !g.done[c.Position] {
			break
		}
		delete(g.done, c.Position)
		g.place = c.Position
	}
	return nil
}

// Backlog counts what is beyond the group's place and not done.
func (s *Store) Backlog(_ context.Context, name string) (n int, oldest time.Time, err error) {
	if err := s.open(); err != nil {
		return 0, time.Time{}, err
	}
	defer s.mu.Unlock()
	g := s.groups[name]
	if g == nil {
		g = &group{} // to ask is not to follow
	}
	for _, c := range s.after(g.place) {
		if g.done[c.Position] {
			continue
		}
		if n++; n == 1 {
			oldest = c.At
		}
	}
	return n, oldest, nil
}
