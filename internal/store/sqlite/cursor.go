package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// cursors are the places of those who follow events. One that moves on is held in memory until the next commit takes it along,
// as the places in the feed are: whoever follows moves it after every few events, and would otherwise make the disk as busy
// as those who tell them. A crash in between gives some events twice, which they may be.
type cursors struct {
	mu      sync.Mutex
	at      map[string]int64
	unsaved map[string]int64
}

func newCursors() *cursors {
	return &cursors{at: map[string]int64{}, unsaved: map[string]int64{}}
}

// move moves a cursor on, if it only has to: one that is new, or is moved back, must be stored at once, because events are
// kept for it.
func (c *cursors) move(name string, at int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.at[name]
	if !known || at < before {
		return false
	}
	if at > before {
		c.at[name], c.unsaved[name] = at, at
	}
	return true
}

// stay forgets where a cursor has moved on to, because it is about to be stored elsewhere.
func (c *cursors) stay(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unsaved, name)
}

// set is for what was stored at once.
func (c *cursors) set(name string, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[name] = at
}

func (c *cursors) drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, name)
}

// moved gives those that moved on since they were last stored.
func (c *cursors) moved() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unsaved) == 0 {
		return nil
	}
	return maps.Clone(c.unsaved)
}

// saved lets go of what was stored, unless it has moved again.
func (c *cursors) saved(stored map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, at := range stored {
		if c.unsaved[name] == at {
			delete(c.unsaved, name)
		}
	}
}

func (c *cursors) get(name string) store.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return store.Position(c.at[name])
}

// Cursor gives a place.
func (s *Store) Cursor(ctx context.Context, name string) (store.Position, error) {
	return named(s.cursors.get(name), s.ready(ctx))("cursor %s", name)
}

// cursor is a place on its way to the writer.
type cursor struct {
	name string
	at   int64
}

// SetCursor moves a place.
func (s *Store) SetCursor(ctx context.Context, name string, at store.Position) error {
	if name == "" {
		return errors.New("set a cursor: it has no name")
	}
	err := s.ready(ctx)
	if err == nil && !s.cursors.move(name, int64(at)) {
		err = s.write(ctx, &cursor{name, int64(at)})
	}
	if err != nil {
		return fmt.Errorf("set cursor %s: %w", name, err)
	}
	return nil
}

func (c *cursor) do(tx *tx) error {
	tx.w.cursors.stay(c.name)
	tx.after = append(tx.after, func() { tx.w.cursors.set(c.name, c.at) })
	return tx.exec(upsertCursor, c.name, c.at)
}

// dropCursor is a place that is to be forgotten.
type dropCursor struct{ name string }

// DropCursor forgets a place.
func (s *Store) DropCursor(ctx context.Context, name string) error {
	if err := s.write(ctx, &dropCursor{name}); err != nil {
		return fmt.Errorf("drop cursor %s: %w", name, err)
	}
	return nil
}

func (c *dropCursor) do(tx *tx) error {
	tx.w.cursors.stay(c.name)
	tx.after = append(tx.after, func() { tx.w.cursors.drop(c.name) })
	return tx.exec("DELETE FROM cursors WHERE name = ?", c.name)
}

const upsertCursor = "INSERT INTO cursors (name, pos) VALUES (?, ?) ON CONFLICT DO UPDATE SET pos = excluded.pos"

// saveCursors stores those that moved on. They are let go of once that is durable.
func (tx *tx) saveCursors() error {
	moved := tx.w.cursors.moved()
	for name, at := range moved {
		if err := tx.exec(upsertCursor, name, at); err != nil {
			return err
		}
	}
	if len(moved) > 0 {
		tx.after = append(tx.after, func() { tx.w.cursors.saved(moved) })
	}
	return nil
}
