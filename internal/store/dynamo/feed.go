package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// feed is how far each group has come. Only a process that is alone hands out changes, so what is held is known to it.
type feed struct {
	mu     sync.Mutex
	groups map[string]*group
}

// group is one of those who follow.
type group struct {
	made bool             // its row is there
	at   int64            // it has finished everything up to here
	done map[int64]bool   // and these beyond
	held map[int64]string // given to a consumer
}

// groupRow is what is stored of a group.
type groupRow struct {
	At   int64   `json:"at"`
	Done []int64 `json:"done,omitempty"`
}

// group gives what is known of a group; one that is not there begins before the oldest change that is kept.
func (s *Store) group(ctx context.Context, name string) (*group, error) {
	if g := s.feed.groups[name]; g != nil {
		return g, nil
	}
	from, err := s.places.look(ctx, s)
	if err != nil {
		return nil, err
	}
	row, err := s.row(ctx, groupAt(name))
	if err != nil {
		return nil, err
	}
	g := &group{at: from.through, done: map[int64]bool{}, held: map[int64]string{}}
	if row == nil {
		return g, nil
	}
	stored, err := decode[groupRow](row)
	if err != nil {
		return nil, err
	}
	g.made, g.at = true, stored.At
	for _, n := range stored.Done {
		g.done[n] = true
	}
	s.feed.groups[name] = g
	return g, nil
}

// save stores a group, which makes it.
func (s *Store) save(ctx context.Context, name string, g *group) error {
	json, err := encode(groupRow{At: g.at, Done: slices.Sorted(maps.Keys(g.done))})
	if err != nil {
		return err
	}
	if err := s.putRow(ctx, groupAt(name), Row{"json": json}); err != nil {
		return err
	}
	g.made = true
	s.feed.groups[name] = g
	return nil
}

// Receive waits to be told of changes.
func (s *Store) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	if !s.o.Alone {
		return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, errNoFeed)
	}
	for {
		more := s.changes.Next()
		changes, err := s.receive(ctx, group, consumer, store.PageSize(limit))
		if err != nil {
			return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, err)
		}
		if len(changes) > 0 {
			return changes, nil
		}
		select {
		case <-more:
		case <-s.closed:
			return nil, errClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Store) receive(ctx context.Context, name, consumer string, limit int) ([]store.Change, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	g, err := s.group(ctx, name)
	if err != nil {
		return nil, err
	}
	if !g.made {
		if err := s.save(ctx, name, g); err != nil {
			return nil, err
		}
	}
	from, err := s.places.look(ctx, s)
	if err != nil || from.changes-g.at == int64(len(g.done)+len(g.held)) {
		return nil, err
	}
	changes, err := s.changesAfter(ctx, g, limit, func(at int64) bool { return !g.done[at] && g.held[at] == "" })
	for _, c := range changes {
		g.held[int64(c.Position)] = consumer
	}
	return changes, err
}

// changesAfter gives up to limit changes beyond the place of a group, of those that are wanted.
func (s *Store) changesAfter(ctx context.Context, g *group, limit int, wanted func(at int64) bool) (all []store.Change, err error) {
	of := span{table: Control, hash: changeAt(0).pk, low: digits(g.at + 1), high: last}
	rows, _, err := s.query(ctx, of, limit+len(g.done)+len(g.held))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c, err := decode[store.Change](row)
		if err != nil {
			return nil, err
		}
		if wanted(int64(c.Position)) && len(all) < limit {
			all = append(all, c)
		}
	}
	return all, nil
}

// Done moves the place of the group over everything that is finished.
func (s *Store) Done(ctx context.Context, name string, changes []store.Change) error {
	if !s.o.Alone {
		return fmt.Errorf("finish changes of %s: %w", name, errNoFeed)
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	g, err := s.group(ctx, name)
	if err != nil {
		return fmt.Errorf("finish changes of %s: %w", name, err)
	}
	for _, c := range changes {
		at := int64(c.Position)
		delete(g.held, at)
		if at > g.at {
			g.done[at] = true
		}
	}
	for g.done[g.at+1] {
		g.at++
		delete(g.done, g.at)
	}
	if err := s.save(ctx, name, g); err != nil {
		return fmt.Errorf("finish changes of %s: %w", name, err)
	}
	return nil
}

// Backlog counts what is beyond the group's place. Positions have no gaps. Of deployed tables it is what the functions have
// not passed on yet.
func (s *Store) Backlog(ctx context.Context, name string) (n int, oldest time.Time, err error) {
	if !s.o.Alone {
		return s.outboxBacklog(ctx)
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	g, err := s.group(ctx, name)
	if err != nil {
		return 0, oldest, fmt.Errorf("count backlog of %s: %w", name, err)
	}
	from, err := s.places.look(ctx, s)
	if err != nil {
		return 0, oldest, fmt.Errorf("count backlog of %s: %w", name, err)
	}
	if n = int(from.changes-g.at) - len(g.done); n == 0 {
		return 0, oldest, s.open()
	}
	first, err := s.changesAfter(ctx, g, 1, func(at int64) bool { return !g.done[at] })
	if err != nil {
		return 0, oldest, fmt.Errorf("count backlog of %s: %w", name, err)
	}
	if len(first) > 0 {
		oldest = first[0].At
	}
	return n, oldest, nil
}

func (s *Store) outboxBacklog(ctx context.Context) (int, time.Time, error) {
	rows, err := s.listed(ctx, list{table: Control, index: pending, hash: "OUTBOX"}, "", store.MaxPage)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count what was not passed on: %w", err)
	}
	if len(rows) == 0 {
		return 0, time.Time{}, nil
	}
	return len(rows), rows[0].instant("at"), nil
}
