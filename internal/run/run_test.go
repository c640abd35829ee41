package run_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var (
	noon   = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	limits = run.Limits{
		Window: time.Hour, Interval: 5 * time.Minute,
		PollInterval: 30 * time.Second, PollWindow: time.Hour,
		RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second,
	}
)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func opened(t testing.TB) run.Run {
	t.Helper()
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: mustPeriod(t, "2026-03-03")}
	r, err := run.New(key, run.Opening{Cause: run.CauseCron, ConfigVersion: "v1", Limits: limits, At: noon})
	return must(t, r, err)
}

func must(t testing.TB, r run.Run, err error) run.Run {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// triggering returns a run that has made its first start call at minute 0.
func triggering(t testing.TB) run.Run {
	t.Helper()
	r, err := opened(t).Evaluated(true, noon)
	r = must(t, r, err)
	r, err = r.Trigger(run.Start{Snapshot: "s1"}, noon)
	return must(t, r, err)
}

func running(t testing.TB) run.Run {
	t.Helper()
	r, err := triggering(t).Started("pid 1", noon)
	return must(t, r, err)
}

func ended(t testing.TB, rep run.Report) run.Run {
	t.Helper()
	r := running(t)
	r, err := r.Reported(run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: rep}, at(1))
	r = must(t, r, err)
	r, err = r.Complete(at(1))
	return must(t, r, err)
}

func TestOpenedRunMayEvaluateAtOnce(t *testing.T) {
	r := opened(t)
	if r.Status != run.Pending || r.Attempt != 1 || r.Version != 1 || r.ID() != "orders/cron/2026-03-03/1" {
		t.Errorf("opened as %s attempt %d version %d id %s", r.Status, r.Attempt, r.Version, r.ID())
	}
	p := r.Progress
	if !p.NextEvaluation.Equal(noon) || !p.WindowEnd.Equal(at(60)) || !p.LimitAt.Equal(at(240)) {
		t.Errorf("next evaluation %s, window end %s, limit %s", p.NextEvaluation, p.WindowEnd, p.LimitAt)
	}
}

func TestWindowAndLimitCountFromTheEarliestStart(t *testing.T) {
	r, err := run.New(opened(t).Key, run.Opening{Limits: limits, At: noon, From: at(90)})
	p := must(t, r, err).Progress
	if !p.NextEvaluation.Equal(at(90)) || !p.WindowEnd.Equal(at(150)) || !p.LimitAt.Equal(at(330)) {
		t.Errorf("next evaluation %s, window end %s, limit %s", p.NextEvaluation, p.WindowEnd, p.LimitAt)
	}
}

func TestTimeLimitCoversWindowAndPollWindow(t *testing.T) {
	for name, c := range map[string]struct {
		limits run.Limits
		want   time.Duration
	}{
		"server limit": {limits, 4 * time.Hour},
		"what they need, if more": {
			run.Limits{Window: 3 * time.Hour, Interval: time.Minute, PollInterval: time.Minute, PollWindow: 2 * time.Hour, RunTimeout: 4 * time.Hour},
			5*time.Hour + 30*time.Minute,
		},
		"nonsense still ends": {run.Limits{Window: -1, Interval: -1, PollWindow: -1, RunTimeout: -1}, time.Second + 30*time.Minute},
	} {
		if got := c.limits.TimeLimit(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	huge := run.Limits{Window: 1<<63 - 1, PollWindow: 1<<63 - 1, RunTimeout: 1<<63 - 1}
	if got := huge.TimeLimit(); got <= 0 {
		t.Errorf("the largest limits overflow to %s", got)
	}
}

func TestInvalidLimitsAreClamped(t *testing.T) {
	const years = 10 * 366 * 24 * time.Hour
	for name, c := range map[string]struct{ given, want run.Limits }{
		"nothing": {run.Limits{}, run.Limits{Window: time.Second, Interval: time.Second, StartTries: 1}},
		"negative": {
			run.Limits{Window: -1, Interval: -1, PollInterval: -1, PollWindow: -1, RunTimeout: -1, StartTries: -1, StartBackoff: -1},
			run.Limits{Window: time.Second, Interval: time.Second, PollInterval: time.Second, PollWindow: time.Second, StartTries: 1},
		},
		"endless": {
			run.Limits{Window: 1<<63 - 1, Interval: 1<<63 - 1, PollInterval: 1<<63 - 1, PollWindow: 1<<63 - 1, RunTimeout: 1<<63 - 1, StartTries: 1<<63 - 1, StartBackoff: 1<<63 - 1},
			run.Limits{Window: years, Interval: years, PollInterval: years, PollWindow: years, RunTimeout: years, StartTries: 1000, StartBackoff: years},
		},
		"a window below its interval": {
			run.Limits{Window: time.Minute, Interval: time.Hour, PollInterval: time.Hour, PollWindow: time.Minute, StartTries: 3},
			run.Limits{Window: time.Hour, Interval: time.Hour, PollInterval: time.Hour, PollWindow: time.Hour, StartTries: 3},
		},
	} {
		r, err := run.New(opened(t).Key, run.Opening{Limits: c.given, At: noon})
		if diff := cmp.Diff(c.want, must(t, r, err).Progress.Opening.Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEachCauseUsesItsOwnCounter(t *testing.T) {
	failed := ended(t, run.Report{Result: run.ResultFail})
	done := ended(t, run.Report{Result: run.ResultSuccess})
	exhausted, err := opened(t).Exhausted("closed", run.NothingLeft, at(60))
	exhausted = must(t, exhausted, err)
	for cause, c := range map[run.Cause]struct {
		from run.Run
		want run.Counters
	}{
		run.CauseTransient: {failed, run.Counters{Retries: 1}},
		run.CauseTimeout:   {failed, run.Counters{Retries: 1}},
		run.CauseUnknown:   {failed, run.Counters{Retries: 1}},
		run.CauseCode:      {failed, run.Counters{CodeRetries: 1}},
		run.CauseDrift:     {done, run.Counters{DriftReruns: 1}},
		run.CauseLateData:  {done, run.Counters{DriftReruns: 1}},
		run.CauseUpstream:  {done, run.Counters{DriftReruns: 1}},
		run.CauseManual:    {done, run.Counters{ManualReruns: 1}},
		run.CauseReopened:  {exhausted, run.Counters{Reopenings: 1, ReopenedUntil: at(130)}},
	} {
		r, err := c.from.NextAttempt(run.Opening{Cause: cause, Limits: limits, At: at(70)})
		r = must(t, r, err)
		if diff := cmp.Diff(c.want, r.Counters); diff != "" || r.Counters.Used(cause) != 1 {
			t.Errorf("%s: used %d\n%s", cause, r.Counters.Used(cause), diff)
		}
		if r.Status != run.Pending || r.Attempt != 2 || r.Progress.Report.Result != "" || r.Progress.Handle != "" {
			t.Errorf("%s: attempt %d is %s with %+v", cause, r.Attempt, r.Status, r.Progress)
		}
	}
}

func TestForcedAttemptUsesNoBudget(t *testing.T) {
	done := ended(t, run.Report{Result: run.ResultSuccess})
	o := run.Opening{Cause: run.CauseManual, Forced: true, Limits: limits, At: at(9)}
	for _, signed := range []run.Opening{{}, {By: "ada"}, {Reason: "bad partition"}} {
		o.By, o.Reason = signed.By, signed.Reason
		if _, err := done.NextAttempt(o); err == nil {
			t.Errorf("forced by %q because of %q", o.By, o.Reason)
		}
	}
	o.By, o.Reason = "ada", "bad partition"
	r, err := done.NextAttempt(o)
	if got, want := must(t, r, err).Counters, (run.Counters{Forced: 1}); got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}
}

func TestFirstAttemptCauseOpensNoFurtherOne(t *testing.T) {
	done := ended(t, run.Report{Result: run.ResultSuccess})
	for _, cause := range []run.Cause{run.CauseCron, run.CauseInclude, run.CauseCondition, "", "whim"} {
		if r, err := done.NextAttempt(run.Opening{Cause: cause, Limits: limits, At: noon}); err == nil {
			t.Errorf("%q opened attempt %d", cause, r.Attempt)
		}
	}
}

func TestResultCountsForItsAttemptOnly(t *testing.T) {
	r := running(t)
	ok := run.Report{Result: run.ResultSuccess}
	other := r.Key
	other.Pipeline = "invoices"
	for name, o := range map[string]run.Outcome{
		"older attempt": {Key: r.Key, Attempt: 0, Report: ok},
		"later attempt": {Key: r.Key, Attempt: 2, Report: ok},
		"other run":     {Key: other, Attempt: 1, Report: ok},
		"no result":     {Key: r.Key, Attempt: 1},
		"odd result":    {Key: r.Key, Attempt: 1, Report: run.Report{Result: "maybe"}},
		"odd category":  {Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultFail, Category: "BAD"}},
	} {
		if got, err := r.Reported(o, noon); err == nil || got != r {
			t.Errorf("%s: accepted %+v, %v", name, o, err)
		}
	}
	o := run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultTimeout}}
	first, err := r.Reported(o, noon)
	if rep := must(t, first, err).Progress.Report; rep.Category != run.Timeout || !rep.At.Equal(noon) {
		t.Errorf("a timeout is %q, reported at %s", rep.Category, rep.At)
	}
	if _, err := first.Reported(o, noon); err == nil {
		t.Error("a result counted twice")
	}
}

func TestTimeOfAResultIsWithinItsAttempt(t *testing.T) {
	r := running(t)
	opened := r.Progress.Opening.At
	for name, c := range map[string]struct{ given, want time.Time }{
		"none":               {time.Time{}, at(5)},
		"in between":         {at(4), at(4)},
		"before the attempt": {opened.Add(-time.Hour), opened},
		"in the future":      {at(6), at(5)},
	} {
		next, err := r.Reported(run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultSuccess, At: c.given}}, at(5))
		next = must(t, next, err)
		if got := next.Progress.Report.At; !got.Equal(c.want) {
			t.Errorf("%s: reported at %s, want %s", name, got, c.want)
		}
	}
}

func TestSuccessCountsFromItsAcknowledgement(t *testing.T) {
	r := running(t)
	acknowledged := func(result run.Result) run.Run {
		next, err := r.Reported(run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: result}}, at(5))
		return must(t, next, err)
	}
	done, err := acknowledged(run.ResultSuccess).Complete(at(9))
	completed := must(t, done, err)
	again, err := completed.NextAttempt(run.Opening{Cause: run.CauseManual, At: at(20), Limits: limits})
	ended, err2 := acknowledged(run.ResultSuccess).Cancel("ada", "not needed", run.NothingLeft, at(6))
	for name, c := range map[string]struct {
		r    run.Run
		want time.Time
	}{
		"running":                           {r, time.Time{}},
		"with a success":                    {acknowledged(run.ResultSuccess), at(5)},
		"with a failure":                    {acknowledged(run.ResultFail), time.Time{}},
		"completed later":                   {completed, at(5)},
		"in another attempt":                {must(t, again, err), time.Time{}},
		"cancelled after it":                {must(t, ended, err2), time.Time{}},
		"completed without a stored report": {run.Run{Status: run.Completed, EndedAt: at(9)}, at(9)},
	} {
		if got := c.r.SucceededAt(); !got.Equal(c.want) {
			t.Errorf("%s: succeeded at %s, want %s", name, got, c.want)
		}
	}
}

func TestRunThatEndsWithoutAResultRecordsItsJob(t *testing.T) {
	r, err := running(t).PollExhausted(run.JobMayRun, at(61))
	r, err = must(t, r, err).GiveUp("no result", at(61))
	if r = must(t, r, err); r.Status != run.FailedFinal || r.Progress.Left != run.JobMayRun || r.Progress.Handle != "pid 1" {
		t.Errorf("%s, job %q %q", r.Status, r.Progress.Handle, r.Progress.Left)
	}
	r, err = running(t).Cancel("ada", "wrong day", run.JobStopped, at(5))
	if r = must(t, r, err); r.Status != run.Cancelled || r.Progress.Left != run.JobStopped {
		t.Errorf("%s, job %q", r.Status, r.Progress.Left)
	}
	r, err = opened(t).Cancel("ada", "wrong day", run.JobMayRun, at(5))
	if r = must(t, r, err); r.Progress.Left != run.NothingLeft {
		t.Errorf("a run that started nothing left %q", r.Progress.Left)
	}
}

func TestStartDeadlineClosesARunWithoutAnAttempt(t *testing.T) {
	r, err := run.Closed(opened(t).Key, noon)
	r = must(t, r, err)
	if r.Status != run.ValidationExhausted || r.Attempt != 0 || !r.StartDeadlinePassed || r.Reason != "start deadline" {
		t.Errorf("%s attempt %d because %q", r.Status, r.Attempt, r.Reason)
	}
	r, err = r.NextAttempt(run.Opening{Cause: run.CauseManual, Limits: limits, At: at(1)})
	if r = must(t, r, err); r.Status != run.Pending || r.Attempt != 1 {
		t.Errorf("rerun is %s attempt %d", r.Status, r.Attempt)
	}
}

func TestInvalidTransitionNamesBothStates(t *testing.T) {
	done := ended(t, run.Report{Result: run.ResultSuccess})
	got, err := done.Started("h", noon)
	if err == nil || got != done {
		t.Fatalf("got %v, %v", got, err)
	}
	for _, want := range []string{"from COMPLETED to RUNNING", "orders/cron/2026-03-03", "rerun"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

func TestRunRoundTripsThroughJSON(t *testing.T) {
	zone := time.FixedZone("UTC-5", -5*60*60)
	r, err := run.New(opened(t).Key, run.Opening{Cause: run.CauseCron, Limits: limits, At: noon.In(zone), From: at(1).In(zone)})
	r, err = must(t, r, err).Evaluated(true, at(2).In(zone))
	r, err = must(t, r, err).Trigger(run.Start{Snapshot: "s1"}, at(2).In(zone))
	r, err = must(t, r, err).Started("pid 1", at(2).In(zone))
	r, err = must(t, r, err).Polled(at(3).In(zone))
	r, err = must(t, r, err).Reported(run.Outcome{Key: r.Key, Attempt: 1, Report: run.Report{Result: run.ResultFail, At: at(4).In(zone)}}, at(5))
	r = must(t, r, err)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back run.Run
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back != r {
		t.Errorf("read back differently:\n%s", cmp.Diff(r, back, cmp.Comparer(func(a, b run.Key) bool { return a == b })))
	}
	for _, want := range []string{`"pipeline":"orders"`, `"schedule":"cron"`, `"date":"2026-03-03"`, `"status":"RUNNING"`, `"attempt":1`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(string(text), `""`) {
		t.Errorf("an empty string, which not every store can hold: %s", text)
	}
}

func TestRunIsComparable(t *testing.T) {
	if !reflect.TypeFor[run.Run]().Comparable() {
		t.Error("a field makes runs incomparable, or shared between copies")
	}
}
