package event_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// listed is the catalogue of the specification, in its order.
const listed = `
VALIDATION_PASSED VALIDATION_EXHAUSTED TRIGGER_STARTED JOB_TRIGGERED JOB_COMPLETED JOB_FAILED JOB_TIMEOUT
JOB_POLL_EXHAUSTED RETRY_SCHEDULED RETRY_EXHAUSTED RUN_CANCELLED INFRA_FAILURE INFRA_ALARM SFN_TIMEOUT
SLA_WARNING SLA_BREACH SLA_MET SLA_CANCELLED RELATIVE_SLA_WARNING RELATIVE_SLA_BREACH
SCHEDULE_MISSED IRREGULAR_SCHEDULE_MISSED SENSOR_DEADLINE_EXPIRED TRIGGER_RECOVERED WATCHDOG_DEGRADED
LATE_DATA_ARRIVAL RERUN_ACCEPTED RERUN_REJECTED PIPELINE_EXCLUDED PIPELINE_PAUSED PIPELINE_RESUMED POST_RUN_PASSED
POST_RUN_FAILED POST_RUN_DRIFT POST_RUN_DRIFT_INFLIGHT POST_RUN_BASELINE_CAPTURED BASELINE_CAPTURE_FAILED POST_RUN_SENSOR_MISSING
CONFIG_ACCEPTED CONFIG_REJECTED CONFIG_REMOVED SENSOR_REJECTED AUDIT
DRY_RUN_WOULD_TRIGGER DRY_RUN_LATE_DATA DRY_RUN_SLA_PROJECTION DRY_RUN_DRIFT DRY_RUN_COMPLETED`

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func about(t testing.TB) event.About {
	t.Helper()
	p, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	r := run.Run{Key: run.Key{Pipeline: "orders", Schedule: pipeline.ByStream, Period: p}, Attempt: 2}
	return event.Of(r, noon)
}

func entries() []event.Entry {
	var all []event.Entry
	for _, g := range event.Catalogue() {
		all = append(all, g.Entries...)
	}
	return all
}

func TestCatalogueIsComplete(t *testing.T) {
	var got []string
	for _, e := range entries() {
		got = append(got, string(e.Type))
	}
	if diff := cmp.Diff(strings.Fields(listed), got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryEntryIsFilledIn(t *testing.T) {
	for _, e := range entries() {
		if e.Severity != event.Info && e.Severity != event.Warning && e.Severity != event.Critical {
			t.Errorf("%s: severity %q", e.Type, e.Severity)
		}
		if !strings.HasSuffix(e.When, ".") || e.Scope.String() == "unknown" {
			t.Errorf("%s: when %q, scope %s", e.Type, e.When, e.Scope)
		}
		if e.Remedy != "" && !strings.HasSuffix(e.Remedy, ".") || strings.ContainsAny(e.Remedy+e.When, "\n|") {
			t.Errorf("%s: remedy %q", e.Type, e.Remedy)
		}
		if e.Severity == event.Critical && e.Remedy == "" {
			t.Errorf("%s is critical and has no remedy", e.Type)
		}
		if got := e.Type.Entry(); got.Type != e.Type || got.When != e.When {
			t.Errorf("%s looks up as %+v", e.Type, got)
		}
	}
}

func TestOnlySLAAlertsAreRaised(t *testing.T) {
	for _, e := range entries() {
		a := about(t)
		a.Critical = true
		got := event.New(e.Type, a, "m", e.Extra).Detail.Severity
		want := e.Severity
		switch e.Type {
		case event.SLAWarning, event.SLABreach, event.RelativeSLAWarning, event.RelativeSLABreach:
			want = event.Critical
		}
		if got != want {
			t.Errorf("%s of a critical pipeline is %s, want %s", e.Type, got, want)
		}
	}
}

func TestEnvelopeHasItsExactShape(t *testing.T) {
	code := 3
	e := event.New(event.JobFailed, about(t), "exit 3", event.Finished{Category: run.Permanent, ExitCode: &code, DurationSeconds: 7})
	got, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"` + e.ID + `","source":"interlock","detail-type":"JOB_FAILED","time":"2026-03-03T12:00:00Z",` +
		`"detail":{"pipelineId":"orders","scheduleId":"stream","date":"2026-03-03","message":"exit 3","timestamp":"2026-03-03T12:00:00Z",` +
		`"severity":"warning","attempt":2,"category":"PERMANENT","exitCode":3,"durationSeconds":7}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCommonFieldsAreAlwaysPresent(t *testing.T) {
	text, err := json.Marshal(event.New(event.DryRunCompleted, event.About{At: noon}, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pipelineId":""`, `"scheduleId":""`, `"date":""`, `"message":""`, `"timestamp":"`, `"severity":"info"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestExtraFieldsDoNotClashWithCommonOnes(t *testing.T) {
	common := map[string]bool{}
	for _, name := range jsonNames(reflect.TypeFor[event.Detail]()) {
		common[name] = true
	}
	for _, e := range entries() {
		if e.Extra == nil {
			continue
		}
		kind := reflect.TypeOf(e.Extra)
		for i, name := range jsonNames(kind) {
			if common[name] || name == "" || kind.Field(i).Tag.Get("doc") == "" {
				t.Errorf("%s.%s: name %q, doc %q", kind.Name(), kind.Field(i).Name, name, kind.Field(i).Tag.Get("doc"))
			}
		}
	}
}

func jsonNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestEveryTypeRoundTrips(t *testing.T) {
	for _, entry := range entries() {
		e := event.New(entry.Type, about(t), "something happened", entry.Extra)
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back event.Event
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %+v, read back as %+v", entry.Type, e, back)
		}
	}
}

func TestUnknownTypeKeepsItsCommonFields(t *testing.T) {
	text := `{"id":"1","source":"interlock","detail-type":"NEW_THING","time":"2026-03-03T12:00:00Z","detail":{"pipelineId":"orders","date":"","message":"m","more":1}}`
	var e event.Event
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Detail.Pipeline != "orders" {
		t.Errorf("%+v, %v", e, err)
	}
	if err := e.Validate(); err == nil || !strings.Contains(err.Error(), "not in the catalogue") {
		t.Errorf("an unknown type: %v", err)
	}
}

func TestOrderOfAnEnvelopeDoesNotMatter(t *testing.T) {
	for _, text := range []string{
		`{"detail":{"exitCode":3,"message":"m"},"detail-type":"JOB_FAILED","source":"interlock","id":"1"}`,
		`{"detail":{"exitCode":3,"message":"\"detail-type\":\"SLA_MET\""},"detail-type" : "JOB_FAILED","source":"interlock","id":"1"}`,
		`{"detail":{"detail-type":"SLA_MET","deadline":"none","exitCode":3,"message":"m"},"detail-type":"JOB_FAILED","source":"interlock","id":"1"}`,
	} {
		var e event.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		extra, is := e.Detail.Extra.(event.Finished)
		if !is || extra.ExitCode == nil || *extra.ExitCode != 3 || e.Type != event.JobFailed || e.Detail.Message == "" {
			t.Errorf("%s was read as %+v", text, e)
		}
	}
}

func TestForeignOrBrokenEnvelopeIsRejected(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `{"source":"aws.s3","detail":{}}`, `{"source":"interlock"}`, `{"source":"interlock","detail":[]}`, `{"source":"interlock","detail":null}`,
		`{"source":"interlock","detail-type":"JOB_FAILED","detail":{"exitCode":"three"}}`,
	} {
		var e event.Event
		if err := json.Unmarshal([]byte(text), &e); err == nil {
			t.Errorf("%s was read as %+v", text, e)
		}
	}
}

func TestValidateFindsWrongExtra(t *testing.T) {
	for name, e := range map[string]event.Event{
		"another kind": event.New(event.JobFailed, about(t), "m", event.Gate{}),
		"missing":      event.New(event.JobFailed, about(t), "m", nil),
		"too much":     event.New(event.DryRunCompleted, about(t), "m", event.Gate{}),
		"no message":   event.New(event.JobFailed, about(t), "", event.Finished{}),
	} {
		if err := e.Validate(); err == nil {
			t.Errorf("%s: %+v is valid", name, e)
		}
	}
}

func TestSameCauseHasTheSameID(t *testing.T) {
	for _, entry := range entries() {
		first := event.New(entry.Type, about(t), "one text", entry.Extra)
		later := about(t)
		later.At, later.CausedBy = noon.Add(time.Hour), "redelivery"
		if again := event.New(entry.Type, later, "another text", nil); again.ID != first.ID {
			t.Errorf("%s: %s, then %s", entry.Type, first.ID, again.ID)
		}
	}
}

func TestScopeDeterminesTheID(t *testing.T) {
	for _, entry := range entries() {
		base := event.New(entry.Type, about(t), "m", nil).ID
		for name, c := range map[string]struct {
			change func(*event.About)
			differ bool
		}{
			"attempt":  {func(a *event.About) { a.Attempt++ }, entry.Scope <= event.PerAttempt},
			"schedule": {func(a *event.About) { a.Schedule = pipeline.ByHand }, entry.Scope <= event.PerRun},
			"date":     {func(a *event.About) { a.Date = period.Period{} }, entry.Scope <= event.PerRun},
			"pipeline": {func(a *event.About) { a.Pipeline = "invoices" }, entry.Scope <= event.PerPipeline},
			"which":    {func(a *event.About) { a.Which = "row-count" }, true},
		} {
			a := about(t)
			c.change(&a)
			if got := event.New(entry.Type, a, "m", nil).ID; (got != base) != c.differ {
				t.Errorf("%s: another %s gives %s after %s", entry.Type, name, got, base)
			}
		}
	}
}

func TestDifferentCausesHaveDifferentIDs(t *testing.T) {
	texts := rapid.StringMatching(`[a-c0-2/:]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "text")
		cut := func(what string) event.About {
			i := rapid.IntRange(0, len(text)).Draw(t, what)
			return event.About{Which: text[:i], Pipeline: pipeline.ID(text[i:])}
		}
		a, b := cut("one cut"), cut("another cut")
		same := event.New(event.JobFailed, a, "m", nil).ID == event.New(event.JobFailed, b, "m", nil).ID
		if same != (a == b) {
			t.Fatalf("%+v and %+v: same id is %v", a, b, same)
		}
	})
}

func TestRemedyNamesTheEventsOwnSubject(t *testing.T) {
	for _, entry := range entries() {
		got := event.New(entry.Type, about(t), "m", entry.Extra).Remedy()
		if (got == "") != (entry.Remedy == "") {
			t.Errorf("%s: remedy %q of %q", entry.Type, got, entry.Remedy)
		}
		for _, placeholder := range []string{"PIPELINE", "DATE", "RUN", "FIRST"} {
			if strings.Contains(got, placeholder) {
				t.Errorf("%s: %s is left in %q", entry.Type, placeholder, got)
			}
		}
	}
	missed := event.New(event.ScheduleMissed, about(t), "m", event.Missed{Dates: []string{"2026-03-01", "2026-03-03"}})
	if want := "--from 2026-03-01 --to 2026-03-03"; !strings.Contains(missed.Remedy(), want) {
		t.Errorf("%q lacks %q", missed.Remedy(), want)
	}
	gone := event.New(event.PostRunSensorMissing, about(t), "m", event.Sensors{Sensors: []string{"row-count"}})
	if want := "sensor history orders row-count"; !strings.Contains(gone.Remedy(), want) {
		t.Errorf("%q lacks %q", gone.Remedy(), want)
	}
}

// An event about a whole pipeline has no date for a command.
func TestRemedyOfAPipelineEventNeedsNoDate(t *testing.T) {
	dated := map[event.Type]bool{event.ScheduleMissed: true, event.IrregularScheduleMissed: true}
	for _, entry := range entries() {
		needs := strings.Contains(entry.Remedy, "DATE") || strings.Contains(entry.Remedy, "RUN")
		if entry.Scope >= event.PerPipeline && needs && !dated[entry.Type] {
			t.Errorf("%s: %q", entry.Type, entry.Remedy)
		}
		if entry.Scope == event.PerPlatform && strings.Contains(entry.Remedy, "PIPELINE") {
			t.Errorf("%s: %q", entry.Type, entry.Remedy)
		}
	}
}
