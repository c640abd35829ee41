package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
)

var now = time.Date(2026, 3, 3, 10, 20, 30, 0, time.UTC)

// about is an event about someMinute of earthquake-silver.
func about(t event.Type, attempt int, message string, extra event.Extra) event.Event {
	return event.New(t, event.About{Pipeline: quakeSilver, Schedule: "stream", Date: someMinute, Attempt: attempt, At: now}, message, extra)
}

func TestEventsAreToldInSentences(t *testing.T) {
	code := 75
	tests := []struct {
		e    event.Event
		want string
	}{
		{about(event.TriggerStarted, 1, "attempt 1 opened: sensor minute-status meets the start condition", event.Opening{}), "opens a run: minute-status meets the start condition"},
		{about(event.TriggerStarted, 2, "attempt 2 opened: late data rerun 1 of 1", event.Opening{}), "opens attempt 2: late data rerun 1 of 1"},
		{about(event.ValidationPassed, 1, "the gate is open", event.Gate{}), "finds its gate open"},
		{about(event.JobFailed, 1, "the job failed: exit code 75", event.Finished{ExitCode: &code}), "has failed with exit code 75"},
		{about(event.JobFailed, 1, "the job failed: 503", event.Finished{}), "the job failed: 503"},
		{about(event.RetryScheduled, 1, "transient retry 1 of 2 in 2s", event.Budget{Used: 1, Max: 2, NextAttemptAt: now}), "is tried again at 10:20:30, retry 1 of 2"},
		{about(event.RetryExhausted, 1, "no budget", event.Budget{}), "has failed: no budget"},
		{about(event.RelativeSLAWarning, 0, "due at 2026-03-03T10:20:30Z: there is no run yet", event.Deadline{Deadline: now}), "may miss its deadline at 10:20:30: there is no run yet"},
		{about(event.RelativeSLABreach, 0, "not completed by 2026-03-03T10:20:30Z: attempt 1 is PENDING", event.Deadline{Deadline: now}), "has missed its deadline at 10:20:30: attempt 1 is PENDING"},
		{about(event.SLAMet, 0, "completed 10s before its deadline", event.Deadline{}), "is in time: completed 10s before its deadline"},
		{about(event.LateDataArrival, 1, "", event.Late{Sensors: []string{"earthquake-silver/minute-status"}, Reason: "rerun"}), "learns that minute-status has changed since its job started, so it runs again"},
		{about(event.LateDataArrival, 1, "", event.Late{Sensors: []string{"earthquake-silver/run/other"}, Reason: "budget spent"}), "learns that other has run again since its job started, but the budget is spent"},
		{about(event.PipelineExcluded, 0, "", event.Exclusion{Rule: `calendar "holidays"`}), `stays dormant, because of calendar "holidays"`},
		{about(event.PipelinePaused, 0, "paused by operator: maintenance", event.Pause{}), "is paused by operator: maintenance"},
		{about(event.ScheduleMissed, 0, "", event.Missed{Dates: []string{"2026-03-03T10:15"}}), "has no run, and it is too late for one"},
		{about(event.ScheduleMissed, 0, "", event.Missed{Dates: []string{"2026-03-03T10:14", "2026-03-03T10:15"}}), "and 1 other before it, from 10:14 on, have no run, and it is too late for them"},
		{about(event.DryRunSLAProjection, 1, "", event.Projection{Status: "met", MarginSeconds: 39}), "would meet its deadline with 39s to spare"},
		{about(event.InfraFailure, 1, "no answer", event.Infra{}), "no answer"},
	}
	for _, tt := range tests {
		if got := sentence(tt.e); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.e.Type, got, tt.want)
		}
	}
}

func TestColoursAreOnlyWhereTheyAreWanted(t *testing.T) {
	for _, colours := range []bool{false, true} {
		var out bytes.Buffer
		n := narrator{out: &out, colours: colours}
		n.heading("title")
		n.deed(now, operator, "looks")
		n.event(about(event.JobCompleted, 1, "", event.Finished{}), "done")
		if got := strings.Contains(out.String(), "\x1b"); got != colours {
			t.Errorf("colours %t: %q", colours, out.String())
		}
	}
}

func TestWhatJobsPrintCannotMoveTheCursor(t *testing.T) {
	var out bytes.Buffer
	n := narrator{out: &out}
	n.event(about(event.JobCompleted, 1, "", event.Finished{}), "\x1b[2J\rgone")
	if got, want := out.String(), "  10:20:30  earthquake-silver 10:15 is COMPLETED: ?[2J?gone (JOB_COMPLETED)\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProseFitsEveryTerminal(t *testing.T) {
	var out bytes.Buffer
	n := narrator{out: &out}
	for _, c := range chapters {
		n.prose(c.prose)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 80 || strings.Contains(line, "  ") {
			t.Errorf("too wide, or with gaps: %q", line)
		}
	}
}

func TestMinutesOfAnotherDayHaveTheirDate(t *testing.T) {
	tests := map[string]string{"2026-03-03T10:15": "10:15", "2026-01-01T00:00": "2026-01-01T00:00", "2026-03-03": "2026-03-03"}
	for name, want := range tests {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := short(p, now); got != want {
			t.Errorf("%s is shown as %s", name, got)
		}
	}
}
