package rowtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

var changeClaims = []claim{
	{"AppendedInTheOrderOfCommits", changesInOrder},
	{"OnlyWhatHappenedIsAChange", onlyWhatHappened},
	{"ReceivedOldestFirst", oldestFirst},
	{"HeldByOneConsumer", heldByOne},
	{"EachGroupHasItsOwnPlace", ownPlace},
	{"GroupBeginsAtTheOldestChange", beginsAtOldest},
	{"AckedOutOfOrderPassesNothing", ackedOutOfOrder},
	{"AckedTwiceIsFine", ackedTwice},
	{"BacklogCountsWhatIsNotAcked", backlogCounts},
	{"BacklogMakesNoGroup", backlogMakesNoGroup},
	{"TrimKeepsWhatAGroupNeeds", trimKeeps},
	{"ReceiveWaitsForAChange", receiveWaits},
	{"ReceiveEndsWithItsContext", receiveEnds},
	{"CloseEndsReceive", closeEnds},
	{"AChangeIsHeldByOne", changeByOne},
}

// write appends changes, each in its own transaction.
func (f *fixture) write(changes ...string) {
	f.t.Helper()
	for _, c := range changes {
		f.apply(changing(put(at(ref("orders", "a"), 1), row.Any), c))
	}
}

func (f *fixture) receive(group string, limit int) []row.Change {
	f.t.Helper()
	return f.receiveAs(group, "one", limit)
}

func (f *fixture) receiveAs(group, consumer string, limit int) []row.Change {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, guard)
	defer cancel()
	changes, err := f.e.Receive(ctx, group, consumer, limit)
	f.check(err)
	if n := len(changes); n == 0 || n > limit {
		f.t.Fatalf("received %d changes, want 1 to %d", n, limit)
	}
	return changes
}

// receiveAll receives until there were n.
func (f *fixture) receiveAll(group string, n int) (all []row.Change) {
	f.t.Helper()
	for len(all) < n {
		all = append(all, f.receive(group, n-len(all))...)
	}
	return all
}

// receivesNothing expects that a consumer receives nothing but what is written now.
func (f *fixture) receivesNothing(group, consumer string) {
	f.t.Helper()
	f.write("probe")
	got := f.receiveAs(group, consumer, 10)
	same(f, consumer+" of "+group+" received", changed(got), []string{"probe"})
	f.ack(group, got...)
}

func (f *fixture) ack(group string, changes ...row.Change) {
	f.t.Helper()
	f.check(f.e.Ack(f.ctx, group, changes))
}

func (f *fixture) backlog(group string) int {
	f.t.Helper()
	n, _, err := f.e.Backlog(f.ctx, group)
	f.check(err)
	return n
}

// changed are changes by what is in them.
func changed(changes []row.Change) (out []string) {
	for _, c := range changes {
		out = append(out, string(c.Body))
	}
	return out
}

func changesInOrder(f *fixture) {
	f.apply(changing(put(at(ref("orders", "a"), 1), 0), `{"n":1}`), changing(put(at(ref("silver", "b"), 1), 0), `{"n":2}`))
	later := noon.Add(time.Hour)
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Ops: []row.Op{changing(del(ref("orders", "a"), 1), `{"n":3}`)}}, later))
	got := f.receiveAll("router", 3)
	last := int64(0)
	for i := range got {
		if got[i].Position <= last {
			f.t.Errorf("position %d came after %d", got[i].Position, last)
		}
		last, got[i].Position = got[i].Position, 0
	}
	same(f, "changes", got, []row.Change{
		{At: noon, Body: []byte(`{"n":1}`)}, {At: noon, Body: []byte(`{"n":2}`)}, {At: later, Body: []byte(`{"n":3}`)},
	})
}

func onlyWhatHappened(f *fixture) {
	a, b := ref("orders", "a"), ref("orders", "b")
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Ops: []row.Op{changing(put(at(a, 1), row.First), "first")}}, noon))
	f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Ops: []row.Op{changing(put(at(a, 1), row.First), "again")}}, noon))
	f.apply(changing(put(at(a, 1), row.First), "exists"), changing(put(at(b, 1), row.First), "beside it"))
	f.apply(put(at(b, 2), 1))
	f.conflicts("stale", row.Tx{Ops: []row.Op{
		changing(put(at(a, 9), row.Any), "before"), changing(put(at(b, 2), 1), "stale"),
	}}, 1)
	f.drop(1, at(b, 2))
	same(f, "backlog", f.backlog("router"), 2)
	same(f, "changes", changed(f.receiveAll("router", 2)), []string{"first", "beside it"})
	f.receivesNothing("router", "one")
}

func oldestFirst(f *fixture) {
	want := []string{"a", "b", "c", "d", "e", "f", "g"}
	f.write(want...)
	var got []string
	for _, limit := range []int{1, 2, 3, 1} {
		got = append(got, changed(f.receive("router", limit))...)
	}
	same(f, "changes", got, want)
}

func heldByOne(f *fixture) {
	f.write("a", "b", "c")
	first := f.receiveAs("router", "one", 2)
	second := f.receiveAs("router", "two", 2)
	same(f, "first", changed(first), []string{"a", "b"})
	same(f, "second", changed(second), []string{"c"})
	f.receivesNothing("router", "one")
	f.receivesNothing("router", "two")
	f.receivesNothing("router", "three")
	f.ack("router", second...)
	f.receivesNothing("router", "two")
	same(f, "backlog", f.backlog("router"), 2)
}

func ownPlace(f *fixture) {
	f.write("a", "b")
	f.ack("router", f.receiveAll("router", 2)...)
	same(f, "another group", changed(f.receiveAll("archive", 2)), []string{"a", "b"})
	same(f, "backlogs", []int{f.backlog("router"), f.backlog("archive")}, []int{0, 2})
	f.receivesNothing("router", "one")
}

func beginsAtOldest(f *fixture) {
	f.write("a")
	f.ack("router", f.receive("router", 1)...)
	f.write("b")
	same(f, "before it exists", f.backlog("archive"), 2)
	same(f, "a group that was created later", changed(f.receiveAll("archive", 2)), []string{"a", "b"})
}

func ackedOutOfOrder(f *fixture) {
	f.write("a", "b", "c")
	got := f.receiveAll("router", 3)
	f.ack("router", got[2])
	same(f, "after the last", f.backlog("router"), 2)
	f.ack("router", got[1])
	n, oldest, err := f.e.Backlog(f.ctx, "router")
	f.check(err)
	same(f, "after the one before", n, 1)
	same(f, "oldest", oldest, &got[0])
	f.write("d")
	next := f.receive("router", 10)
	same(f, "received", changed(next), []string{"d"})
	f.ack("router", next...)
	same(f, "backlog", f.backlog("router"), 1)
	f.ack("router", got[0])
	same(f, "backlog at last", f.backlog("router"), 0)
}

func ackedTwice(f *fixture) {
	f.write("a", "b", "c")
	got := f.receiveAll("router", 2)
	f.ack("router", got[1])
	f.ack("router", got[1], got[1])
	f.ack("router", got[0])
	f.ack("router", got...)
	f.ack("router")
	same(f, "backlog", f.backlog("router"), 1)
	same(f, "the third", changed(f.receive("router", 10)), []string{"c"})
}

func backlogCounts(f *fixture) {
	expect := func(n int, oldest string) {
		f.t.Helper()
		got, first, err := f.e.Backlog(f.ctx, "router")
		f.check(err)
		same(f, "backlog", got, n)
		if first == nil {
			first = &row.Change{}
		}
		same(f, "oldest", string(first.Body), oldest)
	}
	expect(0, "")
	f.write("a", "b")
	expect(2, "a")
	got := f.receive("router", 1)
	expect(2, "a")
	f.ack("router", got...)
	expect(1, "b")
	f.ack("router", f.receive("router", 1)...)
	expect(0, "")
}

func backlogMakesNoGroup(f *fixture) {
	f.write("a", "b")
	same(f, "backlog", f.backlog("archive"), 2)
	f.ack("router", f.receiveAll("router", 2)...)
	f.trim(noon)
	same(f, "backlog after all groups have acknowledged all", f.backlog("archive"), 0)
}

func trimKeeps(f *fixture) {
	f.write("a", "b", "c", "d")
	f.trim(noon)
	same(f, "without a group", f.backlog("router"), 4)
	got := f.receiveAll("router", 4)
	f.ack("router", got[0], got[1], got[3])
	f.ack("archive", f.receive("archive", 1)...)
	f.trim(noon)
	same(f, "a new group begins with", changed(f.receive("third", 1)), []string{"b"})
	same(f, "backlogs", []int{f.backlog("router"), f.backlog("archive")}, []int{1, 3})
	same(f, "archive goes on", changed(f.receiveAll("archive", 3)), []string{"b", "c", "d"})
}

// receiveWaits writes only once the change before was received, so that the consumer is mostly
// there first.
func receiveWaits(f *fixture) {
	rounds := 100
	if f.o.Slow {
		rounds = 20
	}
	got := make(chan error)
	go func() {
		for range rounds {
			ctx, cancel := context.WithTimeout(f.ctx, guard)
			changes, err := f.e.Receive(ctx, "router", "one", 10)
			cancel()
			if err == nil && len(changes) != 1 {
				err = fmt.Errorf("received %d changes, want 1", len(changes))
			}
			got <- err
		}
	}()
	for n := range rounds {
		for range 10 {
			runtime.Gosched()
		}
		f.write(fmt.Sprint(n))
		f.check(<-got)
	}
}

// receiving receives in another goroutine.
func receiving(ctx context.Context, f *fixture) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := f.e.Receive(ctx, "router", "one", 10)
		ended <- err
	}()
	return ended
}

// ends expects an error soon.
func (f *fixture) ends(ended <-chan error) error {
	f.t.Helper()
	select {
	case err := <-ended:
		if err == nil {
			f.t.Error("receive ended without an error")
		}
		return err
	case <-time.After(guard):
		f.t.Fatal("receive goes on")
		return nil
	}
}

func receiveEnds(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	ended := receiving(ctx, f)
	cancel()
	if err := f.ends(ended); !errors.Is(err, context.Canceled) {
		f.t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func closeEnds(f *fixture) {
	ended := receiving(f.ctx, f)
	f.check(f.e.Close())
	if err := f.ends(ended); errors.Is(err, store.ErrConflict) || errors.Is(err, context.Canceled) {
		f.t.Errorf("error %v", err)
	}
}

var waitClaims = []claim{
	{"TaskWakesWaiters", taskWakes},
	{"QuietOpWakesNoWaiter", quietWakesNone},
	{"EventWakesWaiters", eventWakes},
	{"ClosedEngineRefusesAll", closedRefuses},
	{"ProcessHasAName", hasName},
}

// wakes expects do to close the channel of a topic.
func (f *fixture) wakes(what string, topic row.Topic, do func()) {
	f.t.Helper()
	changed := f.e.Changed(topic)
	do()
	select {
	case <-changed:
	case <-time.After(guard):
		f.t.Errorf("%s woke no waiter", what)
	}
}

// wakesNone expects do not to close the channel. It does not wait, so it sees only what an engine
// does during the call.
func (f *fixture) wakesNone(what string, topic row.Topic, do func()) {
	f.t.Helper()
	changed := f.e.Changed(topic)
	do()
	select {
	case <-changed:
		f.t.Errorf("%s woke a waiter", what)
	default:
	}
}

var task = row.Ref{Kind: row.Tasks, Key: "advance/orders"}

func taskWakes(f *fixture) {
	f.wakes("create", row.TaskTopic, func() { f.apply(put(at(task, 1), 0)) })
	f.wakes("replace", row.TaskTopic, func() {
		ops := []row.Op{put(at(ref("orders", "a"), 1), 0), put(at(task, 2), 1)}
		f.check(f.e.Apply(f.ctx, row.Tx{ID: "x", Ops: ops}, noon))
	})
	f.wakes("delete", row.TaskTopic, func() { f.apply(del(task, 2)) })
}

func quietWakesNone(f *fixture) {
	quiet := put(at(task, 1), 0)
	quiet.Quiet = true
	f.wakesNone("a quiet op", row.TaskTopic, func() { f.apply(quiet) })
	f.wakesNone("another kind", row.TaskTopic, func() { f.apply(put(at(ref("orders", "a"), 1), 0)) })
	f.wakesNone("a check", row.TaskTopic, func() { f.apply(check(task, 1)) })
	f.wakesNone("a task", row.EventTopic, func() { f.apply(put(at(task, 2), 1)) })
}

func eventWakes(f *fixture) {
	f.wakes("the first", row.EventTopic, func() { f.emit(event("orders", "one")) })
	f.wakes("the second", row.EventTopic, func() { f.emit(event("", "two")) })
}

func closedRefuses(f *fixture) {
	a := at(ref("orders", "a"), 1)
	f.apply(put(a, 0))
	f.check(f.e.Close())
	f.check(f.e.Close())
	errs := map[string]error{"apply": f.e.Apply(f.ctx, row.Tx{Ops: []row.Op{put(a, 0)}}, noon)}
	_, errs["get"] = f.e.Get(f.ctx, []row.Ref{a.Ref})
	_, errs["scan"] = f.e.Scan(f.ctx, []row.Range{{Kind: kind, Part: "orders", Limit: 1}})
	_, errs["next"] = f.e.Next(f.ctx, 1)
	_, errs["drop"] = f.e.Drop(f.ctx, []row.Row{a})
	_, errs["trim"] = f.e.Trim(f.ctx, noon, 1)
	_, errs["receive"] = f.e.Receive(f.ctx, "router", "one", 1)
	errs["ack"] = f.e.Ack(f.ctx, "router", []row.Change{{Position: 1}})
	_, _, errs["backlog"] = f.e.Backlog(f.ctx, "router")
	for name, err := range errs {
		if err == nil || errors.Is(err, store.ErrConflict) {
			f.t.Errorf("%s after close: error %v", name, err)
		}
	}
}

func hasName(f *fixture) {
	p := f.e.Peers()
	if p.Self == "" {
		f.t.Error("the process has no name")
	}
	if p.Alive != nil && !p.Alive(p.Self) {
		f.t.Error("the process is not alive")
	}
}
