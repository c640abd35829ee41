package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/store/row"
)

// pool holds the read connections, each used by one caller at a time. The most recently used one is
// reused first: its statements are prepared and its pages cached. A read sees every commit made
// before it.
type pool struct {
	path string
	free chan struct{} // one per caller that may start

	pausing sync.RWMutex // read-locked during each read; see checkpointer

	mu   sync.Mutex
	idle []*conn
}

// readers is the number of read connections.
const readers = 4

func newPool(path string) *pool {
	p := &pool{path: path, free: make(chan struct{}, readers)}
	for range readers {
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
	e.readers.pausing.RLock()
	defer e.readers.pausing.RUnlock()
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

// Get reads the rows one by one, all as of one commit.
func (e *Engine) Get(ctx context.Context, refs []row.Ref) (rows []row.Row, err error) {
	rows = make([]row.Row, len(refs))
	err = e.readAll(ctx, len(refs), func(c *conn) error {
		for i, ref := range refs {
			if _, err := c.one("SELECT version, body FROM rows WHERE ref = ?", func(v values) error {
				rows[i] = row.Row{Ref: ref, Version: v.int(0), Body: v.blob(1)}
				return nil
			}, refPrefix(ref.Kind, ref.Part)+ref.Key); err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}

// Scan reads the ranges one by one, each with the index of its column, all as of one commit.
func (e *Engine) Scan(ctx context.Context, ranges []row.Range) (pages []row.Page, err error) {
	pages = make([]row.Page, len(ranges))
	err = e.readAll(ctx, len(ranges), func(c *conn) (err error) {
		for i := 0; i < len(ranges) && err == nil; i++ {
			pages[i], err = scan(c, ranges[i])
		}
		return err
	})
	return pages, err
}

// stretch is the part of a column that a range covers.
type stretch struct {
	column   string
	prefix   string
	from, to string // from is inclusive, to exclusive
}

func stretchOf(r row.Range) stretch {
	var s stretch
	switch {
	case r.List == "", r.Kind == row.Events && r.Part != "" && r.Index == row.Ordered:
		s.column, s.prefix = "ref", refPrefix(r.Kind, r.Part) // events are in the same order by key
	case r.Part == "" || r.Index == row.Aging:
		s.column = [row.Indexes]string{"ordered", "pending", "aging"}[r.Index]
		s.prefix = listPrefix(r.Kind, r.List)
	default:
		s.column = [row.Indexes]string{"ordered_part", "pending_part"}[r.Index]
		s.prefix = partPrefix(r.Kind, r.Part, r.List)
	}
	s.from, s.to = s.prefix+r.From, s.prefix+r.To
	if r.To == "" {
		s.to = s.prefix[:len(s.prefix)-1] + "0"
	}
	return s
}

func scan(c *conn, r row.Range) (page row.Page, err error) {
	s := stretchOf(r)
	query := "SELECT ref, version, body, " + s.column + " FROM rows" +
		" WHERE " + s.column + " >= ? AND " + s.column + " < ?"
	args := []any{s.from, s.to}
	if len(r.Except) > 0 {
		tags, err := json.Marshal(r.Except)
		if err != nil {
			return page, err
		}
		query, args = query+" AND tag NOT IN (SELECT value FROM json_each(?))", append(args, string(tags))
	}
	query += " ORDER BY " + s.column
	if r.Backwards {
		query += " DESC"
	}
	err = c.query(query+upTo, func(v values) error {
		if page.More = len(page.Rows) == r.Limit; page.More {
			return nil
		}
		found := row.Row{Ref: parseRef(v.text(0)), Version: v.int(1), Body: v.blob(2)}
		if r.List != "" {
			found.Places[r.Index] = row.Place{List: r.List, Key: strings.TrimPrefix(v.text(3), s.prefix)}
		}
		page.Rows = append(page.Rows, found)
		return nil
	}, append(args, int64(r.Limit)+1)...)
	return page, err
}
