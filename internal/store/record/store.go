// Package record implements the store: it keeps runs, readings, deadlines, events and tasks as rows
// of an engine. Keys, ordering, paging, leases and retention are implemented here, once for every
// engine; an engine only compares, applies and scans.
//
// key.go defines the row keys, codec.go the encoding. commit.go turns a Batch into one transaction;
// put.go, produced.go and reading.go store and read readings; task.go stores tasks with their
// leases and claim.go leases them; list.go, event.go and overview.go list records; trim.go,
// history.go and oldrun.go apply retention, which fit.go shortens to limits of bytes, and purge.go
// deletes a removed pipeline.
package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var _ store.Store = (*Store)(nil)

// Options are the differences between engines. The zero value suits an engine without limits.
type Options struct {
	// MaxOps is how many ops one transaction may have; 0 means no limit.
	MaxOps int
	// Readiness is how long the last verdict on a pipeline's gate is kept in a separate row for
	// other programs to read; 0 means that there is no such row.
	Readiness time.Duration
	// Alone says that no other process writes to the database, so that a write may rely on what
	// this process stored before.
	Alone bool
}

// Store is a store on an engine.
type Store struct {
	engine  row.Engine
	o       Options
	tickets tickets
	puts    combiner
	known   known
	claims  chan struct{} // serialises Claim: holds one value during a call

	unanswered unanswered
	oldRuns    oldRuns
}

// New returns a store on an engine. Closing it closes the engine.
func New(e row.Engine, o Options) *Store {
	return &Store{engine: e, o: o, known: known{on: o.Alone}, claims: make(chan struct{}, 1)}
}

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// maxWrites is how many readings one call can store: each takes two ops.
func (s *Store) maxWrites() int {
	if s.o.MaxOps > 0 {
		return min(store.MaxWrites, s.o.MaxOps/2)
	}
	return store.MaxWrites
}

// maxOps is how many ops go into a transaction whose size is arbitrary.
func (s *Store) maxOps() int {
	if s.o.MaxOps > 0 {
		return s.o.MaxOps
	}
	return 100
}

// get reads one row; its Version is 0 if there is none.
func (s *Store) get(ctx context.Context, ref row.Ref) (row.Row, error) {
	rows, err := s.engine.Get(ctx, []row.Ref{ref})
	if err != nil {
		return row.Row{}, err
	}
	return rows[0], nil
}

// scan reads one page of a range.
func (s *Store) scan(ctx context.Context, r row.Range) (row.Page, error) {
	pages, err := s.engine.Scan(ctx, []row.Range{r})
	if err != nil {
		return row.Page{}, err
	}
	return pages[0], nil
}

// eachPage scans ranges, all of them at once, and passes each page to take with the index of its
// range. It continues a range while it has more rows and take returns true, at least
// store.DefaultPage rows at a time.
func (s *Store) eachPage(ctx context.Context, ranges []row.Range, take func(i int, rows []row.Row) (more bool, err error)) error {
	open, at := slices.Clone(ranges), make([]int, len(ranges))
	for i := range at {
		at[i] = i
	}
	for len(open) > 0 {
		pages, err := s.engine.Scan(ctx, open)
		if err != nil {
			return err
		}
		n := 0
		for i, page := range pages {
			more, err := take(at[i], page.Rows)
			if err != nil {
				return err
			}
			if more && page.More && len(page.Rows) > 0 {
				open[n], at[n] = after(open[i], page.Rows[len(page.Rows)-1]), at[i]
				open[n].Limit = max(open[n].Limit, store.DefaultPage)
				n++
			}
		}
		open, at = open[:n], at[:n]
	}
	return nil
}

// scanAll reads whole ranges, and returns the rows of each. It ignores their limits.
func (s *Store) scanAll(ctx context.Context, ranges []row.Range) ([][]row.Row, error) {
	for i := range ranges {
		ranges[i].Limit = store.MaxPage
	}
	found := make([][]row.Row, len(ranges))
	err := s.eachPage(ctx, ranges, func(i int, rows []row.Row) (bool, error) {
		found[i] = append(found[i], rows...)
		return true, nil
	})
	return found, err
}

// all reads a whole range.
func (s *Store) all(ctx context.Context, r row.Range) ([]row.Row, error) {
	found, err := s.scanAll(ctx, []row.Range{r})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// readPages passes the records of a whole range to take, page by page.
func readPages[T any](ctx context.Context, s *Store, r row.Range, take func([]T) error) error {
	r.Limit = store.MaxPage
	return s.eachPage(ctx, []row.Range{r}, func(_ int, rows []row.Row) (bool, error) {
		decoded, err := decodeAll[T](rows)
		if err != nil {
			return false, err
		}
		return true, take(decoded)
	})
}

// readAll reads the records of a whole range. It avoids holding all bodies, or growing one large
// slice, for 100,000 rows.
func readAll[T any](ctx context.Context, s *Store, r row.Range) ([]T, error) {
	var found [][]T
	err := readPages(ctx, s, r, func(page []T) error {
		found = append(found, page)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return slices.Concat(found...), nil
}

// after returns the rest of a range after one of its rows.
func after(r row.Range, last row.Row) row.Range {
	at := last.Key
	if r.List != "" {
		at = last.Places[r.Index].Key
	}
	if r.Backwards {
		r.To = at
	} else {
		r.From = next(at)
	}
	return r
}

// next returns the smallest string greater than text.
func next(text string) string { return text + "\x00" }

// errRepeat means that a transaction was rejected too often because others changed the rows it
// depends on.
var errRepeat = fmt.Errorf("others kept changing the same rows: %w", store.ErrConflict)

// wrap says what failed; it returns nil for nil.
func wrap(err error, what string, args ...any) error {
	if err != nil {
		return fmt.Errorf(what+": %w", append(args, err)...)
	}
	return nil
}

// tries is how often a transaction is retried after others changed a row it depends on.
const tries = 50

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// retry calls do until repeat is false for its error, and backs off in between.
func retry(ctx context.Context, repeat func(error) bool, do func() error) error {
	for try := range tries {
		if err := do(); !repeat(err) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return errRepeat
}

// atOnce is how many retries do not wait.
const atOnce = 3

var retries = backoff.Doubling{First: 8 * time.Millisecond, Most: time.Second}

// pause waits before a retry: not at all the first times, then exponentially longer.
func pause(ctx context.Context, try int) error {
	if try < atOnce {
		return ctx.Err()
	}
	return row.Pause(ctx, retries.After(try-atOnce+1))
}

// tickets numbers the entries this process appends, following the callers' clock but never going
// back, so that entries with the same time keep their order.
type tickets struct {
	mu   sync.Mutex
	last int64
}

// next reserves as many numbers as a Batch can have rows, and returns the first.
func (t *tickets) next(now time.Time) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = max(t.last+store.MaxRows, now.UnixNano())
	return t.last
}
