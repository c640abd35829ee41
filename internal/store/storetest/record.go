package storetest

import (
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

var recordClaims = []claim{
	{"EveryFieldSurvives", everyFieldSurvives},
	{"InstantsComeBackInUTC", instantsInUTC},
	{"RecordsBelongToTheirHolders", recordsAreCopies},
	{"WhatIsNotThereIsNotFound", notFound},
	{"FirstConfigOfAVersionStays", firstConfigStays},
	{"ConfigsAreListedNewestFirstWithoutTexts", configsListed},
	{"PipelinesAreListedByID", pipelinesListed},
	{"FirstSnapshotOfAnIDStays", firstSnapshotStays},
	{"JobLogIsInOrderAndWithoutRepeats", jobLog},
	{"RerunsAreInOrderAndWithoutRepeats", reruns},
	{"LogsAndRerunsOfManyRuns", logsOfMany},
	{"DeadlinesAreListedBySoonestBreach", deadlinesListed},
	{"DeadlinesComeInPages", deadlinePages},
	{"DeadLettersAreReplacedAndBuried", deadLetters},
}

// everyFieldSurvives hands over records in which every field has a value, and compares all of them.
func everyFieldSurvives(f *fixture) {
	var in everything
	var r run.Run
	fill(&r)
	r.Key, r.Version, r.Status = orders, 1, run.Running
	var dry run.Run
	fill(&dry)
	dry.Key, dry.Version, dry.Status = orders, 1, run.Pending
	var p store.Pipeline
	fill(&p)
	p.ID, p.Version = "orders", 1
	var c store.Config
	fill(&c)
	c.Pipeline, c.Version = "orders", "v1"
	var d store.Deadline
	fill(&d)
	d.Key, d.Kind, d.Version, d.State = orders, store.Absolute, 1, sla.Armed
	var entry store.JobEntry
	fill(&entry)
	entry.Key = orders
	var s store.Snapshot
	fill(&s)
	s.ID, s.Key = "s1", orders
	var post store.PostRun
	fill(&post)
	post.Key, post.Version = orders, 1
	var again store.Rerun
	fill(&again)
	again.Key = orders
	var task store.Task
	fill(&task)
	task.ID, task.Key = "a", orders
	var note store.Note
	fill(&note)
	note.Kind, note.Version = store.ThreadNote, 1
	dead := store.DeadLetter{
		Sink: "hook", Event: newEvent(orders, "dead", noon), Reason: "gone", Tries: 7, At: after(time.Hour), Count: 3, Since: after(time.Minute),
	}

	f.commit(func(b *store.Batch) {
		b.Create(r)
		b.Swap(run.Run{}, dry)
		b.SwapPipeline(store.Pipeline{}, p)
		b.SwapDeadline(store.Deadline{}, d)
		b.SwapPostRun(store.PostRun{}, post)
	})
	f.commit(func(b *store.Batch) {
		b.Configs = append(b.Configs, c)
		b.Append(entry)
		b.Snapshots = append(b.Snapshots, s)
		b.Reruns = append(b.Reruns, again)
		b.Schedule(task)
		b.Dead = append(b.Dead, dead)
		b.SwapNote(store.Note{}, note)
		b.Emit(newEvent(orders, "one", noon))
	})

	in.Runs, in.DryRuns, in.Pipelines = []run.Run{r}, []run.Run{dry}, []store.Pipeline{p}
	in.Configs, in.Deadlines, in.Log = []store.Config{c}, []store.Deadline{d}, []store.JobEntry{entry}
	in.Snapshots, in.PostRuns, in.Reruns = []store.Snapshot{s}, []store.PostRun{post}, []store.Rerun{again}
	in.Tasks, in.Dead, in.Notes = []store.Task{task}, []store.DeadLetter{dead}, []store.Note{note}
	got := f.everything()
	f.same("event", got.Events[0].Event, newEvent(orders, "one", noon))
	got.Events, got.NextDue, got.Current, got.Backlog, got.Oldest = nil, in.NextDue, nil, 0, in.Oldest
	f.same("records", got, in)
	if got.Runs[0] != r {
		f.t.Errorf("the run is not == what was stored: %+v", got.Runs[0])
	}
}

func instantsInUTC(f *fixture) {
	east := time.FixedZone("east", 3*3600)
	f.commitAt(noon.In(east), func(b *store.Batch) { b.Schedule(taskFor("a", noon.In(east))) })
	put := f.put(noon.In(east), write("", 1))[0]
	task, reading := f.task("a"), f.history("rows")[0]
	due, err := f.s.NextDue(f.ctx, store.ClaimQuery{})
	f.check(err)
	change := f.receive("router", 1)[0]
	for name, got := range map[string]time.Time{
		"due": task.Due, "updatedAt": put.UpdatedAt, "reading": reading.UpdatedAt, "next due": due, "change": change.At,
	} {
		if got != noon {
			f.t.Errorf("%s came back as %#v, want %#v", name, got, noon)
		}
	}
	if !reading.ExpiresAt.IsZero() {
		f.t.Errorf("a reading that does not expire came back with %s", reading.ExpiresAt)
	}
}

func recordsAreCopies(f *fixture) {
	slots := []run.AttemptID{"one", "two"}
	w := write("", 1)
	list := []any{int64(1)}
	w.Reading.Fields["list"] = list
	f.commit(func(b *store.Batch) { b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders", Slots: slots}) })
	f.put(noon, w)
	slots[0], list[0] = "changed", "changed"
	for range 2 {
		p, err := f.s.Pipeline(f.ctx, "orders")
		f.check(err)
		f.same("slots", p.Slots, []run.AttemptID{"one", "two"})
		p.Slots[0] = "changed"
		got := f.history("rows")[0]
		f.same("list", got.Fields["list"], []any{int64(1)})
		got.Fields["list"].([]any)[0] = "changed"
		got.Fields["count"] = "changed"
	}
}

func notFound(f *fixture) {
	_, err := f.s.Run(f.ctx, orders)
	f.wantErr("run", err, store.ErrNotFound)
	_, err = f.s.DryRun(f.ctx, orders)
	f.wantErr("dry run", err, store.ErrNotFound)
	_, err = f.s.Pipeline(f.ctx, "orders")
	f.wantErr("pipeline", err, store.ErrNotFound)
	_, err = f.s.Config(f.ctx, "orders", "v1")
	f.wantErr("config", err, store.ErrNotFound)
	_, err = f.s.Snapshot(f.ctx, "s1")
	f.wantErr("snapshot", err, store.ErrNotFound)
	_, err = f.s.PostRun(f.ctx, orders)
	f.wantErr("post-run", err, store.ErrNotFound)
	_, err = f.s.Note(f.ctx, store.ThreadNote, "a")
	f.wantErr("note", err, store.ErrNotFound)
	f.noTask("a")
	got := f.everything()
	got.Current = nil
	f.same("an empty store", got, everything{})
}

func firstConfigStays(f *fixture) {
	config := func(at time.Time, text string) store.Config {
		return store.Config{Pipeline: "orders", Version: "v1", At: at, File: pipeline.Source{File: "orders.yaml", Data: []byte(text)}}
	}
	f.commit(func(b *store.Batch) { b.Configs = append(b.Configs, config(noon, "first")) })
	f.commit(func(b *store.Batch) { b.Configs = append(b.Configs, config(after(time.Hour), "second")) })
	got, err := f.s.Config(f.ctx, "orders", "v1")
	f.check(err)
	f.same("config", got, config(noon, "first"))
}

func configsListed(f *fixture) {
	add := func(id pipeline.ID, version string, at time.Time) {
		f.commit(func(b *store.Batch) {
			b.Configs = append(b.Configs, store.Config{
				Pipeline: id, Version: version, At: at,
				File:      pipeline.Source{File: "orders.yaml", Data: []byte("text")},
				Calendars: []pipeline.Source{{File: "uk.yaml", Data: []byte("text")}},
			})
		})
	}
	add("orders", "b", noon)
	add("orders", "c", after(time.Second))
	add("orders", "a", noon)
	add("orders-2", "d", noon)
	got, err := f.s.Configs(f.ctx, "orders")
	f.check(err)
	listed := func(version string, at time.Time) store.Config {
		return store.Config{
			Pipeline: "orders", Version: version, At: at,
			File: pipeline.Source{File: "orders.yaml"}, Calendars: []pipeline.Source{{File: "uk.yaml"}},
		}
	}
	f.same("configs", got, []store.Config{listed("c", after(time.Second)), listed("a", noon), listed("b", noon)})
}

func pipelinesListed(f *fixture) {
	for _, id := range []pipeline.ID{"b", "a.b", "a-b", "c", "a"} {
		f.commit(func(b *store.Batch) { b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: id, Config: "v1"}) })
	}
	f.commit(func(b *store.Batch) {
		b.SwapPipeline(store.Pipeline{Version: 1}, store.Pipeline{ID: "c", RemovedAt: noon})
	})
	all, err := f.s.Pipelines(f.ctx)
	f.check(err)
	var ids []pipeline.ID
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	f.same("ids", ids, []pipeline.ID{"a", "a-b", "a.b", "b", "c"})
	var each []store.Pipeline
	f.check(f.s.EachPipeline(f.ctx, func(p store.Pipeline) error {
		each = append(each, p)
		return nil
	}))
	f.same("one by one", each, all)
	enough := errors.New("enough")
	if err := f.s.EachPipeline(f.ctx, func(store.Pipeline) error { return enough }); !errors.Is(err, enough) {
		f.t.Errorf("got %v", err)
	}
}

func firstSnapshotStays(f *fixture) {
	for _, config := range []string{"first", "second"} {
		f.commit(func(b *store.Batch) {
			b.Snapshots = append(b.Snapshots, store.Snapshot{ID: "s1", Key: orders, Config: config})
		})
	}
	got, err := f.s.Snapshot(f.ctx, "s1")
	f.check(err)
	f.same("config", got.Config, "first")
}

func jobLog(f *fixture) {
	entry := func(key run.Key, attempt, try int, e store.JobEvent, at time.Time, message string) {
		f.commit(func(b *store.Batch) {
			b.Append(store.JobEntry{Key: key, Attempt: attempt, Try: try, Event: e, At: at, Message: message})
		})
	}
	entry(orders, 1, 1, store.JobRefused, noon, "one")
	entry(orders, 1, 2, store.JobRefused, noon, "one again")
	entry(orders, 1, 3, store.JobStarted, after(time.Second), "two")
	entry(orders, 1, 0, store.JobFail, after(time.Second), "three")
	entry(orders, 1, 3, store.JobStarted, after(time.Minute), "a repeat")
	entry(orders, 2, 3, store.JobStarted, after(time.Hour), "five")
	entry(orders, 2, 0, store.JobLate, after(time.Minute), "four")
	entry(keyOf("orders", "2026-03-04"), 1, 1, store.JobStarted, noon, "another run")
	logs, err := f.s.JobLogs(f.ctx, []run.Key{keyOf("orders", "2026-03-04"), orders, keyOf("silver", "2026-03-03"), orders})
	f.check(err)
	got := map[run.Key][]string{}
	for key, log := range logs {
		for _, e := range log {
			got[key] = append(got[key], e.Message)
		}
	}
	f.same("logs", got, map[run.Key][]string{
		orders:                        {"one", "one again", "two", "three", "four", "five"},
		keyOf("orders", "2026-03-04"): {"another run"},
	})
	logs, err = f.s.JobLogs(f.ctx, nil)
	f.check(err)
	f.same("of no run", logs, map[run.Key][]store.JobEntry{})
}

// manyRuns are more than one piece of what any store reads at once.
const manyRuns = 130

// logsOfMany has entries of every run but the odd ones.
func logsOfMany(f *fixture) {
	first := on("2026-03-03").Start(time.UTC)
	var keys []run.Key
	for i := range manyRuns {
		key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: period.At(first.AddDate(0, 0, i), period.Day, time.UTC)}
		keys = append(keys, key)
		if i%2 == 0 {
			f.commit(func(b *store.Batch) {
				b.Append(store.JobEntry{Key: key, Attempt: i, At: noon, Event: store.JobStarted, Try: 1})
				b.Reruns = append(b.Reruns, store.Rerun{ID: "r", Key: key, At: noon, Attempt: i})
			})
		}
	}
	logs, err := f.s.JobLogs(f.ctx, keys)
	f.check(err)
	requests, err := f.s.Reruns(f.ctx, keys)
	f.check(err)
	for i, key := range keys {
		var log []store.JobEntry
		var asked []store.Rerun
		if i%2 == 0 {
			log = []store.JobEntry{{Key: key, Attempt: i, At: noon, Event: store.JobStarted, Try: 1}}
			asked = []store.Rerun{{ID: "r", Key: key, At: noon, Attempt: i}}
		}
		f.same("log of "+key.String(), logs[key], log)
		f.same("requests for "+key.String(), requests[key], asked)
	}
	f.same("runs with a log", len(logs), manyRuns/2)
	f.same("runs with requests", len(requests), manyRuns/2)
}

func reruns(f *fixture) {
	for i, r := range []store.Rerun{
		{ID: "b", At: noon, Why: "one"},
		{ID: "a", At: noon, Why: "two"},
		{ID: "b", At: after(time.Hour), Why: "a repeat"},
		{ID: "d", At: after(time.Minute), Why: "four"},
		{ID: "c", At: after(time.Second), Why: "three"},
	} {
		r.Key = orders
		r.Attempt = i
		f.commit(func(b *store.Batch) { b.Reruns = append(b.Reruns, r) })
	}
	other := keyOf("orders", "2026-03-04")
	f.commit(func(b *store.Batch) {
		b.Reruns = append(b.Reruns, store.Rerun{ID: "a", Key: other, At: noon, Why: "another run"})
	})
	all, err := f.s.Reruns(f.ctx, []run.Key{other, keyOf("silver", "2026-03-03"), orders, orders})
	f.check(err)
	got := map[run.Key][]string{}
	for key, requests := range all {
		for _, r := range requests {
			got[key] = append(got[key], r.Why)
		}
	}
	f.same("reruns", got, map[run.Key][]string{orders: {"one", "two", "three", "four"}, other: {"another run"}})
	all, err = f.s.Reruns(f.ctx, nil)
	f.check(err)
	f.same("of no run", all, map[run.Key][]store.Rerun{})
}

// ledger stores deadlines and gives them in the order in which they are to be listed.
func (f *fixture) ledger() []store.Deadline {
	f.t.Helper()
	late := armed(keyOf("orders", "2026-03-02"), store.Absolute, after(2*time.Hour))
	late.State = sla.Breached
	sorted := []store.Deadline{
		armed(orders, store.Relative, after(-time.Hour)),
		armed(keyOf("silver", "2026-03-02"), store.Absolute, after(time.Hour)),
		armed(orders, store.Absolute, after(time.Hour)),
		armed(keyOf("silver", "2026-03-03"), store.Absolute, after(time.Hour)),
		armed(keyOf("silver", "2026-03-03"), store.Relative, after(time.Hour)),
		late,
	}
	for _, i := range []int{3, 5, 0, 4, 1, 2} {
		f.commit(func(b *store.Batch) { b.SwapDeadline(store.Deadline{}, sorted[i]) })
	}
	return sorted
}

func deadlinesListed(f *fixture) {
	all := f.ledger()
	for name, c := range map[string]struct {
		q    store.DeadlineQuery
		want []store.Deadline
	}{
		"all":              {store.DeadlineQuery{}, all},
		"of a pipeline":    {store.DeadlineQuery{Pipeline: "orders"}, []store.Deadline{all[0], all[2], all[5]}},
		"of a run":         {store.DeadlineQuery{Key: orders}, []store.Deadline{all[0], all[2]}},
		"armed":            {store.DeadlineQuery{State: string(sla.Armed)}, all[:5]},
		"breached":         {store.DeadlineQuery{State: string(sla.Breached)}, all[5:]},
		"several at once":  {store.DeadlineQuery{Pipeline: "orders", State: string(sla.Armed)}, []store.Deadline{all[0], all[2]}},
		"without any":      {store.DeadlineQuery{Pipeline: "gold"}, nil},
		"from an instant":  {store.DeadlineQuery{From: after(time.Hour)}, all[1:]},
		"up to an instant": {store.DeadlineQuery{To: after(time.Hour)}, all[:1]},
		"in between":       {store.DeadlineQuery{From: after(time.Hour), To: after(2 * time.Hour)}, all[1:5]},
		"of a pipeline in between": {store.DeadlineQuery{
			Pipeline: "orders", State: string(sla.Armed), From: after(time.Hour), To: after(2 * time.Hour),
		}, []store.Deadline{all[2]}},
	} {
		got, err := f.s.Deadlines(f.ctx, c.q)
		f.check(err)
		f.same(name, got.Items, c.want)
		for size := 1; size <= 3; size++ { // a piece of the list may hold nothing that is wanted
			pages := walk(f, size, func(limit int, cursor string) (store.Page[store.Deadline], error) {
				c.q.Limit, c.q.Cursor = limit, cursor
				return f.s.Deadlines(f.ctx, c.q)
			})
			f.same(name+" in pages", pages, c.want)
		}
	}
}

func deadlinePages(f *fixture) {
	all := f.ledger()
	for size := 1; size <= len(all)+1; size++ {
		got := walk(f, size, func(limit int, cursor string) (store.Page[store.Deadline], error) {
			return f.s.Deadlines(f.ctx, store.DeadlineQuery{Limit: limit, Cursor: cursor})
		})
		f.same("pages", got, all)
		some := walk(f, size, func(limit int, cursor string) (store.Page[store.Deadline], error) {
			return f.s.Deadlines(f.ctx, store.DeadlineQuery{From: after(time.Hour), To: after(2 * time.Hour), Limit: limit, Cursor: cursor})
		})
		f.same("pages of a stretch", some, all[1:5])
	}
	_, err := f.s.Deadlines(f.ctx, store.DeadlineQuery{Cursor: "nonsense"})
	f.wantErr("a cursor that no query returned", err, store.ErrCursor)
}

// walk reads a list page by page, and checks that each is full but the last.
func walk[T any](f *fixture, size int, page func(limit int, cursor string) (store.Page[T], error)) []T {
	f.t.Helper()
	var all []T
	for cursor := ""; ; {
		got, err := page(size, cursor)
		f.check(err)
		all = append(all, got.Items...)
		if got.Next == "" {
			if len(got.Items) > size {
				f.t.Errorf("the last page has %d items, want at most %d", len(got.Items), size)
			}
			return all
		}
		if len(got.Items) != size {
			f.t.Fatalf("a page has %d items, want %d since another follows", len(got.Items), size)
		}
		cursor = got.Next
	}
}

func deadLetters(f *fixture) {
	letter := func(sink, which string, tries int, at time.Time) store.DeadLetter {
		return store.DeadLetter{Sink: sink, Event: newEvent(orders, which, noon), Tries: tries, At: at}
	}
	bury := func(fill func(b *store.Batch)) { f.commit(fill) }
	for _, d := range []store.DeadLetter{
		letter("hook", "late", 1, after(time.Hour)), letter("hook", "early", 1, noon),
		letter("log", "early", 1, noon), letter("hook", "early", 4, after(time.Minute)),
	} {
		bury(func(b *store.Batch) { b.Dead = append(b.Dead, d) })
	}
	dead := func(sink string) []store.DeadLetter {
		got, err := f.s.Dead(f.ctx, sink)
		f.check(err)
		return got
	}
	f.same("of hook", dead("hook"), []store.DeadLetter{letter("hook", "early", 4, after(time.Minute)), letter("hook", "late", 1, after(time.Hour))})
	f.same("of all", len(dead("")), 3)
	bury(func(b *store.Batch) {
		b.Buried = append(b.Buried, letter("hook", "early", 0, noon), letter("hook", "never there", 0, noon))
	})
	f.same("of hook", dead("hook"), []store.DeadLetter{letter("hook", "late", 1, after(time.Hour))})
	f.same("of log", dead("log"), []store.DeadLetter{letter("log", "early", 1, noon)})
	f.same("without any", dead("other"), []store.DeadLetter(nil))
	if kind := dead("log")[0].Event.Detail.Extra; kind != (event.Finished{DurationSeconds: 1 << 40}) {
		f.t.Errorf("the event lost what it says: %+v", kind)
	}
}
