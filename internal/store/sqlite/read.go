package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/interlock-go/interlock/internal/store/row"
)

// pool holds the read connections, each used by one caller at a time. The most recently used one is
// reused first: its statements are prepared and its pages cached. A read sees every commit made
// before it.
type pool struct {
	path string
	free chan struct{} // one per caller that may start

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

// take returns an idle connection, or a new one.
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
	if err := c.run(context.Background(), `PRAGMA busy_timeout = 5000; PRAGMA query_only = ON;
		PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY`); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (p *pool) giveBack(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// close waits until all reads have ended.
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

// read calls f with a connection. It observes ctx only while waiting for a connection: reads are
// short.
func (e *Engine) read(ctx context.Context, f func(*conn) error) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	select {
	case <-e.readers.free:
		defer func() { e.readers.free <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	case <-e.quit:
		return row.ErrClosed
	}
	c, err := e.readers.take()
	if err != nil {
		return err
	}
	defer e.readers.giveBack(c)
	err = f(c)
	e.condition.recordDamage(err)
	return err
}

// readAll is read for several statements that see the same commit. It is also faster, because
// SQLite starts one read transaction.
func (e *Engine) readAll(ctx context.Context, statements int, f func(*conn) error) error {
	return e.read(ctx, func(c *conn) error {
		if statements < 2 {
			return f(c)
		}
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		return errors.Join(f(c), c.exec("COMMIT"))
	})
}

// ready returns an error if the engine is closed or ctx has ended.
func (e *Engine) ready(ctx context.Context) error {
	if err := e.isOpen(); err != nil {
		return err
	}
	return ctx.Err()
}
