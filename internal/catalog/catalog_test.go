package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var (
	ctx     = context.Background()
	morning = time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)
)

const orders = "pipeline: {id: orders, owner: tests}\n"

// desk is a catalog over a store, and the current files.
type desk struct {
	t     *testing.T
	store *memory.Store
	*catalog.Catalog
	files map[string]string
	more  catalog.Files
	now   time.Time
}

func newDesk(t *testing.T) *desk {
	s := memory.New()
	return &desk{t: t, store: s, Catalog: catalog.New(s, all.Kinds()), files: map[string]string{}, now: morning}
}

// apply applies the files, a minute after the last time.
func (d *desk) apply() catalog.Report {
	d.t.Helper()
	files := d.more
	for name, text := range d.files {
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: name, Data: []byte(text)})
	}
	d.now = d.now.Add(time.Minute)
	report, err := d.Apply(ctx, files, d.now)
	if err != nil {
		d.t.Fatal(err)
	}
	return report
}

// restarted returns a new catalog over the same store.
func (d *desk) restarted() *catalog.Catalog {
	d.t.Helper()
	c := catalog.New(d.store, all.Kinds())
	if err := c.Load(ctx); err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *desk) row(id pipeline.ID) store.Pipeline {
	d.t.Helper()
	row, err := d.store.Pipeline(ctx, id)
	if err != nil {
		d.t.Fatal(err)
	}
	return row
}

// emitted lists the events so far, oldest first.
func (d *desk) emitted() []string {
	d.t.Helper()
	events, err := d.store.EventsAfter(ctx, 0, 1000)
	if err != nil {
		d.t.Fatal(err)
	}
	var emitted []string
	for _, e := range events {
		if err := e.Event.Validate(); err != nil {
			d.t.Error(err)
		}
		emitted = append(emitted, strings.TrimSpace(string(e.Event.Type)+" "+string(e.Event.Detail.Pipeline)))
	}
	return emitted
}

func (d *desk) wantEvents(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.emitted()); diff != "" {
		d.t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAcceptedFileIsActiveAndStored(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	if diff := cmp.Diff([]pipeline.ID{"orders"}, d.apply().Accepted); diff != "" {
		t.Errorf("accepted (-want +got):\n%s", diff)
	}
	row := d.row("orders")
	if row.Config == "" || !row.Horizon.Equal(d.now) || !row.FiredThrough.Equal(d.now) || row.Problem != "" {
		t.Errorf("stored %+v", row)
	}
	for _, c := range []*catalog.Catalog{d.Catalog, d.restarted()} {
		e := c.Current().Get("orders")
		if e == nil || e.Version != row.Config || !e.Horizon.Equal(row.Horizon) || e.File != "orders.yaml" {
			t.Errorf("active: %+v", e)
		}
	}
	for _, id := range []string{"reopen/orders", "arm/orders"} {
		if task, err := d.store.Task(ctx, id); err != nil || !task.Due.Equal(d.now) {
			t.Errorf("task %s: %+v, %v", id, task, err)
		}
	}
	d.wantEvents("CONFIG_ACCEPTED orders")
}

func TestSameFilesAgainChangeNothing(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.files["bad.yaml"] = "pipeline: {id: bad}\n"
	d.files["lost.yaml"] = "]no yaml["
	d.apply()
	before, emitted := d.row("orders"), d.emitted()
	report := d.apply()
	if after := d.row("orders"); after.Version != before.Version {
		t.Errorf("the row changed from %+v to %+v", before, after)
	}
	if len(report.Accepted)+len(report.Removed) != 0 || len(report.Rejected) != 1 {
		t.Errorf("report %+v", report)
	}
	d.wantEvents(emitted...)
}

func TestBadEditLeavesTheLastGoodVersionActive(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	good := d.Current().Get("orders").Version
	for _, bad := range []string{"pipeline: {id: orders}\n", "]no yaml["} {
		d.files["orders.yaml"] = bad
		if report := d.apply(); !cmp.Equal(report.Rejected, []pipeline.ID{"orders"}) || len(report.Problems) == 0 {
			t.Errorf("%q: report %+v", bad, report)
		}
		for _, c := range []*catalog.Catalog{d.Catalog, d.restarted()} {
			if e := c.Current().Get("orders"); e == nil || e.Version != good {
				t.Errorf("%q: active %+v, want version %s", bad, e, good)
			}
		}
		if row := d.row("orders"); !strings.Contains(row.Problem, "orders.yaml:1") || row.Config != good {
			t.Errorf("%q: row %+v", bad, row)
		}
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders", "CONFIG_REJECTED orders")

	d.files["orders.yaml"] = orders
	if report := d.apply(); len(report.Accepted) != 0 {
		t.Errorf("the active version was accepted again: %+v", report)
	}
	if row := d.row("orders"); row.Problem != "" {
		t.Errorf("fixed, but still degraded: %s", row.Problem)
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders", "CONFIG_REJECTED orders")
}

func TestSameMistakeAfterAGoodVersionIsReportedAgain(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.files["orders.yaml"] = orders
		d.apply()
		d.files["orders.yaml"] = "pipeline: {id: orders}\n"
		d.apply()
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders", "CONFIG_REJECTED orders")
}

func TestTwoFilesWithOneIDAreBothRejected(t *testing.T) {
	d := newDesk(t)
	d.files["a.yaml"] = orders
	d.apply()
	d.files["b.yaml"] = orders + "dryRun: false\n"
	d.apply()
	if e := d.Current().Get("orders"); e == nil || e.File != "a.yaml" {
		t.Errorf("active: %+v, want the previous version", e)
	}
	problem := d.row("orders").Problem
	if !strings.Contains(problem, "a.yaml:") || !strings.Contains(problem, "b.yaml:") {
		t.Errorf("problem %q, want both files", problem)
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REJECTED orders")
}

func TestNeverAcceptedFileShowsAsDegraded(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = "pipeline: {id: orders}\n"
	d.apply()
	if row := d.row("orders"); row.Problem == "" || row.Config != "" || !row.Horizon.IsZero() {
		t.Errorf("row %+v", row)
	}
	if d.Current().Get("orders") != nil {
		t.Error("a file with errors is active")
	}
	d.files["orders.yaml"] = orders
	d.apply()
	if row := d.row("orders"); row.Problem != "" || !row.Horizon.Equal(d.now) {
		t.Errorf("accepted: row %+v", row)
	}
	delete(d.files, "orders.yaml")
	d.apply()
	d.wantEvents("CONFIG_REJECTED orders", "CONFIG_ACCEPTED orders", "CONFIG_REMOVED orders")
}

func TestRejectedPipelineWithoutAFileIsRemoved(t *testing.T) {
	const bad = "pipeline: {id: orders}\n"
	for name, without := range map[string]string{"deleted": "", "another id": "pipeline: {id: other}\n"} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.files["orders.yaml"] = bad
			d.apply()
			d.files["orders.yaml"] = without
			if without == "" {
				delete(d.files, "orders.yaml")
			}
			d.apply()
			if row := d.row("orders"); !row.Removed() || !row.RemovedAt.Equal(d.now) {
				t.Errorf("row %+v", row)
			}
			d.files["orders.yaml"] = bad
			d.apply()
			if row := d.row("orders"); row.Removed() || row.Problem == "" {
				t.Errorf("back: row %+v", row)
			}
		})
	}
}

func TestRemovedFileIsOutOfForceAndItsVersionsStay(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	old := d.Current().Get("orders")
	delete(d.files, "orders.yaml")
	if report := d.apply(); !cmp.Equal(report.Removed, []pipeline.ID{"orders"}) {
		t.Errorf("report %+v", report)
	}
	row := d.row("orders")
	if row.Config != "" || !row.RemovedAt.Equal(d.now) {
		t.Errorf("row %+v", row)
	}
	restarted := d.restarted()
	if d.Current().Get("orders") != nil || restarted.Current().Get("orders") != nil {
		t.Error("it is still active")
	}
	if def, err := restarted.Definition(ctx, "orders", old.Version); err != nil || def.ID != "orders" {
		t.Errorf("an open attempt cannot finish: %v, %v", def, err)
	}
	if _, err := d.store.Task(ctx, "arm/orders"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("its deadlines are still armed: %v", err)
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REMOVED orders")

	d.files["orders.yaml"] = orders
	d.apply()
	if row := d.row("orders"); !row.Horizon.Equal(d.now) || !row.RemovedAt.IsZero() {
		t.Errorf("returned: %+v, want a new horizon", row)
	}
	d.wantEvents("CONFIG_ACCEPTED orders", "CONFIG_REMOVED orders", "CONFIG_ACCEPTED orders")
}

func TestEditKeepsTheHorizonAndOpensNoPast(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	horizon := d.row("orders").Horizon
	d.now = d.now.Add(48 * time.Hour)
	d.files["orders.yaml"] = orders + "schedule: {cron: '0 6 * * *'}\n"
	d.apply()
	if row := d.row("orders"); !row.Horizon.Equal(horizon) || !row.FiredThrough.Equal(d.now) {
		t.Errorf("row %+v, want horizon %s and no fire before %s", row, horizon, d.now)
	}
}

func TestUnhandledFireSurvivesAnEdit(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders + "schedule: {cron: '30 8 * * *'}\n"
	d.apply()
	through := d.row("orders").FiredThrough
	d.now = morning.Add(40 * time.Minute)
	d.files["orders.yaml"] += "dryRun: false\n"
	d.apply()
	if row := d.row("orders"); !row.FiredThrough.Equal(through) {
		t.Errorf("fires are handled through %s, but the one at 08:30 was not", row.FiredThrough)
	}
}

func TestVersionIncludesTheCalendarsUsed(t *testing.T) {
	d := newDesk(t)
	calendar := func(name, date string) pipeline.Source {
		return pipeline.Source{File: name + ".yaml", Data: []byte("name: " + name + "\ndates: [" + date + "]\n")}
	}
	d.files["orders.yaml"] = orders + "schedule: {cron: '@daily', exclude: {calendar: holidays}}\n"
	d.more.Calendars = []pipeline.Source{calendar("holidays", "2026-12-25"), calendar("other", "2026-01-01")}
	d.apply()
	d.more.Calendars[1] = calendar("other", "2026-01-02")
	if report := d.apply(); len(report.Accepted) != 0 {
		t.Errorf("a calendar that it does not use created a new version: %+v", report)
	}
	d.more.Calendars[0] = calendar("holidays", "2026-12-26")
	if report := d.apply(); !cmp.Equal(report.Accepted, []pipeline.ID{"orders"}) {
		t.Errorf("an edited calendar is not active: %+v", report)
	}
	stored, err := d.store.Config(ctx, "orders", d.row("orders").Config)
	want := store.Config{
		Pipeline: "orders", Version: d.row("orders").Config, At: d.now, Calendars: d.more.Calendars[:1],
		File: pipeline.Source{File: "orders.yaml", Data: []byte(d.files["orders.yaml"])},
	}
	if diff := cmp.Diff(want, stored, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("stored (-want +got):\n%s%v", diff, err)
	}
	d.more.Calendars = nil
	if report := d.apply(); !cmp.Equal(report.Rejected, []pipeline.ID{"orders"}) {
		t.Errorf("its calendar is gone: %+v", report)
	}
	if e := d.restarted().Current().Get("orders"); e == nil {
		t.Error("the last good version did not survive without its calendar's file")
	}
}

func TestOlderVersionsStayUsable(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	old := d.Current().Get("orders").Version
	d.files["orders.yaml"] = strings.ReplaceAll(orders, "tests", "others")
	d.apply()
	def, err := d.Definition(ctx, "orders", old)
	if err != nil || def.Owner != "tests" {
		t.Errorf("older version: %+v, %v", def, err)
	}
	if now, err := d.Definition(ctx, "orders", d.Current().Get("orders").Version); err != nil || now.Owner != "others" {
		t.Errorf("active version: %+v, %v", now, err)
	}
	if _, err := d.Definition(ctx, "orders", "never"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a version that never was: %v", err)
	}
}

func TestReadersAndDependentsReflectTheActiveVersions(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders + "schedule: {trigger: {key: ready, check: exists}}\nvalidation: {rules: [{key: ready, check: exists}, {key: rates, check: exists, from: common}, {key: own, check: exists, from: common}]}\npostRun: {rules: [{key: out, check: exists}]}\n"
	d.files["common.yaml"] = "pipeline: {id: common, owner: tests}\nvalidation: {rules: [{key: own, check: exists}, {key: own, check: exists, field: at}]}\n"
	d.files["gold.yaml"] = "pipeline: {id: gold, owner: tests}\nschedule: {after: [orders]}\n"
	d.apply()
	ids := func(entries []*catalog.Entry) (ids []pipeline.ID) {
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return ids
	}
	s := d.Current()
	for _, c := range []struct {
		got, want []pipeline.ID
	}{
		{ids(s.All()), []pipeline.ID{"common", "gold", "orders"}},
		{ids(s.Readers("orders", "ready")), []pipeline.ID{"orders"}},
		{ids(s.Readers("orders", "out")), []pipeline.ID{"orders"}},
		{ids(s.Readers("common", "rates")), []pipeline.ID{"orders"}},
		{ids(s.Readers("orders", "rates")), nil},
		{ids(s.Readers("common", "own")), []pipeline.ID{"common", "orders"}},
		{ids(s.Readers("common", "unread")), nil},
		{ids(s.Readers("nobody", "own")), nil},
		{ids(s.Readers("gold", "run/orders")), []pipeline.ID{"gold"}},
		{ids(s.Dependents("orders")), []pipeline.ID{"gold"}},
		{ids(s.Dependents("gold")), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestStoredVersionsThatFormACycleAreLoaded(t *testing.T) {
	d := newDesk(t)
	after := func(id, up, rest string) string {
		return "pipeline: {id: " + id + ", owner: tests}\nschedule: {after: [" + up + "]}\n" + rest
	}
	d.files["a.yaml"], d.files["b.yaml"] = "pipeline: {id: a, owner: tests}\n", after("b", "a", "")
	d.apply()
	d.files["a.yaml"], d.files["b.yaml"] = after("a", "b", ""), "pipeline: {id: b}\n" // b no longer follows a, but is broken
	d.apply()
	s := d.restarted().Current()
	if s.Get("a") == nil || s.Get("b") == nil || len(s.Broken()) != 0 {
		t.Errorf("active: %v and %v, broken %v", s.Get("a"), s.Get("b"), s.Broken())
	}
}

func TestLoadFirstReportsTheNumberOfPipelines(t *testing.T) {
	d := newDesk(t)
	d.files["a.yaml"], d.files["b.yaml"] = "pipeline: {id: a, owner: tests}\n", "pipeline: {id: b, owner: tests}\n"
	d.apply()
	c := catalog.New(d.store, all.Kinds())
	heard := -1
	err := c.LoadFirst(ctx, func(pipelines int) {
		heard = pipelines
		if len(c.Current().All()) != 0 {
			t.Error("they are already compiled")
		}
	})
	if err != nil || heard != 2 || len(c.Current().All()) != 2 {
		t.Errorf("reported %d, loaded %d, %v", heard, len(c.Current().All()), err)
	}
}

func TestVersionThatCannotBeCompiledStopsNoOther(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders + "job: {type: http, config: {url: 'http://localhost/'}}\n"
	d.files["other.yaml"] = "pipeline: {id: other, owner: tests}\n"
	d.apply()
	c := catalog.New(d.store, all.Kinds())
	b := store.Batch{ID: "break", Configs: []store.Config{{
		Pipeline: "orders", Version: "bad", File: pipeline.Source{File: "orders.yaml", Data: []byte("pipeline: {id: orders}")},
	}}}
	row := d.row("orders")
	next := row
	next.Config = "bad"
	b.SwapPipeline(row, next)
	if err := d.store.Commit(ctx, b, d.now); err != nil {
		t.Fatal(err)
	}
	if err := c.Load(ctx); err != nil {
		t.Fatal(err)
	}
	s := c.Current()
	if s.Get("other") == nil || s.Get("orders") != nil || len(s.Broken()) != 1 || s.Broken()[0].ID != "orders" {
		t.Errorf("active %v, broken %v", s.All(), s.Broken())
	}
}

func TestAnotherReplicasVersionIsLoaded(t *testing.T) {
	here := newDesk(t)
	here.files["orders.yaml"] = orders
	here.apply()
	there := here.restarted()
	before := there.Current()
	if err := there.Refresh(ctx, "orders"); err != nil || there.Current() != before {
		t.Errorf("the catalog changed although nothing else did: %v", err)
	}
	here.files["orders.yaml"] = strings.ReplaceAll(orders, "tests", "others")
	here.apply()
	if err := there.Refresh(ctx, "orders"); err != nil {
		t.Fatal(err)
	}
	if e := there.Current().Get("orders"); e.Owner != "others" {
		t.Errorf("active there: %+v", e)
	}
	delete(here.files, "orders.yaml")
	here.apply()
	if err := there.Refresh(ctx, "orders"); err != nil || there.Current().Get("orders") != nil {
		t.Errorf("removed here, active there: %v", err)
	}
	if err := there.Refresh(ctx, "unknown"); err != nil {
		t.Errorf("a pipeline that never was: %v", err)
	}
}

// busy is a store in which another replica commits first, once.
type busy struct {
	*memory.Store
	first func()
}

func (b *busy) Commit(ctx context.Context, batch store.Batch, now time.Time) error {
	if first := b.first; first != nil && len(batch.Pipelines) > 0 {
		b.first = nil
		first()
	}
	return b.Store.Commit(ctx, batch, now)
}

func TestConflictIsDecidedAgain(t *testing.T) {
	s := &busy{Store: memory.New()}
	c := catalog.New(s, all.Kinds())
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(orders)}}}
	if _, err := c.Apply(ctx, files, morning); err != nil {
		t.Fatal(err)
	}
	s.first = func() { // an operator pauses it concurrently
		row, _ := s.Pipeline(ctx, "orders")
		next := row
		next.Pause = store.Pause{By: "ann", Why: "move", Since: morning}
		b := store.Batch{ID: "pause"}
		b.SwapPipeline(row, next)
		if err := s.Store.Commit(ctx, b, morning); err != nil {
			t.Error(err)
		}
	}
	files.Pipelines[0].Data = []byte(strings.ReplaceAll(orders, "tests", "others"))
	if _, err := c.Apply(ctx, files, morning.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	row, _ := s.Pipeline(ctx, "orders")
	if row.Pause.By != "ann" || row.Config != c.Current().Get("orders").Version {
		t.Errorf("row %+v: both changes should be in it", row)
	}
}

func TestPipelineThatIsAcceptedWhileAllArePausedIsPaused(t *testing.T) {
	s := &busy{Store: memory.New()}
	c := catalog.New(s, all.Kinds())
	pause := store.Pause{All: true, By: "bob", Why: "maintenance", Since: morning}
	s.first = func() { // after the acceptance has read that nothing is paused
		b := store.Batch{ID: "pause"}
		b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: store.AllPipelines, Pause: pause})
		if err := s.Store.Commit(ctx, b, morning); err != nil {
			t.Error(err)
		}
	}
	files := catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(orders)}}}
	for _, when := range []string{"during the pause", "again"} {
		if _, err := c.Apply(ctx, files, morning.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		row, err := s.Pipeline(ctx, "orders")
		if err != nil || row.PauseAll != pause || !row.PausedFrom.Equal(morning.Add(time.Minute)) || row.Version != 1 {
			t.Errorf("%s: row %+v, %v", when, row, err)
		}
	}
	page, err := s.Events(ctx, store.EventQuery{Type: event.PipelinePaused})
	if err != nil || len(page.Items) != 1 || page.Items[0].Detail.Pipeline != "orders" {
		t.Errorf("events: %v, %v", page.Items, err)
	}
	if got := len(c.Current().All()); got != 1 {
		t.Errorf("%d active pipelines", got)
	}
}

func TestRejectionNamesTheVersionThatStaysActive(t *testing.T) {
	d := newDesk(t)
	d.files["orders.yaml"] = orders
	d.apply()
	good := d.row("orders").Config
	d.files["orders.yaml"] = "pipeline: {id: orders}\n"
	d.apply()
	page, err := d.store.Events(ctx, store.EventQuery{Type: event.ConfigRejected})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("events: %v, %v", page.Items, err)
	}
	extra := page.Items[0].Detail.Extra.(event.Config)
	if extra.Version != good || extra.File != "orders.yaml" || len(extra.Problems) != 1 {
		t.Errorf("event says %+v", extra)
	}
}

func TestProgressSaysHowManyFilesAreStored(t *testing.T) {
	d, p := newDesk(t), new(catalog.Progress)
	d.Report(p)
	for i := range 1002 {
		d.files[fmt.Sprintf("p%d.yaml", i)] = fmt.Sprintf("pipeline: {id: p%d, owner: tests}\n", i)
	}
	d.apply()
	if got := p.String(); got != "1,002 of 1,002 files stored" {
		t.Error(got)
	}
}
