package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-go/interlock/internal/audit"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	closedDays = "name: us\ndates: [2026-12-25]\n"
	probing    = "name: landed\nprobes: [{key: disk, command: [check], ttl: 1h}]\n"
	using      = "pipeline: {id: orders, owner: tests}\nschedule: {cron: '@daily', exclude: {calendar: us}}\narchetype: landed\n"
)

// recorder is a desk whose changes are recorded, with one file of each kind.
type recorder struct {
	*desk
	log   *audit.Log
	texts map[string]string // by kind/file
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{desk: newDesk(t), texts: map[string]string{
		"pipeline/orders.yaml": using, "calendar/h.yaml": closedDays, "archetype/a.yaml": probing, "source/s.yaml": goodSource,
	}}
	r.log = audit.New(r.store, 365*24*time.Hour)
	r.recording()
	return r
}

func (r *recorder) recording() {
	r.Audit(r.log, func(file string) (string, string) { return "ann", "commit of " + file })
}

func (r *recorder) restart() {
	seen := r.Seen()
	r.Catalog = r.restarted()
	r.recording()
	if len(seen) > 0 {
		r.Share(seen)
	}
}

// apply applies the files and returns the changes that it records, oldest first.
func (r *recorder) apply() []string {
	r.t.Helper()
	r.files, r.more = map[string]string{}, catalog.Files{Gone: r.more.Gone, Modified: r.more.Modified}
	for name, text := range r.texts {
		kind, file, _ := strings.Cut(name, "/")
		src := pipeline.Source{File: file, Data: []byte(text)}
		switch pipeline.FileKind(kind) {
		case pipeline.PipelineFile:
			r.files[file] = text
		case pipeline.CalendarFile:
			r.more.Calendars = append(r.more.Calendars, src)
		case pipeline.ArchetypeFile:
			r.more.Archetypes = append(r.more.Archetypes, src)
		case pipeline.SourceFile:
			r.more.Sources = append(r.more.Sources, src)
		}
	}
	before := r.entries()
	r.desk.apply()
	after := r.entries()
	return after[len(before):]
}

// entries lists the recorded changes: oldest first, those of one instant in the order of their text.
func (r *recorder) entries() []string {
	r.t.Helper()
	page, err := r.log.List(ctx, audit.Query{Action: "config", Limit: 500})
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, e := range slices.Backward(page.Items) {
		ch := e.Change
		if ch.Owner != "ann" || ch.Commit != "commit of "+ch.File {
			r.t.Errorf("owner %q, commit %q of %s", ch.Owner, ch.Commit, ch.File)
		}
		all = append(all, fmt.Sprintf("%s %s: %.4s→%.4s %s%s", e.Outcome, e.Subject, ch.Before, ch.After, ch.Was, strings.Join(ch.Diff, " ")))
	}
	return all
}

// sum is the beginning of a digest.
func sum(text string) string {
	return pipeline.Source{File: "x", Data: []byte(text)}.Digest()[:4]
}

func (r *recorder) want(what string, got []string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// edits changes a file of each kind, with what that records.
var edits = []struct{ file, old, new, subject, diff string }{
	{"calendar/h.yaml", "12-25", "12-24", "calendar us", `- dates: ["2026-12-25"] + dates: ["2026-12-24"]`},
	{"archetype/a.yaml", "1h", "2h", "archetype landed", `- probes[0].ttl: "1h" + probes[0].ttl: "2h"`},
	{"pipeline/orders.yaml", "@daily", "@hourly", "pipeline orders", `- schedule.cron: "@daily" + schedule.cron: "@hourly"`},
	{"source/s.yaml", "n: 1", "n: 2", "source landed", `- write[0].fields.n: 1 + write[0].fields.n: 2`},
}

func TestEveryChangeOfEveryKindOfFileIsRecordedOnce(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("while down: %v", down), func(t *testing.T) {
			r := newRecorder(t)
			r.want("the first files", r.apply(),
				"done calendar us: →"+sum(closedDays)+" ", "done archetype landed: →"+sum(probing)+" ",
				"done pipeline orders: →"+sum(using)+" ", "done source landed: →"+sum(goodSource)+" ")
			for _, edit := range edits {
				before := r.texts[edit.file]
				r.texts[edit.file] = strings.Replace(before, edit.old, edit.new, 1)
				if down {
					r.restart()
				}
				r.want(edit.file, r.apply(), "done "+edit.subject+": "+sum(before)+"→"+sum(r.texts[edit.file])+" "+edit.diff)
				r.want(edit.file+" again", r.apply())
			}
			r.restart()
			r.want("a restart", r.apply())
		})
	}
}

func TestARejectedEditIsRecordedAndKeepsTheVersionBefore(t *testing.T) {
	r := newRecorder(t)
	r.apply()
	for _, edit := range edits {
		good := r.texts[edit.file]
		r.texts[edit.file] = good + "unknown: 1\n"
		got := r.apply()
		want := fmt.Sprintf("refused %s: %s→%s + unknown: 1", edit.subject, sum(good), sum(r.texts[edit.file]))
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
		r.restart()
		r.want(edit.file+", again", r.apply())
		r.texts[edit.file] = good
		r.want(edit.file+", reverted", r.apply())
		r.texts[edit.file] = "a: [" // its name cannot be read
		got = r.apply()
		if want := fmt.Sprintf("refused %s: %s→%s ", edit.subject, sum(good), sum("a: [")); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
		r.texts[edit.file] = good
		r.want(edit.file+", reverted again", r.apply())
	}
}

func TestARemovedFileIsRecordedOnceItIsGone(t *testing.T) {
	for _, edit := range edits[:2] {
		r := newRecorder(t)
		delete(r.texts, "pipeline/orders.yaml") // it would be rejected without its calendar
		r.apply()
		text := r.texts[edit.file]
		_, name, _ := strings.Cut(edit.file, "/")
		delete(r.texts, edit.file)
		r.more.Gone = []string{name}
		r.want("missing for a moment", r.apply())
		r.more.Gone = nil
		r.restart()
		r.want("gone", r.apply(), "done "+edit.subject+": "+sum(text)+"→ ")
		r.texts[edit.file] = text
		r.want("back", r.apply(), "done "+edit.subject+": →"+sum(text)+" ")
	}
	r := newRecorder(t)
	r.apply()
	delete(r.texts, "source/s.yaml")
	r.want("a source", r.apply(), "done source landed: "+sum(goodSource)+"→ ")
	delete(r.texts, "pipeline/orders.yaml")
	r.want("a pipeline", r.apply(), "done pipeline orders: "+sum(using)+"→ ")
}

func TestARenamedFileIsNamedWithItsNextChange(t *testing.T) {
	for _, edit := range edits {
		r := newRecorder(t)
		r.apply()
		text := r.texts[edit.file]
		delete(r.texts, edit.file)
		moved := strings.Replace(edit.file, "/", "/new-", 1)
		r.texts[moved] = text
		r.want("only renamed", r.apply())
		r.texts[moved] = strings.Replace(text, edit.old, edit.new, 1)
		got := r.apply()
		if len(got) != 1 || !strings.Contains(got[0], edit.diff) {
			t.Errorf("%s: got %q", edit.file, got)
		}
	}
}

// Of two replicas that see the same edit, one records it. One that was started with old files
// records nothing.
func TestReplicasRecordAChangeOnce(t *testing.T) {
	a := newRecorder(t)
	a.Share(nil)
	b := &recorder{desk: newDesk(t), log: audit.New(a.store, 365*24*time.Hour), texts: map[string]string{}}
	b.store = a.store
	b.restart()
	b.Share(nil)
	same := func() {
		for name, text := range a.texts {
			b.texts[name] = text
		}
	}
	same()
	a.apply()
	b.want("the first files, on the other replica", b.apply())
	for _, edit := range edits {
		a.texts[edit.file] = strings.Replace(a.texts[edit.file], edit.old, edit.new, 1)
		if got := a.apply(); len(got) != 1 {
			t.Errorf("%s: the replica that saw the change recorded %q", edit.file, got)
		}
		b.restart()
		b.want(edit.file+" of a replica that still has the old file", b.apply())
		same()
		b.want(edit.file+", on the other replica", b.apply())
		b.texts[edit.file] += "# later\n"
		if got := b.apply(); len(got) != 1 {
			t.Errorf("%s: the other replica recorded %q", edit.file, got)
		}
		a.texts[edit.file] = b.texts[edit.file]
		a.want(edit.file+", back on the first replica", a.apply())
	}
}

func TestAChangeIsAnEventWithDigestsAndOrigin(t *testing.T) {
	r := newRecorder(t)
	r.apply()
	r.texts["calendar/h.yaml"] = strings.Replace(closedDays, "25", "26", 1)
	r.apply()
	page, err := r.store.Events(ctx, store.EventQuery{Type: event.ConfigAccepted, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	calendar := event.Config{
		Kind: "calendar", File: "h.yaml", Owner: "ann", Commit: "commit of h.yaml", Problems: []string{},
		Before: pipeline.Source{File: "x", Data: []byte(closedDays)}.Digest(),
		After:  pipeline.Source{File: "x", Data: []byte(r.texts["calendar/h.yaml"])}.Digest(),
	}
	if diff := cmp.Diff(calendar, page.Items[1].Detail.Extra); diff != "" {
		t.Errorf("the calendar (-want +got):\n%s", diff)
	}
	own := pipeline.Source{File: "x", Data: []byte(using)}.Digest()
	orders := event.Config{
		Kind: "pipeline", File: "orders.yaml", Owner: "ann", Commit: "commit of orders.yaml", Problems: []string{},
		Before: own, After: own, Version: r.row("orders").Config,
	}
	if diff := cmp.Diff(orders, page.Items[0].Detail.Extra); diff != "" {
		t.Errorf("the pipeline that uses it (-want +got):\n%s", diff)
	}
}

func TestUsedNamesTheFilesBehindAStart(t *testing.T) {
	r := newRecorder(t)
	r.texts["pipeline/shared.yaml"] = "pipeline: {id: shared, owner: tests}\nprobes: [{key: there, command: [check], ttl: 1h}]\n"
	r.texts["source/other.yaml"] = strings.NewReplacer("landed", "other", "orders", "else").Replace(goodSource)
	r.texts["calendar/unused.yaml"] = strings.Replace(closedDays, "us", "eu", 1)
	r.apply()
	var got []string
	for _, f := range r.Used(r.Current().Definition("orders"), []store.SeenSensor{
		{Pipeline: "orders", Key: "k"}, {Pipeline: "orders", Key: "disk"}, {Pipeline: "shared", Key: "there"},
	}) {
		got = append(got, fmt.Sprintf("%s/%s %.4s", f.Kind, f.File, f.Digest))
	}
	want := func(file string) string { return file + " " + sum(r.texts[file]) }
	r.want("files", got, want("pipeline/orders.yaml"), want("archetype/a.yaml"), want("calendar/h.yaml"), want("source/s.yaml"), want("pipeline/shared.yaml"))
}
