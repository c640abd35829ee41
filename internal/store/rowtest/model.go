package rowtest

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/store/row"
)

// checkModel makes random calls to an engine and to the model, and compares what they return and
// what they hold then.
func checkModel(t *testing.T, open func(t *testing.T) row.Engine, o Options) {
	if o.Slow {
		Shorten(t)
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := &walker{
			f: &fixture{t: rt, tt: t, e: open(t), ctx: t.Context(), o: o}, m: newModel(),
			acked: [2]map[int64]bool{{}, {}}, held: [2][]row.Change{},
		}
		defer func() {
			if err := w.f.e.Close(); err != nil {
				rt.Errorf("close: %v", err)
			}
		}()
		actions := map[string]func(*rapid.T){
			"apply": w.apply, "again": w.again, "drop": w.drop, "dropEvent": w.dropEvent, "scan": w.scan,
			"receive": w.receive, "ack": w.ack, "": w.compare,
		}
		if o.Reopen != nil && !o.Slow {
			actions["reopen"] = w.reopen
		}
		rt.Repeat(actions)
	})
}

// Shorten makes the random walks of a test fewer and shorter.
func Shorten(t *testing.T) {
	set(t, "rapid.checks", "5")
	set(t, "rapid.steps", "20")
}

// set gives a flag another value for the rest of the test.
func set(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	before := f.Value.String()
	t.Cleanup(func() { _ = f.Value.Set(before) }) // it had that value
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
}

// model is the naive engine: everything is compared with everything.
type model struct {
	rows    map[row.Ref]row.Row
	applied map[string]bool
	events  []row.Event
	changes []string
}

func newModel() *model { return &model{rows: map[row.Ref]row.Row{}, applied: map[string]bool{}} }

// apply returns the op whose condition does not hold; -1 if all hold.
func (m *model) apply(tx row.Tx) int {
	if tx.ID != "" && m.applied[tx.ID] {
		return -1
	}
	for i, op := range tx.Ops {
		if op.If == row.Never || op.If >= 0 && m.rows[op.Row.Ref].Version != op.If {
			return i
		}
	}
	m.applied[tx.ID] = true
	for _, op := range tx.Ops {
		if op.If == row.First && m.rows[op.Row.Ref].Version > 0 {
			continue
		}
		switch op.Do {
		case row.Put:
			m.rows[op.Row.Ref] = op.Row
		case row.Delete:
			delete(m.rows, op.Row.Ref)
		}
		if op.Change != nil {
			m.changes = append(m.changes, string(op.Change))
		}
	}
	for _, e := range tx.Events {
		if !slices.ContainsFunc(m.events, func(other row.Event) bool { return other.ID == e.ID }) {
			m.events = append(m.events, e)
		}
	}
	return -1
}

// scan returns all rows of a range, whatever its limit.
func (m *model) scan(r row.Range) (found []seen) {
	for _, row := range m.rows {
		s := seen{Ref: row.Ref, Version: row.Version, Body: string(row.Body)}
		at, wanted := row.Key, row.Part == r.Part
		if r.List != "" {
			s.Place = row.Places[r.Index]
			at, wanted = s.Place.Key, s.Place.List == r.List && (r.Part == "" || wanted) && !slices.Contains(r.Except, row.Tag)
		}
		if wanted && row.Kind == r.Kind && at >= r.From && (r.To == "" || at < r.To) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.Place.Key, b.Place.Key), cmp.Compare(a.Ref.Key, b.Ref.Key))
	})
	if r.Backwards {
		slices.Reverse(found)
	}
	return found
}

// walker makes the calls.
type walker struct {
	f     *fixture
	m     *model
	sent  []row.Tx
	ids   int
	acked [2]map[int64]bool // by group, as are the changes that it holds
	held  [2][]row.Change
}

// The names that the walk uses: few, so that calls meet.
var (
	modelRefs = []row.Ref{
		ref("orders", "a"), ref("orders", "a#"), ref("orders", "b"), ref("silver", "a"), ref("silver", "c"),
		{Kind: "mark", Key: "a"},
		{Kind: "mark", Key: "b"},
	}
	modelEvents = []string{"one", "two", "three", "four", "five", "six"}
	modelLists  = []string{"", "l", "l", "m"}
	modelTags   = []string{"", "x", "y"}
	modelGroups = []string{"router", "archive"}
	modelParts  = []string{"orders", "silver", ""}
)

func pick[T any](t *rapid.T, name string, of []T) T { return rapid.SampledFrom(of).Draw(t, name) }

func often(t *rapid.T, name string, n int) bool { return rapid.IntRange(0, n-1).Draw(t, name) > 0 }

func (w *walker) apply(t *rapid.T) {
	w.ids++
	tx := row.Tx{ID: fmt.Sprint("tx/", w.ids)}
	if !often(t, "named", 4) {
		tx.ID = ""
	}
	for _, r := range rapid.Permutation(modelRefs).Draw(t, "refs")[:rapid.IntRange(0, 4).Draw(t, "ops")] {
		tx.Ops = append(tx.Ops, w.drawOp(t, r))
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		tx.Events = append(tx.Events, event(pick(t, "part", modelParts), pick(t, "event", modelEvents)))
	}
	if tx.ID != "" { // without one, a change that was appended twice could not be told apart
		w.sent = append(w.sent, tx)
	}
	w.send(tx)
}

func (w *walker) drawOp(t *rapid.T, r row.Ref) row.Op {
	version := w.m.rows[r].Version
	op := row.Op{Row: at(r, version+1), If: version}
	op.Do = pick(t, "do", []row.Do{row.Put, row.Put, row.Put, row.Delete, row.Check})
	if !often(t, "usual", 3) {
		op.If = pick(t, "if", []int64{0, version + 1, row.Any, row.Any, row.Any, row.First, row.Never})
	}
	if op.Do != row.Put {
		if op.Row = (row.Row{Ref: r}); op.If == row.First {
			op.If = row.Any
		}
		return op
	}
	op.Row.Body = fmt.Appendf(nil, `{"by":%d}`, w.ids)
	for i := range op.Row.Places {
		if list := pick(t, "list", modelLists); list != "" {
			place := rapid.IntRange(1, 3).Draw(t, "place")
			op.Row.Places[i] = row.Place{List: list, Key: fmt.Sprintf("%d#%s#%s", place, r.Part, r.Key)}
		}
	}
	op.Row.Tag = pick(t, "tag", modelTags)
	if often(t, "change", 2) {
		op.Change = fmt.Appendf(nil, "%d/%s", w.ids, r)
	}
	return op
}

func (w *walker) send(tx row.Tx) {
	if want := w.m.apply(tx); want >= 0 {
		w.f.conflicts("apply", tx, want)
		return
	}
	w.f.check(w.f.e.Apply(w.f.ctx, tx, noon))
}

// again applies a transaction a second time, as a caller does that has not heard of the first.
func (w *walker) again(t *rapid.T) {
	if len(w.sent) == 0 {
		t.Skip("nothing was applied")
	}
	w.send(pick(t, "which", w.sent[max(0, len(w.sent)-4):]))
}

func (w *walker) drop(t *rapid.T) {
	r := at(pick(t, "ref", modelRefs), 1)
	r.Version = max(1, w.m.rows[r.Ref].Version+int64(pick(t, "off", []int{0, 0, -1, 1})))
	want := 0
	if w.m.rows[r.Ref].Version == r.Version {
		delete(w.m.rows, r.Ref)
		want = 1
	}
	w.f.drop(want, r)
}

func (w *walker) dropEvent(t *rapid.T) {
	if len(w.m.events) == 0 {
		t.Skip("no events")
	}
	i := rapid.IntRange(0, len(w.m.events)-1).Draw(t, "event")
	w.f.drop(1, w.f.events("")[i])
	w.m.events = slices.Delete(w.m.events, i, i+1)
}

func (w *walker) scan(t *rapid.T) {
	r := row.Range{Kind: pick(t, "kind", []row.Kind{kind, kind, "mark"}), Backwards: rapid.Bool().Draw(t, "backwards")}
	if r.Kind == kind {
		r.Part = pick(t, "part", modelParts[:2])
	}
	bound := []string{"", "", "a", "a#", "b"}
	if r.List = pick(t, "list", modelLists); r.List == "" && r.Kind != kind {
		r.List = "l" // marks are not scanned by key
	}
	if r.List != "" {
		bound = []string{"", "", "1", "2#", "2#orders#b", "3"}
		r.Except = rapid.SliceOfN(rapid.SampledFrom(modelTags[1:]), 0, 2).Draw(t, "except")
		r.Index = pick(t, "index", []row.Index{row.Ordered, row.Pending, row.Aging})
		if r.Index == row.Aging || rapid.Bool().Draw(t, "all") {
			r.Part = ""
		}
	}
	r.From, r.To = pick(t, "from", bound), pick(t, "to", bound)
	r.Limit = rapid.IntRange(1, 6).Draw(t, "limit")
	want, page := w.m.scan(r), w.f.page(r)
	if len(want) > r.Limit && !page.More {
		t.Errorf("scan %+v: More is false although there are %d rows", r, len(want))
	}
	same(w.f, fmt.Sprintf("scan %+v", r), sees(page.Rows, r), want[:min(len(want), r.Limit)])
}

// sees are rows as a range has to return them.
func sees(rows []row.Row, r row.Range) (out []seen) {
	for _, row := range rows {
		s := seen{Ref: row.Ref, Version: row.Version, Body: string(row.Body)}
		if r.List != "" {
			s.Place = row.Places[r.Index]
		}
		out = append(out, s)
	}
	return out
}

// open returns the changes that a group has not acknowledged and does not hold.
func (w *walker) open(group int) (open []string) {
	closed := map[string]bool{}
	for _, c := range w.held[group] {
		closed[string(c.Body)] = true
	}
	for i, c := range w.m.changes {
		if !closed[c] && !w.acked[group][int64(i)] {
			open = append(open, c)
		}
	}
	return open
}

func (w *walker) receive(t *rapid.T) {
	group := rapid.IntRange(0, 1).Draw(t, "group")
	open := w.open(group)
	if len(open) == 0 {
		t.Skip("nothing to receive")
	}
	consumer, limit := pick(t, "consumer", []string{"one", "two"}), rapid.IntRange(1, 5).Draw(t, "limit")
	got := w.f.receiveAs(modelGroups[group], consumer, limit)
	same(w.f, "received", changed(got), open[:min(len(open), len(got))])
	w.held[group] = append(w.held[group], got...)
}

func (w *walker) ack(t *rapid.T) {
	group := rapid.IntRange(0, 1).Draw(t, "group")
	held := w.held[group]
	if len(held) == 0 {
		t.Skip("nothing is held")
	}
	some := rapid.Permutation(held).Draw(t, "order")[:rapid.IntRange(1, min(3, len(held))).Draw(t, "how many")]
	w.f.ack(modelGroups[group], some...)
	for _, c := range some {
		w.acked[group][int64(slices.Index(w.m.changes, string(c.Body)))] = true
		w.held[group] = slices.DeleteFunc(w.held[group], func(h row.Change) bool { return h.Position == c.Position })
	}
}

func (w *walker) reopen(*rapid.T) {
	w.f.reopen()
	w.held = [2][]row.Change{}
}

// compare compares all that the engine holds.
func (w *walker) compare(*rapid.T) {
	var want []seen
	for _, r := range modelRefs {
		s := seen{}
		if row, exists := w.m.rows[r]; exists {
			s = seen{Ref: r, Version: row.Version, Body: string(row.Body)}
		}
		want = append(want, s)
	}
	same(w.f, "rows", w.f.get(modelRefs...), want)
	for _, part := range modelParts {
		var events []string
		for _, e := range w.m.events {
			if part == "" || e.Part == part {
				events = append(events, string(e.Body))
			}
		}
		same(w.f, "events", bodies(w.f.events(part)), events)
	}
	for i, group := range modelGroups {
		same(w.f, "backlog of "+group, w.f.backlog(group), len(w.m.changes)-len(w.acked[i]))
	}
}
