package sqlite

import (
	"context"
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// recentSize is how many records are held at least once so many have been looked at; at most twice as many are.
const recentSize = 512

// recent holds records of one table that were written or read lately, and of which names there is none. Each step of a run
// looks at the same two or three again and again, and an answer from the file takes a hundred times as long.
//
// What it says is never older than what is committed: the writer replaces a record before anybody learns of its commit,
// and a reader adds what it has read only if nothing was written since it began. No record of such a table is ever removed.
type recent[K comparable, T any] struct {
	mu         sync.RWMutex
	young, old map[K]*remembered[T] // the old ones are let go of once there are many young ones
	writes     int64
}

// remembered is one record, or that there is none.
type remembered[T any] struct {
	decode sync.Once
	body   string // until somebody asks for it; "" if there is no such record
	record T
	err    error
}

func newRecent[K comparable, T any]() *recent[K, T] {
	return &recent[K, T]{young: map[K]*remembered[T]{}}
}

// get gives what is held, nil if that is nothing; and the number by which add recognises that something was written since.
func (c *recent[K, T]) get(key K) (held *remembered[T], writes int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if held = c.young[key]; held == nil {
		held = c.old[key]
	}
	return held, c.writes
}

// stored is a record as the file has it.
func stored[T any](body string) *remembered[T] { return &remembered[T]{body: body} }

// plain is a record that reads from the file as it is: nothing in it is shared with anybody, or changes its form as JSON.
func plain[T any](record T) *remembered[T] {
	r := &remembered[T]{record: record}
	r.decode.Do(func() {})
	return r
}

// wrote is called by the writer, between the commit and its announcement.
func (c *recent[K, T]) wrote(key K, r *remembered[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	c.hold(key, r)
}

// read is what was found in the file after get.
func (c *recent[K, T]) read(key K, body string, writes int64) *remembered[T] {
	r := stored[T](body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writes == writes {
		c.hold(key, r)
	}
	return r
}

func (c *recent[K, T]) hold(key K, r *remembered[T]) {
	if len(c.young) >= recentSize {
		c.young, c.old = map[K]*remembered[T]{}, c.young
	}
	c.young[key] = r
}

// give is the record as it would be read from the file.
func (r *remembered[T]) give() (T, error) {
	r.decode.Do(func() {
		if r.body == "" {
			r.err = store.ErrNotFound
			return
		}
		r.record, r.err = decode[T](r.body)
		r.body = ""
	})
	return r.record, r.err
}

// look gives a record out of a table whose query takes its name.
func look[K comparable, T any](ctx context.Context, s *Store, from *recent[K, T], key K, query, name string) (record T, err error) {
	if err := s.ready(ctx); err != nil {
		return record, err
	}
	held, writes := from.get(key)
	if held == nil {
		var body string
		err := s.read(ctx, func(c *conn) error {
			_, err := c.one(query, func(r row) error {
				body = r.text(0)
				return nil
			}, name)
			return err
		})
		if err != nil {
			return record, err
		}
		held = from.read(key, body, writes)
	}
	return held.give()
}
