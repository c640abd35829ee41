package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// queued queues calls while the writer is blocked, one after the other, so that it commits them as
// one group.
func queued(t *testing.T, e *Engine, calls ...func() error) []error {
	t.Helper()
	release := busy(t, e)
	defer release()
	answers := make([]chan error, len(calls))
	for i, call := range calls {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- call() }()
		waitFor(t, e, i+1)
	}
	release()
	errs := make([]error, len(calls))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	return errs
}

// waitFor returns once that many calls are queued.
func waitFor(t *testing.T, e *Engine, n int) {
	t.Helper()
	for len(e.queue) < n {
		if t.Context().Err() != nil {
			t.Fatal("the calls were never queued")
		}
		runtime.Gosched()
	}
}

// applying returns a call that applies a transaction.
func applying(t *testing.T, e *Engine, tx row.Tx) func() error {
	return func() error { return e.Apply(t.Context(), tx, noon) }
}

// late returns a transaction whose last op is a conflict if the run of opening exists.
func late(id string) row.Tx {
	tx := opening(id)
	tx.Ops[0], tx.Ops[1] = tx.Ops[1], tx.Ops[0]
	tx.Ops = append([]row.Op{reading(id, 1)}, tx.Ops...)
	return tx
}

func TestConflictInAGroupAffectsNoOther(t *testing.T) {
	for name, tx := range map[string]row.Tx{"at the first op": opening("b"), "after changes": late("b")} {
		t.Run(name, func(t *testing.T) {
			e := opened(t, empty(t), Options{})
			errs := queued(t, e,
				applying(t, e, opening("a")),
				applying(t, e, row.Tx{Ops: []row.Op{reading("rows", 1)}}),
				applying(t, e, tx),
				applying(t, e, opening("a")),
				applying(t, e, row.Tx{Ops: []row.Op{reading("rows", 2)}}),
			)
			for i, err := range errs {
				if want := i == 2; want != errors.Is(err, store.ErrConflict) || !want && err != nil {
					t.Errorf("call %d returned %v", i, err)
				}
			}
			if got := count(t, e, "rows"); got != 2 {
				t.Errorf("the last write shows %d", got)
			}
			if got := count(t, e, "b"); got != -1 {
				t.Errorf("a part of the conflict was stored: %d", got)
			}
			pages, err := e.Scan(t.Context(), []row.Range{
				{Kind: row.Events, List: "events", Limit: 9}, {Kind: row.Tasks, List: "tasks:advance", Limit: 9},
			})
			check(t, err)
			if len(pages[0].Rows) != 1 || len(pages[1].Rows) != 1 {
				t.Errorf("there are %d events and %d tasks, want one of each", len(pages[0].Rows), len(pages[1].Rows))
			}
			changes, err := e.Receive(t.Context(), "router", "one", 9)
			check(t, err)
			if len(changes) != 2 || changes[1].Position != changes[0].Position+1 {
				t.Errorf("changes %+v, want those of the readings", changes)
			}
		})
	}
}

// A row that is too large, or a disk that is full for one request and not for another.
func TestFailedRequestIsCommittedSeparately(t *testing.T) {
	e := opened(t, empty(t), Options{})
	failure := errors.New("failure")
	errs := queued(t, e,
		applying(t, e, row.Tx{Ops: []row.Op{reading("rows", 1)}}),
		func() error {
			return e.write(t.Context(), opFunc(func(tx *tx) error {
				return errors.Join(tx.setMeta("failed", 1), failure)
			}), 1)
		},
		applying(t, e, opening("a")),
	)
	if errs[0] != nil || !errors.Is(errs[1], failure) || errs[2] != nil {
		t.Errorf("answers %v", errs)
	}
	check(t, e.read(t.Context(), func(c *conn) error {
		n, err := c.number("SELECT value FROM meta WHERE name = 'failed'")
		if n != 0 {
			t.Error("something of the failed transaction is left")
		}
		return err
	}))
	if count(t, e, "rows") != 1 || get(t, e, runRef).Version != 1 {
		t.Error("the other transactions are lost")
	}
}

func TestCallerDoesNotWaitLongerThanItsContext(t *testing.T) {
	e := opened(t, empty(t), Options{})
	release := busy(t, e)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() { answer <- e.Apply(ctx, opening("a"), noon) }()
	waitFor(t, e, 1)
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("returned %v", err)
	}
	release()
	put(t, e, reading("rows", 1)) // queued after it
	if get(t, e, runRef).Version != 0 {
		t.Error("the writer ran a transaction whose caller had returned")
	}
}

func TestCloseAnswersAll(t *testing.T) {
	dir := empty(t)
	e := opened(t, dir, Options{})
	release := busy(t, e)
	answers := make(chan error)
	go func() { answers <- e.Apply(t.Context(), opening("a"), noon) }()
	waitFor(t, e, 1)
	go func() {
		_, err := e.Receive(t.Context(), "router", "a", 1)
		if !errors.Is(err, row.ErrClosed) {
			t.Errorf("receive ended with %v", err)
		}
		answers <- nil
	}()
	go func() { answers <- e.Close() }()
	<-e.quit
	release()
	for range 3 {
		check(t, <-answers)
	}
	if get(t, opened(t, dir, Options{}), runRef).Version != 1 {
		t.Error("the acknowledged transaction is lost")
	}
}

// full makes the file refuse to grow by more than that many pages, like a full disk.
func full(t *testing.T, e *Engine, pages int) {
	t.Helper()
	check(t, e.write(t.Context(), opFunc(func(tx *tx) error {
		n, err := tx.number("PRAGMA page_count")
		if err != nil {
			return err
		}
		_, err = tx.number(fmt.Sprintf("PRAGMA max_page_count = %d", n+int64(pages)))
		return err
	}), 1))
}

func TestFullDiskHarmsNothing(t *testing.T) {
	e := opened(t, empty(t), Options{})
	put(t, e, reading("rows", 1))
	full(t, e, 0)
	tx := opening("a")
	tx.Ops = append(tx.Ops, reading("rows", 2), large("large"))
	for what, err := range map[string]error{
		"alone":    e.Apply(t.Context(), tx, noon),
		"in group": queued(t, e, applying(t, e, tx), applying(t, e, tx))[1],
	} {
		if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), e.conn.path) {
			t.Errorf("%s it returned %v", what, err)
		}
	}
	if got := count(t, e, "rows"); got != 1 || get(t, e, runRef).Version != 0 {
		t.Errorf("a part of the transaction was stored: %d", got)
	}
	full(t, e, 1<<20)
	check(t, e.Apply(t.Context(), tx, noon))
	if got := count(t, e, "rows"); got != 2 {
		t.Errorf("with space again it shows %d", got)
	}
}

func TestWriteAheadLogDoesNotGrow(t *testing.T) {
	dir := empty(t)
	e := opened(t, dir, Options{checkpointAfter: 50})
	for range 300 {
		put(t, e, large("large"))
	}
	info, err := os.Stat(filepath.Join(dir, fileName+"-wal"))
	check(t, err)
	if most := int64(8 << 20); info.Size() > most {
		t.Errorf("it has %d bytes after 18 MB of writes, want at most %d", info.Size(), most)
	}
}

func TestSmallRequestIsCommittedBeforeALargeOne(t *testing.T) {
	e := opened(t, empty(t), Options{})
	release := busy(t, e)
	goOn := make(chan struct{})
	heavy, light := make(chan error, 1), make(chan error, 1)
	go func() {
		heavy <- e.write(t.Context(), opFunc(func(*tx) error {
			<-goOn
			return nil
		}), heavyWeight)
	}()
	waitFor(t, e, 1)
	go func() { light <- e.Apply(t.Context(), row.Tx{Ops: []row.Op{reading("rows", 1)}}, noon) }()
	waitFor(t, e, 2)
	release()
	check(t, <-light)
	close(goOn)
	check(t, <-heavy)
}
