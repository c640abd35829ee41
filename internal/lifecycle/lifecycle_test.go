package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// limits: window 60, interval 5, poll window 60, poll interval 10, time limit 240 minutes.
var limits = run.Limits{
	Window: time.Hour, Interval: 5 * time.Minute,
	PollInterval: 10 * time.Minute, PollWindow: time.Hour,
	RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: time.Minute,
}

// do is one change of a history, made at that many minutes after noon.
type do func(r run.Run) (run.Run, error)

func evaluated(open bool, minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Evaluated(open, at(minute)) }
}

func trigger(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Trigger(run.Start{Snapshot: "s"}, at(minute)) }
}

func started(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Started("h", at(minute)) }
}

func refused(minute int) do {
	return func(r run.Run) (run.Run, error) {
		return r.Refused(run.Report{Category: run.Transient, Message: "busy"}, at(minute))
	}
}

func polled(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Polled(at(minute)) }
}

func reported(result run.Result, minute int) do {
	return func(r run.Run) (run.Run, error) {
		return r.Reported(run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: run.Report{Result: result}}, at(minute))
	}
}

func complete(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Complete(at(minute)) }
}

func hold(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Hold("no answer", at(minute)) }
}

func waitForSlot(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.WaitForSlot(at(minute)) }
}

func wake(minute int) do {
	return func(r run.Run) (run.Run, error) { return r.Wake(at(minute)) }
}

// history returns a new run, opened at noon, after these changes.
func history(t testing.TB, l run.Limits, changes ...do) run.Run {
	t.Helper()
	p, err := period.Parse("2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: p}
	r, err := run.New(key, run.Opening{Cause: run.CauseCron, Limits: l, At: noon})
	for _, change := range changes {
		if err != nil {
			break
		}
		r, err = change(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAttemptTakesItsSteps(t *testing.T) {
	reporting := limits
	reporting.PollInterval, reporting.PollWindow = 0, 0
	for name, c := range map[string]struct {
		limits  run.Limits
		changes []do
		now     int
		want    lifecycle.Kind
		due     int
	}{
		"an opened run is evaluated at once":                    {limits, nil, 0, lifecycle.Evaluate, 0},
		"a late host still evaluates":                           {limits, nil, 42, lifecycle.Evaluate, 0},
		"a closed gate waits its interval":                      {limits, []do{evaluated(false, 0)}, 1, lifecycle.Wait, 5},
		"then it is evaluated again":                            {limits, []do{evaluated(false, 0)}, 5, lifecycle.Evaluate, 5},
		"a sensor write wakes it":                               {limits, []do{evaluated(false, 0), wake(2)}, 2, lifecycle.Evaluate, 2},
		"the wait ends with the window":                         {limits, []do{evaluated(false, 58)}, 58, lifecycle.Wait, 60},
		"the window ends with one last evaluation":              {limits, []do{evaluated(false, 58)}, 60, lifecycle.Evaluate, 60},
		"also if the host slept past it":                        {limits, []do{evaluated(false, 10)}, 100, lifecycle.Evaluate, 15},
		"closed to the end is exhausted":                        {limits, []do{evaluated(false, 60)}, 60, lifecycle.ValidationExhausted, 60},
		"open at the last evaluation starts":                    {limits, []do{evaluated(true, 60)}, 60, lifecycle.Trigger, 60},
		"an open gate starts":                                   {limits, []do{evaluated(true, 3)}, 3, lifecycle.Trigger, 3},
		"an old verdict is no verdict":                          {limits, []do{evaluated(true, 3)}, 8, lifecycle.Evaluate, 8},
		"a start without an answer is looked for":               {limits, []do{evaluated(true, 0), trigger(0)}, 2, lifecycle.CheckJob, 0},
		"a refused start waits its backoff":                     {limits, []do{evaluated(true, 0), trigger(0), refused(0)}, 0, lifecycle.Wait, 1},
		"then the gate is evaluated again":                      {limits, []do{evaluated(true, 0), trigger(0), refused(0)}, 1, lifecycle.Evaluate, 1},
		"then the start is repeated":                            {limits, []do{evaluated(true, 0), trigger(0), refused(0), evaluated(true, 1)}, 1, lifecycle.Trigger, 1},
		"or the gate is waited for again":                       {limits, []do{evaluated(true, 0), trigger(0), refused(0), evaluated(false, 1)}, 1, lifecycle.Wait, 6},
		"a held start waits for an operator":                    {limits, []do{evaluated(true, 0), trigger(0), hold(1)}, 100, lifecycle.Wait, 240},
		"until its time limit":                                  {limits, []do{evaluated(true, 0), trigger(0), hold(1)}, 240, lifecycle.InfraFailure, 240},
		"whose report completes it":                             {limits, []do{evaluated(true, 0), trigger(0), hold(1), reported(run.ResultSuccess, 9)}, 9, lifecycle.CompleteTrigger, 9},
		"a running job is polled each poll interval":            {limits, []do{evaluated(true, 0), trigger(0), started(0)}, 1, lifecycle.Wait, 10},
		"by the clock":                                          {limits, []do{evaluated(true, 0), trigger(0), started(0), polled(10)}, 20, lifecycle.CheckJob, 20},
		"the poll window ends with one last look":               {limits, []do{evaluated(true, 0), trigger(0), started(0), polled(55)}, 60, lifecycle.CheckJob, 60},
		"then it is exhausted":                                  {limits, []do{evaluated(true, 0), trigger(0), started(0), polled(60)}, 60, lifecycle.JobPollExhausted, 60},
		"a job that only reports is not polled":                 {reporting, []do{evaluated(true, 0), trigger(0), started(0)}, 100, lifecycle.Wait, 240},
		"a result completes at once":                            {limits, []do{evaluated(true, 0), trigger(0), started(0), reported(run.ResultFail, 3)}, 3, lifecycle.CompleteTrigger, 3},
		"even past the time limit":                              {limits, []do{evaluated(true, 0), trigger(0), started(0), reported(run.ResultSuccess, 3)}, 999, lifecycle.CompleteTrigger, 3},
		"a failure waits to be settled":                         {limits, []do{evaluated(true, 0), trigger(0), started(0), reported(run.ResultFail, 3), complete(3)}, 4, lifecycle.None, never},
		"however long that takes":                               {limits, []do{evaluated(true, 0), trigger(0), started(0), reported(run.ResultFail, 3), complete(3)}, 2400, lifecycle.None, never},
		"no start past the time limit":                          {limits, []do{evaluated(true, 239)}, 240, lifecycle.InfraFailure, 240},
		"a job is looked at once more before the limit ends it": {limits, []do{evaluated(true, 0), trigger(0), started(0)}, 300, lifecycle.CheckJob, 240},
		"then the limit ends it":                                {limits, []do{evaluated(true, 0), trigger(0), started(0), polled(300)}, 300, lifecycle.InfraFailure, 240},
		"without a slot it looks again each interval":           {limits, []do{evaluated(true, 0), waitForSlot(0)}, 1, lifecycle.Wait, 5},
		"past its window too, which stands still":               {limits, []do{evaluated(true, 0), waitForSlot(0)}, 100, lifecycle.Evaluate, 5},
		"and past its limit":                                    {limits, []do{evaluated(true, 0), waitForSlot(0), evaluated(true, 500), waitForSlot(500)}, 501, lifecycle.Wait, 505},
		"a freed slot wakes it":                                 {limits, []do{evaluated(true, 0), waitForSlot(0), wake(2)}, 2, lifecycle.Evaluate, 2},
		"and it is taken on a fresh verdict":                    {limits, []do{evaluated(true, 0), waitForSlot(0), evaluated(true, 300)}, 300, lifecycle.Trigger, 300},
		"closed while waiting, it has its window left":          {limits, []do{evaluated(true, 0), waitForSlot(0), evaluated(false, 300)}, 300, lifecycle.Wait, 305},
	} {
		got := lifecycle.Next(history(t, c.limits, c.changes...), at(c.now))
		due := at(c.due)
		if c.due == never {
			due = time.Time{}
		}
		if got.Kind != c.want || !got.Due.Equal(due) || got.Reason == "" {
			t.Errorf("%s: %s due %s (%s), want %s due %s", name, got.Kind, got.Due, got.Reason, c.want, due)
		}
	}
}

// never is the due time of a step that is not due.
const never = -1

func TestEndedOrFailedRunDoesNothing(t *testing.T) {
	for _, s := range append(run.Statuses(), "", "ODD") {
		r := history(t, limits)
		r.Status = s
		if got := lifecycle.Next(r, noon); (got.Kind == lifecycle.None) == (s.Open() && s != run.Failed) || got.Reason == "" {
			t.Errorf("%q: %+v", s, got)
		}
	}
}

func TestExhaustedPollIsCompleted(t *testing.T) {
	r, err := history(t, limits, evaluated(true, 0), trigger(0), started(0), polled(60)).PollExhausted(run.JobMayRun, at(60))
	if err != nil {
		t.Fatal(err)
	}
	if got := lifecycle.Next(r, at(61)); got.Kind != lifecycle.CompleteTrigger || !got.Due.Equal(at(60)) {
		t.Errorf("%+v", got)
	}
}

func TestRunWithoutATimeLimitIsEnded(t *testing.T) {
	for _, s := range []run.Status{run.Pending, run.Triggering, run.Running} {
		got := lifecycle.Next(run.Run{Status: s, UpdatedAt: at(-5)}, noon)
		if got.Kind != lifecycle.InfraFailure || !got.Due.Equal(at(-5)) || !strings.Contains(got.Reason, "no time limit") {
			t.Errorf("%s: %+v", s, got)
		}
	}
}
