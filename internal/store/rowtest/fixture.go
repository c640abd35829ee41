package rowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// noon is the instant that tests pass as now. Its nanoseconds show whether an engine keeps them.
var noon = time.Date(2026, 3, 3, 12, 0, 0, 123456789, time.UTC)

// guard ends what would otherwise wait for ever; no test depends on how long it is.
const guard = 2 * time.Minute

// kind is the kind of most rows here: its parts and keys may be any texts, and it is in every
// index.
const kind row.Kind = "dead"

// fixture is one engine and short forms of the calls to it. An error that a test does not expect
// ends it.
type fixture struct {
	t   rapid.TB
	tt  *testing.T // nil inside a property
	e   row.Engine
	ctx context.Context
	o   Options
}

func newFixture(t *testing.T, e row.Engine, o Options) *fixture {
	f := &fixture{t: t, tt: t, e: e, ctx: t.Context(), o: o}
	t.Cleanup(func() {
		if err := f.e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

func (f *fixture) reopen() { f.e = f.o.Reopen(f.tt, f.e) }

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func same[T any](f *fixture, what string, got, want T) {
	f.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.t.Errorf("%s: want -, got +\n%s", what, diff)
	}
}

// apply applies a transaction without an ID.
func (f *fixture) apply(ops ...row.Op) {
	f.t.Helper()
	f.check(f.e.Apply(f.ctx, row.Tx{Ops: ops}, noon))
}

// conflicts expects tx to fail at one of its ops.
func (f *fixture) conflicts(what string, tx row.Tx, op int) {
	f.t.Helper()
	err := f.e.Apply(f.ctx, tx, noon)
	var c *row.Conflict
	if !errors.As(err, &c) || !errors.Is(err, store.ErrConflict) {
		f.t.Fatalf("%s: error %v, want a conflict", what, err)
	}
	same(f, what+": conflict", *c, row.Conflict{Op: op, Ref: tx.Ops[op].Row.Ref})
}

// seen is a row as Get and Scan have to return it. Place is that in the list that was scanned.
type seen struct {
	Ref     row.Ref
	Version int64
	Body    string
	Place   row.Place
}

func (f *fixture) get(refs ...row.Ref) []seen {
	f.t.Helper()
	rows, err := f.e.Get(f.ctx, refs)
	f.check(err)
	if len(rows) != len(refs) {
		f.t.Fatalf("got %d rows of %d refs", len(rows), len(refs))
	}
	got := make([]seen, len(rows))
	for i, r := range rows {
		if r.Version != 0 {
			got[i] = seen{Ref: r.Ref, Version: r.Version, Body: string(r.Body)}
		}
	}
	return got
}

// is expects a row to be as it was put.
func (f *fixture) is(what string, want row.Row) {
	f.t.Helper()
	same(f, what, f.get(want.Ref), []seen{{Ref: want.Ref, Version: want.Version, Body: string(want.Body)}})
}

func (f *fixture) isMissing(what string, refs ...row.Ref) {
	f.t.Helper()
	same(f, what, f.get(refs...), make([]seen, len(refs)))
}

// page scans one range, and checks what holds for every page.
func (f *fixture) page(r row.Range) row.Page {
	f.t.Helper()
	pages, err := f.e.Scan(f.ctx, []row.Range{r})
	f.check(err)
	if len(pages) != 1 {
		f.t.Fatalf("got %d pages of one range", len(pages))
	}
	if n := len(pages[0].Rows); n > r.Limit || n < r.Limit && pages[0].More {
		f.t.Errorf("scan %+v: got %d rows and More %t", r, n, pages[0].More)
	}
	return pages[0]
}

// all scans a range without a limit to speak of.
func (f *fixture) all(r row.Range) []row.Row {
	f.t.Helper()
	r.Limit = 1000
	page := f.page(r)
	if page.More {
		f.t.Fatalf("scan %+v: more than 1000 rows", r)
	}
	return page.Rows
}

// keys are the keys of all rows of a range.
func (f *fixture) keys(r row.Range) (keys []string) {
	f.t.Helper()
	for _, row := range f.all(r) {
		keys = append(keys, row.Key)
	}
	return keys
}

// listed expects a list over all partitions to hold the rows with these keys.
func (f *fixture) listed(index row.Index, list string, keys ...string) {
	f.t.Helper()
	same(f, fmt.Sprintf("list %q of index %d", list, index), f.keys(row.Range{Kind: kind, Index: index, List: list}), keys)
}

// events reads the log of events, oldest first.
func (f *fixture) events(part string) []row.Row {
	f.t.Helper()
	return f.all(row.Range{Kind: row.Events, Part: part, Index: row.Ordered, List: "events"})
}

// bodies are rows by what is in them.
func bodies(rows []row.Row) (out []string) {
	for _, r := range rows {
		out = append(out, string(r.Body))
	}
	return out
}

func ref(part, key string) row.Ref { return row.Ref{Kind: kind, Part: part, Key: key} }

// at is a row with a version, and a body that tells it from others.
func at(r row.Ref, version int64) row.Row {
	return row.Row{Ref: r, Version: version, Body: fmt.Appendf(nil, `{"key":%q,"version":%d}`, r.Key, version)}
}

// placed is r with a place in an index.
func placed(r row.Row, index row.Index, list, key string) row.Row {
	r.Places[index] = row.Place{List: list, Key: key}
	return r
}

func put(r row.Row, condition int64) row.Op { return row.Op{Do: row.Put, If: condition, Row: r} }

func del(r row.Ref, condition int64) row.Op {
	return row.Op{Do: row.Delete, If: condition, Row: row.Row{Ref: r}}
}

func check(r row.Ref, condition int64) row.Op {
	return row.Op{Do: row.Check, If: condition, Row: row.Row{Ref: r}}
}

// event is one about a part, with a body that tells it from others.
func event(part, id string) row.Event {
	return row.Event{ID: id, Part: part, Type: "job", At: noon, Body: fmt.Appendf(nil, `{"id":%q}`, id)}
}

func eventBody(id string) string { return fmt.Sprintf(`{"id":%q}`, id) }

// changing is op with a change.
func changing(op row.Op, body string) row.Op {
	op.Change = []byte(body)
	return op
}
