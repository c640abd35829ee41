package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
)

const landed = `source: {id: orders-landed, owner: x, format: cloudevents}
match: [{path: $.type, equals: landed}]
write: [{pipeline: orders, key: landed, fields: {n: {path: $.n}}}]
`

// desk is an intake with its own store.
type desk struct {
	*testing.T
	store   *memory.Store
	catalog *catalog.Catalog
	intake  *ingest.Intake
	events  int

	pipelines []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	s := memory.New()
	c := catalog.New(s, nil)
	d := &desk{T: t, store: s, catalog: c, intake: ingest.New(s, c, catalog.MaxFuture), pipelines: []string{"orders"}}
	d.use(landed)
	return d
}

func (d *desk) use(sources ...string) {
	d.Helper()
	var f catalog.Files
	for _, id := range d.pipelines {
		f.Pipelines = append(f.Pipelines, pipeline.Source{File: id + ".yaml", Data: []byte("pipeline: {id: " + id + ", owner: x}\n")})
	}
	for i, text := range sources {
		f.Sources = append(f.Sources, pipeline.Source{File: fmt.Sprintf("s%d.yaml", i), Data: []byte(text)})
	}
	if _, err := d.catalog.Apply(ctx, f, noon); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) take(at time.Time) {
	d.Helper()
	d.events++
	e := ingest.Event{Format: source.CloudEvents, ID: fmt.Sprint(d.events), Body: map[string]any{"type": "landed", "n": int64(d.events)}}
	result, err := d.intake.Take(ctx, []ingest.Event{e}, func(*store.Write, int) (func(), error) { return nil, nil }, at)
	if err != nil || result.Written != 1 {
		d.Fatal(result, err)
	}
}

// check runs a watchdog pass and returns the alarms.
func (d *desk) check(at time.Time) string {
	d.Helper()
	if _, err := ingest.CheckSilence(ctx, d.store, d.catalog.Sources(), at); err != nil {
		d.Fatal(err)
	}
	page, err := d.store.Events(ctx, store.EventQuery{Type: event.InfraAlarm, Ascending: true})
	if err != nil {
		d.Fatal(err)
	}
	var lines []string
	for _, e := range page.Items {
		alarm, _ := e.Detail.Extra.(event.Alarm)
		lines = append(lines, alarm.State+" "+e.Detail.Message)
	}
	return strings.Join(lines, "\n")
}

// Missing events are reported once, their return ends the silence, and a busy source costs one
// commit a minute.
func TestSilenceIsReportedOnceAndItsEnd(t *testing.T) {
	d := newDesk(t)
	for day := range 5 {
		at := noon.Add(time.Duration(day) * 24 * time.Hour)
		for i := range 3 {
			d.take(at.Add(time.Duration(i) * time.Second))
		}
	}
	last := noon.Add(4 * 24 * time.Hour)
	if got := d.check(last.Add(25 * time.Hour)); got != "" {
		t.Errorf("too early: %s", got)
	}
	const quiet = "ALARM source orders-landed has received no event for 26 h; it usually receives one every 24 h"
	for _, later := range []time.Duration{26*time.Hour + 10*time.Minute, 27 * time.Hour} {
		if got := d.check(last.Add(later)); got != quiet {
			t.Errorf("after %s: %s", later, got)
		}
	}
	d.take(last.Add(30 * time.Hour))
	const back = "\nOK source orders-landed has an event again, after 30 h"
	if got := d.check(last.Add(31 * time.Hour)); got != quiet+back {
		t.Errorf("after the return: %s", got)
	}
	d.check(last.Add(200 * time.Hour))
	d.use()
	if got := d.check(last.Add(201 * time.Hour)); !strings.HasSuffix(got, "OK source orders-landed was removed; its events are no longer expected") {
		t.Errorf("after the removal: %s", got)
	}
}

// Without three days of events no interval is known.
func TestNewSourceIsNotMissed(t *testing.T) {
	d := newDesk(t)
	d.take(noon)
	d.take(noon.Add(time.Hour))
	if got := d.check(noon.Add(1000 * time.Hour)); got != "" {
		t.Errorf("reported %s", got)
	}
}

// Activity is stored: the first event at once, the rest within a minute or on shutdown.
func TestActivityIsStored(t *testing.T) {
	d := newDesk(t)
	for i := range 10 {
		d.take(noon.Add(time.Duration(i) * time.Second))
	}
	stored := func() int64 {
		all, err := ingest.Stored(ctx, d.store)
		if err != nil {
			t.Fatal(err)
		}
		return all["orders-landed"].Matched
	}
	if got := stored(); got != 1 {
		t.Errorf("%d events are stored at once", got)
	}
	all, err := d.intake.Activities(ctx)
	if a := all["orders-landed"]; err != nil || a.Matched != 10 || len(a.Recent) != 5 || !a.LastEvent.Equal(noon.Add(9*time.Second)) {
		t.Errorf("%+v %v", a, err)
	}
	d.take(noon.Add(time.Minute))
	if got := stored(); got != 11 {
		t.Errorf("%d events are stored after a minute", got)
	}
	d.take(noon.Add(61 * time.Second))
	if err := d.intake.Flush(ctx, noon.Add(62*time.Second)); err != nil || stored() != 12 {
		t.Errorf("%d events are stored at the end: %v", stored(), err)
	}
}

// busy is a store that fails to store an activity once, while something else happens.
type busy struct {
	*memory.Store
	meanwhile func()
}

func (b *busy) Commit(ctx context.Context, batch store.Batch, now time.Time) error {
	if happen := b.meanwhile; happen != nil && strings.HasPrefix(batch.ID, "source/state/") {
		b.meanwhile = nil
		happen()
		return errors.New("the store is away")
	}
	return b.Store.Commit(ctx, batch, now)
}

func TestEventsAreCountedAlthoughStoringThemFailed(t *testing.T) {
	d := newDesk(t)
	s := &busy{Store: d.store}
	d.intake = ingest.New(s, d.catalog, catalog.MaxFuture)
	s.meanwhile = func() { d.take(noon.Add(time.Second)) }
	e := ingest.Event{Format: source.CloudEvents, ID: "first", Body: map[string]any{"type": "landed", "n": int64(0)}}
	if _, err := d.intake.Take(ctx, []ingest.Event{e}, func(*store.Write, int) (func(), error) { return nil, nil }, noon); err == nil {
		t.Fatal("storing did not fail")
	}
	if err := d.intake.Flush(ctx, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := ingest.StoredOf(ctx, d.store, "orders-landed"); err != nil || got.Matched != 2 {
		t.Errorf("counted %d events, %v", got.Matched, err)
	}
}

const twoTargets = `source: {id: orders-landed, owner: x, format: cloudevents}
match: [{path: $.type, equals: landed}]
write:
  - {pipeline: orders, key: landed, fields: {n: {path: $.n}}}
  - {pipeline: later, key: landed, fields: {n: {path: $.n}}}
`

// sent is the outcome of events with these ids, as "written, repeated, problems".
func (d *desk) sent(ids ...string) string {
	d.Helper()
	var events []ingest.Event
	for _, id := range ids {
		events = append(events, ingest.Event{Format: source.CloudEvents, ID: id, Body: map[string]any{"type": "landed", "n": int64(1)}})
	}
	result, err := d.intake.Take(ctx, events, func(*store.Write, int) (func(), error) { return nil, nil }, noon)
	if err != nil {
		d.Fatal(err)
	}
	return fmt.Sprintf("%d, %d, %d", result.Written, result.Repeated, len(result.Problems))
}

// A reading that could not be written is written by a repeat of the event, once there is no problem
// any more; the other readings of the event are repeated.
func TestRepeatWritesWhatWasNotWritten(t *testing.T) {
	d := newDesk(t)
	d.use(twoTargets)
	for n, want := range []string{"1, 0, 1", "0, 1, 1"} {
		if got := d.sent("m1"); got != want {
			t.Errorf("delivery %d: %s, want %s", n+1, got, want)
		}
	}
	d.pipelines = append(d.pipelines, "later")
	d.use(twoTargets)
	for n, want := range []string{"1, 1, 0", "0, 2, 0"} {
		if got := d.sent("m1"); got != want {
			t.Errorf("delivery %d with the pipeline: %s, want %s", n+1, got, want)
		}
	}
	if got := d.sent("m1", "m2", "m2", "m1"); got != "2, 6, 0" {
		t.Errorf("a batch: %s", got)
	}
	swapped := strings.Replace(twoTargets, "write:\n", "write:\n  - {pipeline: orders, key: first, fields: {n: {path: $.n}}}\n", 1)
	d.use(swapped)
	if got := d.sent("m1"); got != "1, 2, 0" {
		t.Errorf("with a new entry before the others: %s", got)
	}
}

// Two entries may name the same reading, and write it for different periods.
func TestEntriesThatNameOneReadingAreApart(t *testing.T) {
	d := newDesk(t)
	d.use(`source: {id: ranges, owner: x, format: cloudevents}
match: [{path: $.type, equals: range}]
write:
  - {pipeline: orders, key: landed, fields: {date: {path: $.from}}}
  - {pipeline: orders, key: landed, fields: {date: {path: $.to}}}
`)
	e := ingest.Event{Format: source.CloudEvents, ID: "a", Body: map[string]any{"type": "range", "from": "2026-03-03", "to": "2026-03-04"}}
	admitted := 0
	first := func(*store.Write, int) (func(), error) {
		if admitted++; admitted == 2 {
			return nil, errors.New("too many readings")
		}
		return nil, nil
	}
	for n, want := range []string{"1, 0, 1", "1, 1, 0", "0, 2, 0"} {
		r, err := d.intake.Take(ctx, []ingest.Event{e}, first, noon)
		if got := fmt.Sprintf("%d, %d, %d", r.Written, r.Repeated, len(r.Problems)); got != want || err != nil {
			t.Errorf("delivery %d: %s, want %s; error %v", n+1, got, want, err)
		}
	}
}

// An event with more readings than the store accepts at once is stored in several calls.
func TestEventWithManyReadings(t *testing.T) {
	d := newDesk(t)
	d.intake = ingest.New(&small{Store: d.store}, d.catalog, catalog.MaxFuture)
	var text strings.Builder
	text.WriteString("source: {id: orders-landed, owner: x, format: cloudevents}\nmatch: [{path: $.type, equals: landed}]\nwrite:\n")
	for n := range 7 {
		fmt.Fprintf(&text, "  - {pipeline: orders, key: k%d, fields: {n: 1}}\n", n)
	}
	d.use(text.String())
	for _, want := range []string{"14, 0, 0", "0, 14, 0"} {
		if got := d.sent("m1", "m2"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

const split = `source: {id: files, owner: x, format: json}
each: $.files[*]
write: [{pipeline: orders, key: {path: $.key}, period: {path: $.at}, fields: {n: {path: $.n}}}]
`

// message sends a message to the source files, as "written, repeated, problems".
func (d *desk) message(id, body string, admit ingest.Admit) (string, error) {
	d.Helper()
	event, err := source.DecodeEvent([]byte(body))
	if err != nil {
		d.Fatal(err)
	}
	r, err := d.intake.TakeEach(ctx, []ingest.Event{{Format: source.JSON, Source: "files", ID: id, Body: event}}, admit, noon)
	return fmt.Sprintf("%d, %d, %d", r.Written, r.Repeated, len(r.Problems)), err
}

func anyone(*store.Write, int) (func(), error) { return nil, nil }

// files is a message with n files, each with its own key.
func files(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"key":"k%04d","at":"2026-03-03","n":%d}`, i, i))
	}
	return `{"files":[` + strings.Join(all, ",") + `]}`
}

// counted counts the calls that store readings.
type counted struct {
	*memory.Store
	calls int
	most  int // readings per call, if not 0
	fail  int // the call that fails
}

func (c *counted) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if c.most > 0 && len(writes) > c.most {
		return nil, store.ErrTooLarge
	}
	if c.calls++; c.calls == c.fail {
		return nil, store.ErrAway
	}
	return c.Store.PutReadings(ctx, writes, now)
}

func TestMessageIsStoredInOneCommit(t *testing.T) {
	d := newDesk(t)
	d.use(split)
	s := &counted{Store: d.store}
	d.intake = ingest.New(s, d.catalog, catalog.MaxFuture)
	for _, want := range []string{"1000, 0, 0", "0, 1000, 0"} {
		if got, err := d.message("m1", files(1000), anyone); got != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if s.calls != 2 {
		t.Errorf("two deliveries took %d calls", s.calls)
	}
	if got, err := d.message("m2", files(1001), anyone); got != "0, 0, 1" || err != nil {
		t.Errorf("1001 readings: %s, %v", got, err)
	}
	event, _ := source.DecodeEvent([]byte(files(1001)))
	one, _ := source.DecodeEvent([]byte(files(1)))
	_, err := d.intake.Take(ctx, []ingest.Event{{Format: source.JSON, Source: "files", Body: one}, {Format: source.JSON, Source: "files", Body: event}}, anyone, noon)
	if !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "event 1: the message gives more than 1000 readings") || s.calls != 2 {
		t.Errorf("in a batch: %v after %d calls", err, s.calls)
	}
}

// Where a message takes several commits, a redelivery completes them.
func TestRedeliveryCompletesAMessage(t *testing.T) {
	d := newDesk(t)
	d.use(split)
	d.intake = ingest.New(&counted{Store: d.store, most: 3, fail: 3}, d.catalog, catalog.MaxFuture)
	if _, err := d.message("m1", files(10), anyone); !errors.Is(err, store.ErrAway) {
		t.Fatal(err)
	}
	if got, err := d.message("m1", files(10), anyone); got != "6, 4, 0" && got != "5, 5, 0" || err != nil {
		t.Errorf("the redelivery: %s, %v", got, err)
	}
	if got, _ := d.message("m1", files(10), anyone); got != "0, 10, 0" {
		t.Errorf("another one: %s", got)
	}
}

// A message of which a reading must wait is not written at all, and its quota is returned.
func TestMessageThatMustComeAgainIsNotWritten(t *testing.T) {
	d := newDesk(t)
	d.use(split)
	reserved, limit := 0, 2
	admit := func(*store.Write, int) (func(), error) {
		if reserved == limit {
			return nil, &ingest.Later{Err: errors.New("too many keys")}
		}
		reserved++
		return func() { reserved-- }, nil
	}
	if got, err := d.message("m1", files(3), admit); got != "0, 0, 0" || err == nil || err.Error() != "too many keys" || reserved != 0 {
		t.Errorf("%s, %v, %d reserved", got, err, reserved)
	}
	limit = 3
	if got, err := d.message("m1", files(3), admit); got != "3, 0, 0" || err != nil {
		t.Errorf("again: %s, %v", got, err)
	}
}

func TestInstantIsCutToThePipelinesSlice(t *testing.T) {
	d := newDesk(t)
	const hourly = "pipeline: {id: orders, owner: x}\nschedule: {cron: \"5 * * * *\", timezone: Asia/Kolkata, offset: -1}\n"
	if _, err := d.catalog.Apply(ctx, catalog.Files{
		Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(hourly)}}, Sources: []pipeline.Source{{File: "s.yaml", Data: []byte(split)}},
	}, noon); err != nil {
		t.Fatal(err)
	}
	if got, err := d.message("m1", `{"files":[{"key":"k","at":"2026-03-03T10:45:00Z","n":1}]}`, anyone); got != "1, 0, 0" || err != nil {
		t.Fatal(got, err, d.catalog.Files())
	}
	page, err := d.store.History(ctx, store.HistoryQuery{Pipeline: "orders", Key: "k"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Period.String() != "2026-03-03T16" {
		t.Errorf("%+v %v", *page.Items[0], err)
	}
}

const lineage = `source: {id: spark, owner: x, format: openlineage}
match: [{path: $.job.name, equals: j}%s]
write: [{pipeline: orders, key: spark, fields: {status: {path: $.eventType}}}]
`

// ran sends an event of run r, and returns the stored status.
func (d *desk) ran(kind, minute string, at time.Time) string {
	d.Helper()
	event, err := source.DecodeEvent(fmt.Appendf(nil, `{"eventType":%q,"eventTime":"2026-03-03T10:%s:00","producer":"p","schemaURL":"s","run":{"runId":"r"},"job":{"namespace":"n","name":"j"}}`, kind, minute))
	if err == nil {
		err = source.CheckLineage(event)
	}
	if err != nil {
		d.Fatal(err)
	}
	if _, err := d.intake.Take(ctx, []ingest.Event{{Format: source.OpenLineage, Body: event}}, anyone, at); err != nil {
		d.Fatal(err)
	}
	page, err := d.store.History(ctx, store.HistoryQuery{Pipeline: "orders", Key: "spark", Limit: 1})
	if err != nil {
		d.Fatal(err)
	}
	if len(page.Items) == 0 {
		return ""
	}
	return fmt.Sprint(page.Items[0].Fields["status"])
}

func TestNothingIsWrittenAfterTheEndOfARun(t *testing.T) {
	d := newDesk(t)
	d.use(fmt.Sprintf(lineage, ""))
	for n, step := range []struct{ kind, minute, want string }{
		{"START", "00", "START"},
		{"RUNNING", "05", "RUNNING"},
		{"START", "00", "START"}, // nothing says which of them is newer
		{"FAIL", "10", "FAIL"},
		{"RUNNING", "15", "FAIL"},
		{"START", "20", "FAIL"},
		{"OTHER", "20", "FAIL"},
		{"COMPLETE", "09", "FAIL"},
		{"COMPLETE", "11", "COMPLETE"},
		{"FAIL", "10", "COMPLETE"},
		{"COMPLETE", "11", "COMPLETE"},
	} {
		if got := d.ran(step.kind, step.minute, noon.Add(time.Duration(n)*time.Hour)); got != step.want {
			t.Errorf("step %d, %s: %s, want %s", n, step.kind, got, step.want)
		}
	}
	if got := d.ran("START", "30", noon.Add(8*24*time.Hour)); got != "START" {
		t.Errorf("after a week: %s", got)
	}
}

// The end counts even if no source matches it.
func TestEndThatNoSourceMatchesCounts(t *testing.T) {
	d := newDesk(t)
	d.use(fmt.Sprintf(lineage, ", {path: $.eventType, in: [START, RUNNING]}"))
	for _, step := range []struct{ kind, want string }{{"COMPLETE", ""}, {"START", ""}, {"COMPLETE", ""}, {"FAIL", ""}, {"RUNNING", ""}} {
		if got := d.ran(step.kind, "00", noon); got != step.want {
			t.Errorf("%s: %q", step.kind, got)
		}
	}
}

// small is a store that accepts three readings at once, each with a mark, as DynamoDB does.
type small struct{ *memory.Store }

func (s *small) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if len(writes) > 3 {
		return nil, store.ErrTooLarge
	}
	return s.Store.PutReadings(ctx, writes, now)
}

// Two replicas store what came from one source at the same instant.
func TestActivityOfOneInstantIsCountedTwice(t *testing.T) {
	s := memory.New()
	count := func(n int64, first func()) {
		t.Helper()
		err := ingest.Change(ctx, s, "orders-landed", noon, func(a *source.Activity) []event.Event {
			if first != nil {
				other := first
				first = nil
				other()
			}
			a.Matched += n
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	count(2, func() { count(3, nil) })
	note, err := s.Note(ctx, store.SourceNote, "state/orders-landed")
	if err != nil || !strings.Contains(string(note.Data), `"matched":5`) {
		t.Errorf("stored %s, %v, want 5 events", note.Data, err)
	}
}
