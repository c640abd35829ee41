package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// checked reads rows, which its rule compares, and is opened by arrival. %s are more keys of
// validation, and more rules.
const checked = `
pipeline: {id: checked, owner: data}
schedule: {trigger: {key: arrival, check: equals, field: status, value: ready}}
validation:
  %s
  rules:
    - {key: rows, check: gte, field: count, value: 10}
    %s
job: {type: command, config: {command: "true"}, maxDriftReruns: 1}
`

const checkedRun = "checked/stream/2026-03-03"

// checkedDone returns a world in which checked has completed on 12 rows.
func checkedDone(t *testing.T, keys, rules string, writes ...string) *world {
	t.Helper()
	w := newWorld(t, fmt.Sprintf(checked, keys, rules), "pipeline: {id: shared, owner: data}")
	w.Put("checked", "rows#2026-03-03", "count=12", "source=a")
	w.writeAll(writes...)
	w.Write("checked", "arrival#2026-03-03", "status=ready")
	w.sleep(time.Minute)
	w.succeed(checkedRun)
	w.expect(checkedRun, "COMPLETED 1")
	w.sleep(time.Minute)
	return w
}

// writeAll writes readings, each as "pipeline/key field=value"; without fields it deletes one.
func (w *world) writeAll(writes ...string) {
	w.Helper()
	for _, text := range writes {
		words := strings.Fields(text)
		id, key, _ := strings.Cut(words[0], "/")
		if len(words) == 1 {
			w.Delete(id, key)
			w.Settle()
		} else {
			w.Write(id, key, words[1:]...)
		}
		w.sleep(time.Second)
	}
}

// late lists the events about late data, each as "sensor: reason severity".
func (w *world) late() []string {
	w.Helper()
	lines := []string{}
	for _, e := range w.events() {
		if e.Type == event.LateDataArrival || e.Type == event.DryRunLateData {
			lines = append(lines, lateText(e)+" "+string(e.Detail.Severity))
		}
	}
	return lines
}

func TestInputThatChangesAfterItsRunIsReportedOnce(t *testing.T) {
	const info, warning = "checked/rows: report info", "checked/rows: report warning"
	for name, c := range map[string]struct {
		keys, rules   string
		before, after []string
		want          []string
	}{
		"it still passes":                        {after: []string{"checked/rows#2026-03-03 count=15"}, want: []string{info}},
		"it would not have passed":               {after: []string{"checked/rows#2026-03-03 count=5"}, want: []string{warning}},
		"it changes twice":                       {after: []string{"checked/rows#2026-03-03 count=15", "checked/rows#2026-03-03 count=5"}, want: []string{info}},
		"it moves back":                          {after: []string{"checked/rows#2026-03-03 count=5", "checked/rows#2026-03-03 count=12"}, want: []string{warning}},
		"the same again":                         {after: []string{"checked/rows#2026-03-03 count=12 source=a"}, want: []string{}},
		"the same number, written differently":   {after: []string{"checked/rows#2026-03-03 count=12 date=20260303"}, want: []string{}},
		"a field that no rule reads":             {after: []string{"checked/rows#2026-03-03 count=12 source=b"}, want: []string{}},
		"the field is gone":                      {after: []string{"checked/rows#2026-03-03 source=a"}, want: []string{warning}},
		"another period":                         {after: []string{"checked/rows#2026-03-02 count=5"}, want: []string{}},
		"an undated reading":                     {after: []string{"checked/rows count=5"}, want: []string{}},
		"it is deleted":                          {after: []string{"checked/rows#2026-03-03"}, want: []string{}},
		"it is deleted and written again":        {after: []string{"checked/rows#2026-03-03", "checked/rows#2026-03-03 count=12"}, want: []string{}},
		"a rule that reads the reading as such":  {rules: "- {key: file, check: exists}", before: []string{"checked/file#2026-03-03 etag=1"}, after: []string{"checked/file#2026-03-03 etag=2"}, want: []string{"checked/file: report info"}},
		"an undated standing fact":               {rules: "- {key: file, check: exists}", before: []string{"checked/file etag=1"}, after: []string{"checked/file etag=2"}, want: []string{}},
		"read through from":                      {rules: "- {key: file, from: shared, check: exists}", before: []string{"shared/file#2026-03-03 etag=1"}, after: []string{"shared/file#2026-03-03 etag=2"}, want: []string{"shared/file: report info"}},
		"an advisory rule":                       {rules: "- {key: file, check: exists, level: advisory}", before: []string{"checked/file#2026-03-03 etag=1"}, after: []string{"checked/file#2026-03-03 etag=2"}, want: []string{}},
		"one rule of several is enough":          {rules: "- {any: [{key: a, check: equals, field: ok, value: \"yes\"}, {key: b, check: equals, field: ok, value: \"yes\"}]}", before: []string{"checked/a#2026-03-03 ok=yes", "checked/b#2026-03-03 ok=yes"}, after: []string{"checked/a#2026-03-03 ok=no"}, want: []string{"checked/a: report info"}},
		"a negated rule":                         {rules: "- {not: {key: a, check: equals, field: ok, value: \"yes\"}}", before: []string{"checked/a#2026-03-03 ok=no"}, after: []string{"checked/a#2026-03-03 ok=yes"}, want: []string{"checked/a: report warning"}},
		"a rule without a reading at the start":  {rules: "- {not: {key: hold, check: exists}}", after: []string{"checked/hold#2026-03-03 why=x"}, want: []string{}},
		"settled data":                           {rules: "- {key: rows, check: gte, field: count, value: 1, settled: 1ms}", before: []string{"shared/time passes=1"}, after: []string{"checked/rows#2026-03-03 count=15"}, want: []string{info}},
		"a day's fact of a larger period":        {rules: "- {key: file, check: exists}", before: []string{"checked/file#2026-03 etag=1"}, after: []string{"checked/file#2026-03 etag=2"}, want: []string{"checked/file: report info"}},
		"ignored":                                {keys: "lateData: ignore", after: []string{"checked/rows#2026-03-03 count=5", "checked/arrival#2026-03-03 status=ready n=2"}, want: []string{}},
		"the start condition, only reported":     {keys: "lateData: report", after: []string{"checked/arrival#2026-03-03 status=ready n=2"}, want: []string{"checked/arrival: report info"}},
		"the start condition is no longer met":   {keys: "lateData: rerun", after: []string{"checked/arrival#2026-03-03 status=no"}, want: []string{"checked/arrival: report warning"}},
		"two sensors":                            {rules: "- {key: file, check: exists}", before: []string{"checked/file#2026-03-03 etag=1"}, after: []string{"checked/file#2026-03-03 etag=2", "checked/rows#2026-03-03 count=5"}, want: []string{"checked/file: report info", warning}},
		"rerun, but the start condition is lost": {keys: "lateData: rerun", after: []string{"checked/arrival#2026-03-03 status=no", "checked/rows#2026-03-03 count=15"}, want: []string{"checked/arrival: report warning", info}},
	} {
		t.Run(name, func(t *testing.T) {
			w := checkedDone(t, c.keys, c.rules, c.before...)
			w.writeAll(c.after...)
			w.expect(checkedRun, "COMPLETED 1")
			same(t, "late data", c.want, w.late())
		})
	}
}

func TestLateDataSaysWhatWasUsedAndWhatIsAffected(t *testing.T) {
	w := checkedDone(t, "", "")
	w.apply("pipeline: {id: gold, owner: data}\nschedule: {after: [checked]}\n",
		"pipeline: {id: mart, owner: data}\nvalidation: {rules: [{key: x, check: exists, from: gold}]}\n")
	w.Settle()
	w.Write("checked", "rows#2026-03-03", "count=5", "source=a")
	late := w.only(event.LateDataArrival)
	got := late.Detail.Extra.(event.Late)
	if got.SnapshotVersion == 0 {
		t.Error("the version of the reading that was used is missing")
	}
	got.SnapshotVersion = 0
	same(t, "detail", event.Late{
		Sensors: []string{"checked/rows"}, Reason: "report", Pipeline: "checked", Period: w.Period("2026-03-03"), Key: "rows",
		Was: map[string]any{"count": "12"}, Now: map[string]any{"count": "5"}, Downstream: []string{"gold", "mart"},
	}, got)
	same(t, "message", `checked/rows changed after the job of attempt 1 started: count was "12", is "5"; the gate would have stayed closed; `+
		"no rerun follows (validation.lateData: report); affected downstream: gold, mart", late.Detail.Message)
}

func TestLateDataReruns(t *testing.T) {
	w := checkedDone(t, "lateData: rerun", "")
	w.Write("checked", "rows#2026-03-03", "count=15")
	w.expect(checkedRun, "RUNNING 2")
	same(t, "cause", run.CauseLateData, w.run(checkedRun).Progress.Opening.Cause)
	w.sleep(time.Minute)
	w.succeed(checkedRun)
	w.sleep(time.Minute)
	w.writeAll("checked/rows#2026-03-03 count=15", "checked/rows#2026-03-03 count=16", "checked/rows#2026-03-03 count=17")
	w.expect(checkedRun, "COMPLETED 2")
	same(t, "late data", []string{"checked/rows: rerun info", "checked/rows: budget spent info"}, w.late())
}

func TestLateDataThatClosesTheGateWaitsInAnotherAttempt(t *testing.T) {
	w := checkedDone(t, "lateData: rerun", "")
	w.Write("checked", "rows#2026-03-03", "count=5")
	w.expect(checkedRun, "PENDING 2")
	w.sleep(time.Minute)
	w.Write("checked", "rows#2026-03-03", "count=13")
	w.expect(checkedRun, "RUNNING 2")
	same(t, "late data", []string{"checked/rows: rerun warning"}, w.late())
}

func TestInputsThatHadChangedCountWithAnAnnouncement(t *testing.T) {
	w := checkedDone(t, "", "")
	w.writeAll("checked/rows#2026-03-03 count=15", "checked/arrival#2026-03-03 status=ready")
	w.expect(checkedRun, "RUNNING 2")
	same(t, "late data", []string{"checked/rows: report info"}, w.late())
}

func TestInputThatChangedWhileTheJobRanIsJudgedAtCompletion(t *testing.T) {
	for name, c := range map[string]struct {
		keys, ends string
		want       []string
	}{
		"reported": {ends: "COMPLETED 1", want: []string{"checked/rows: report warning"}},
		"rerun":    {keys: "lateData: rerun", ends: "PENDING 2", want: []string{"checked/rows: rerun warning"}},
		"ignored":  {keys: "lateData: ignore", ends: "COMPLETED 1", want: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(checked, c.keys, ""))
			w.writeAll("checked/rows#2026-03-03 count=12", "checked/arrival#2026-03-03 status=ready", "checked/rows#2026-03-03 count=5")
			same(t, "while it runs", []string{}, w.late())
			w.succeed(checkedRun)
			w.expect(checkedRun, c.ends)
			same(t, "late data", c.want, w.late())
		})
	}
}

func TestInputThatMovedBackBeforeTheEndIsNotLateData(t *testing.T) {
	w := newWorld(t, fmt.Sprintf(checked, "lateData: rerun", ""))
	w.writeAll("checked/rows#2026-03-03 count=12", "checked/arrival#2026-03-03 status=ready", "checked/rows#2026-03-03 count=5", "checked/rows#2026-03-03 count=12")
	w.succeed(checkedRun)
	w.expect(checkedRun, "COMPLETED 1")
	same(t, "late data", []string{}, w.late())
}

func TestResultsThatTheAttemptItselfWroteAreNotLateData(t *testing.T) {
	w := checkedDone(t, "lateData: rerun", "- {key: dbt/run, check: exists}", "checked/dbt/run#2026-03-03 status=pass")
	write := func(source, status string) {
		r := sensor.Reading{Key: "dbt/run", Period: w.Period("2026-03-03"), Fields: sensor.Fields{"status": status}, Source: source}
		_, err := w.Store.PutReadings(ctx, []store.Write{{Pipeline: "checked", Reading: r}}, w.Now())
		w.Check(err)
		w.Settle()
	}
	write(w.run(checkedRun).ID().Source(), "warn")
	w.expect(checkedRun, "COMPLETED 1")
	same(t, "its own", []string{}, w.late())
	w.sleep(time.Second)
	write("etl", "fail")
	w.expect(checkedRun, "RUNNING 2")
}

func TestLaterAttemptIsComparedWithItsOwnInputs(t *testing.T) {
	w := checkedDone(t, "", "")
	w.Write("checked", "rows#2026-03-03", "count=15")
	w.rerun(router.RerunRequest{ID: "1", Pipeline: "checked", Period: w.Period("2026-03-03")})
	w.sleep(time.Minute)
	w.succeed(checkedRun)
	w.expect(checkedRun, "COMPLETED 2")
	w.sleep(time.Minute)
	w.Write("checked", "rows#2026-03-03", "count=15", "source=x")
	same(t, "what it used", 1, w.count(event.LateDataArrival))
	w.Write("checked", "rows#2026-03-03", "count=16")
	same(t, "late data", 2, w.count(event.LateDataArrival))
}

func TestLateDataInAPauseIsReportedAtOnceAndRerunsAfterIt(t *testing.T) {
	for keys, ends := range map[string]string{"lateData: report": "COMPLETED 1", "lateData: rerun": "RUNNING 2"} {
		w := checkedDone(t, keys, "")
		w.pause("checked", store.Pause{})
		w.sleep(time.Minute)
		w.Write("checked", "rows#2026-03-03", "count=15")
		w.expect(checkedRun, "COMPLETED 1")
		if keys == "lateData: report" {
			same(t, keys, []string{"checked/rows: report info"}, w.late())
		}
		w.resume("checked")
		w.expect(checkedRun, ends)
		same(t, keys, 1, w.count(event.LateDataArrival))
	}
}

func TestLateDataOfADowntimeIsReportedOncePerSensor(t *testing.T) {
	w := checkedDone(t, "", "")
	w.Put("checked", "rows#2026-03-03", "count=15")
	w.sleep(time.Hour)
	w.Put("checked", "rows#2026-03-03", "count=5")
	backlog := w.Changes()
	for range 2 {
		for _, c := range backlog {
			w.Check(w.Router.Handle(ctx, c, w.Now()))
		}
	}
	same(t, "late data", []string{"checked/rows: report warning"}, w.late())
}

func TestInputOfAnExcludedPeriodIsNotLateData(t *testing.T) {
	w := checkedDone(t, "lateData: rerun", "")
	w.apply(strings.Replace(fmt.Sprintf(checked, "lateData: rerun", ""), "schedule: {", "schedule: {exclude: {dates: [2026-03-03]}, ", 1))
	w.Settle()
	w.Write("checked", "rows#2026-03-03", "count=15")
	w.expect(checkedRun, "COMPLETED 1")
	same(t, "late data", []string{}, w.late())
}

func TestEditedRuleReadsNothingThatTheAttemptDidNotRead(t *testing.T) {
	w := checkedDone(t, "", "")
	w.apply(fmt.Sprintf(strings.Replace(checked, "field: count", "field: source", 1), "", ""))
	w.Settle()
	w.Write("checked", "rows#2026-03-03", "count=12", "source=b")
	same(t, "a field that the attempt did not read", []string{}, w.late())
	w.Write("checked", "rows#2026-03-03", "count=5", "source=b")
	same(t, "a field that it read", []string{"checked/rows: report warning"}, w.late())
}

func TestManyInputsThatChangeWhileTheJobRunsAreAllReported(t *testing.T) {
	const n = 120
	rules := strings.Builder{}
	for i := range n {
		fmt.Fprintf(&rules, "- {key: k%d, check: exists}\n    ", i)
	}
	for _, keys := range []string{"lateData: report", "lateData: rerun"} {
		w := newWorld(t, fmt.Sprintf(checked, keys, rules.String()))
		w.Put("checked", "rows#2026-03-03", "count=12")
		for i := range n {
			w.Put("checked", fmt.Sprintf("k%d#2026-03-03", i), "n=1")
		}
		w.Write("checked", "arrival#2026-03-03", "status=ready")
		w.sleep(time.Minute)
		for i := range n {
			w.Put("checked", fmt.Sprintf("k%d#2026-03-03", i), "n=2")
		}
		w.Settle()
		w.succeed(checkedRun)
		page, err := w.Store.Events(ctx, store.EventQuery{Pipeline: "checked", Type: event.LateDataArrival, Limit: store.MaxPage})
		w.Check(err)
		same(t, keys, n, len(page.Items))
	}
}

// windows are runs over several periods: of the last three days, and of the days of a month.
const windows = `
pipeline: {id: %s, owner: data}
schedule: {trigger: {key: close, check: exists}, period: %s}
validation: {rules: [{key: rows, check: gte, field: count, value: 10, over: %s}], lateData: %s}
job: {type: command, config: {command: "true"}}
`

func TestChangedPeriodOfARuleOverSeveralIsLateDataOfEachRun(t *testing.T) {
	w := newWorld(t, fmt.Sprintf(windows, "last", "day", "{last: 3, of: day, atLeast: 2}", "report"))
	for day := range 6 {
		w.Put("last", fmt.Sprintf("rows#2026-03-0%d", day+1), "count=12", "n=1")
	}
	for day := range 6 {
		w.Write("last", fmt.Sprintf("close#2026-03-0%d", day+1), "n=1")
		if key := fmt.Sprintf("last/stream/2026-03-0%d", day+1); day > 0 {
			w.sleep(time.Minute)
			w.succeed(key)
		}
	}
	w.sleep(time.Minute)
	w.Write("last", "rows#2026-03-03", "count=12", "n=2")
	same(t, "a field that no rule reads", []string{}, w.late())
	w.Write("last", "rows#2026-03-03", "count=5")
	var dates []string
	for _, e := range w.events() {
		if late, is := e.Detail.Extra.(event.Late); is {
			dates = append(dates, e.Detail.Date.String())
			same(t, "period", w.Period("2026-03-03"), late.Period)
			same(t, "was", map[string]any{"count": "12"}, late.Was)
			same(t, "severity", event.Info, e.Detail.Severity) // two of three are enough
		}
	}
	slices.Sort(dates)
	same(t, "runs", []string{"2026-03-03", "2026-03-04", "2026-03-05"}, dates)
}

func TestPeriodThatArrivesAfterARuleOverSeveralHasPassedIsLateData(t *testing.T) {
	for size, date := range map[string]string{"month": "2026-02", "quarter": "2026-Q1"} {
		t.Run(size, func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(windows, "whole", size, "{slices: day, atLeast: 2}", "rerun"))
			w.Put("whole", "rows#2026-02-01", "count=12")
			w.Put("whole", "rows#2026-02-02", "count=12")
			w.Write("whole", "close#"+date, "n=1")
			w.sleep(time.Minute)
			w.succeed("whole/stream/" + date)
			w.expect("whole/stream/"+date, "COMPLETED 1")
			w.sleep(time.Minute)
			w.Write("whole", "rows#2026-02-03", "count=7")
			w.expect("whole/stream/"+date, "RUNNING 2")
			late := w.only(event.LateDataArrival)
			same(t, "late", "whole/rows: rerun", lateText(late))
			same(t, "period", "2026-02-03", late.Detail.Extra.(event.Late).Period.String())
		})
	}
}

func TestLateDataOfADryRun(t *testing.T) {
	for keys, want := range map[string][]string{
		"":                 {"checked/rows: report info", "checked/rows: rerun info", "checked/arrival: rerun info"},
		"lateData: report": {"checked/rows: report info", "checked/arrival: report info"},
		"lateData: rerun":  {"checked/rows: rerun info", "checked/arrival: rerun info", "checked/rows: rerun info"},
		"lateData: ignore": {},
	} {
		w := newWorld(t, fmt.Sprintf(checked, keys, "")+"dryRun: true\n")
		w.writeAll("checked/rows#2026-03-03 count=12", "checked/arrival#2026-03-03 status=ready")
		w.sleep(time.Minute)
		w.writeAll("checked/rows#2026-03-03 count=15", "checked/arrival#2026-03-03 status=ready n=2", "checked/rows#2026-03-03 count=16")
		same(t, keys, want, w.late())
		w.expect(checkedRun, "none")
	}
}

func TestAgesOfLateDataCountAsAtTheStart(t *testing.T) {
	const rules = `- {key: rows, check: age_lt, field: updatedAt, value: 1h}
    - {key: rows, check: gte, field: count, value: 1, settled: 1s}
    - {key: other, check: age_lt, field: updatedAt, value: 1h}
    - {key: rows, check: age_lt, field: made, value: 1h}`
	for made, want := range map[string]string{"2026-03-03T14:00:00Z": "info", "2026-03-03T09:00:00Z": "warning"} {
		w := newWorld(t, fmt.Sprintf(checked, "", rules))
		w.Put("checked", "rows#2026-03-03", "count=12", "made=2026-03-03T09:00:00Z")
		w.Put("checked", "other#2026-03-03", "n=1")
		w.sleep(time.Minute)
		w.Write("checked", "arrival#2026-03-03", "status=ready")
		w.sleep(time.Minute)
		w.succeed(checkedRun)
		w.expect(checkedRun, "COMPLETED 1")
		w.Move(time.Date(2026, 3, 3, 14, 30, 0, 0, time.UTC))
		w.Write("checked", "rows#2026-03-03", "count=13", "made="+made)
		same(t, made, []string{"checked/rows: report " + want}, w.late())
	}
}

func TestUpstreamThatIsOpenAgainDoesNotHideLateData(t *testing.T) {
	w := newWorld(t, "pipeline: {id: raw, owner: data}\nschedule: {trigger: {key: upload, check: exists}}\njob: {type: command, config: {command: \"true\"}}\n",
		"pipeline: {id: clean, owner: data}\nschedule: {after: [raw]}\nvalidation: {rules: [{key: rows, check: exists}]}\njob: {type: command, config: {command: \"true\"}}\n")
	w.writeAll("clean/rows#2026-03-03 n=1", "raw/upload#2026-03-03 n=1")
	w.succeed("raw/stream/2026-03-03")
	w.expect("clean/stream/2026-03-03", "RUNNING 1")
	w.sleep(time.Minute)
	w.writeAll("clean/rows#2026-03-03 n=2", "raw/upload#2026-03-03 n=2")
	w.succeed("clean/stream/2026-03-03")
	w.expect("clean/stream/2026-03-03", "COMPLETED 1")
	same(t, "late data", []string{"raw/upload: rerun info", "clean/rows: report info"}, w.late())
	w.succeed("raw/stream/2026-03-03")
	w.expect("clean/stream/2026-03-03", "RUNNING 2")
	same(t, "then", "clean/run/raw: rerun warning", w.late()[2])
}

func TestFirstReadingOfTheStartConditionAfterAForcedRunRerunsIt(t *testing.T) {
	for name, c := range map[string]struct {
		writes []string
		ends   string
		want   []string
	}{
		"it meets the condition":    {[]string{"checked/arrival#2026-03-03 status=ready"}, "RUNNING 2", []string{"checked/arrival: rerun info"}},
		"it does not":               {[]string{"checked/arrival#2026-03-03 status=pending"}, "COMPLETED 1", []string{}},
		"a rule's first reading":    {[]string{"checked/late#2026-03-03 n=1"}, "COMPLETED 1", []string{}},
		"and then the announcement": {[]string{"checked/late#2026-03-03 n=1", "checked/arrival#2026-03-03 status=ready"}, "RUNNING 2", []string{"checked/late: rerun info", "checked/arrival: rerun info"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fmt.Sprintf(checked, "", "- {any: [{key: late, check: exists}, {key: rows, check: exists}]}"))
			w.Write("checked", "rows#2026-03-03", "count=12")
			w.trigger("checked", "2026-03-03")
			w.sleep(time.Minute)
			w.succeed(checkedRun)
			w.expect(checkedRun, "COMPLETED 1")
			w.sleep(time.Minute)
			w.writeAll(c.writes...)
			w.expect(checkedRun, c.ends)
			same(t, "late data", c.want, w.late())
		})
	}
}
