package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/interlock-go/interlock/internal/store"
)

// pool is the connections that read, each for one caller at a time. The one that was used last is used first: it has
// its statements ready and its pages at hand. A commit is visible to whoever begins to read after it.
type pool struct {
	path string
	free chan struct{} // one for each caller that may begin

	mu   sync.Mutex
	idle []*conn
}

func newPool(path string, size int) *pool {
	if size <= 0 {
		size = 4
	}
	p := &pool{path: path, free: make(chan struct{}, size)}
	for range size {
		p.free <- struct{}{}
	}
	return p
}

// take gives a connection, a new one if none is idle.
func (p *pool) take() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		return c, nil
	}
	c, err := connect(p.path, "rw")
	if err != nil {
		return nil, err
	}
	if err := c.run(context.Background(), "PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (p *pool) giveBack(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// close waits for those who still read.
func (p *pool) close() error {
	for range cap(p.free) {
		<-p.free
	}
	var errs []error
	for _, c := range p.idle {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// read lends a connection to f. It ends with ctx only while it waits for one: what is read is short.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	select {
	case <-s.readers.free:
		defer func() { s.readers.free <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.quit:
		return errClosed
	}
	c, err := s.readers.take()
	if err != nil {
		return err
	}
	defer s.readers.giveBack(c)
	err = f(c)
	s.condition.recordDamage(err)
	return err
}

// ready says whether a read may begin.
func (s *Store) ready(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	return ctx.Err()
}

// find reads one record; ErrNotFound if there is none.
func find[T any](ctx context.Context, s *Store, query string, args ...any) (record T, err error) {
	var found bool
	err = s.read(ctx, func(c *conn) error {
		found, err = c.one(query, func(r row) (err error) {
			record, err = decode[T](r.text(0))
			return err
		}, args...)
		return err
	})
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return record, err
}

// list reads all records that a query gives.
func list[T any](ctx context.Context, s *Store, query string, args ...any) (records []T, err error) {
	err = s.read(ctx, func(c *conn) error {
		records, err = gather(c, records, query, args...)
		return err
	})
	return records, err
}

// gather adds the records that a query gives to those that are there.
func gather[T any](c *conn, records []T, query string, args ...any) ([]T, error) {
	err := c.query(query, func(r row) error {
		records = append(records, *new(T))
		return decodeInto(r.text(0), &records[len(records)-1])
	}, args...)
	if err != nil {
		return nil, err
	}
	return records, nil
}

// paged cuts a page off what was read with one more than fits.
func paged[T any](found []T, limit int, cursor func(last T) string) store.Page[T] {
	size := store.PageSize(limit)
	if len(found) <= size {
		return store.Page[T]{Items: found}
	}
	return store.Page[T]{Items: found[:size], Next: cursor(found[size-1])}
}

// where gathers the conditions of a query.
type where struct {
	text string
	args []any
}

func (w *where) and(condition string, args ...any) {
	if w.text == "" {
		w.text = " WHERE "
	} else {
		w.text += " AND "
	}
	w.text += condition
	w.args = append(w.args, args...)
}
