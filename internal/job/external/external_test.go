package external_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/external"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Of the conformance suite, one claim applies: a start is refused and starts nothing. The worker
// protocol (claim, heartbeat, report) is tested with the API and in package promise.
func TestConformance(t *testing.T) {
	want := job.Refusal{Category: run.Permanent, Reason: "interlock exec"}
	jobtest.Run(t, jobtest.Bench{
		New:       func(*testing.T) job.Type { return external.Type{} },
		NewConfig: func() pipeline.JobConfig { return new(external.Config) },
		Refused:   []jobtest.Refusal{{Name: "with heartbeats", Config: "heartbeat: 30s", Want: want}, {Name: "without", Config: "heartbeat: 0", Want: want}},
		Starts:    func(*testing.T, run.AttemptID) int { return 0 }, // there is no target
	})
}

func attempt(t *testing.T, config string) (job.Attempt, *external.Config) {
	t.Helper()
	into := new(external.Config)
	return jobtest.Expand(t, jobtest.AttemptOf(t, "orders/cron/2026-03-03/1"), config, into), into
}

func TestHeartbeatIsTwoMinutesUnlessTheFileSaysOtherwise(t *testing.T) {
	for config, want := range map[string]time.Duration{"{}": 2 * time.Minute, "heartbeat: 10s": 10 * time.Second, "heartbeat: 0": 0} {
		_, c := attempt(t, config)
		if findings := c.Check(); c.HeartbeatLimit() != want || len(findings) > 0 {
			t.Errorf("%s: %s, with %v", config, c.HeartbeatLimit(), findings)
		}
	}
	tooShort := external.Config{Heartbeat: external.Heartbeat(9 * time.Second)}
	if findings := tooShort.Check(); len(findings) != 1 || findings[0].Path != "heartbeat" || !strings.Contains(findings[0].Message, "at least 10s, or 0") {
		t.Errorf("9s: %v", findings)
	}
}

func TestStopOnSilenceNeedsTimeToStop(t *testing.T) {
	for _, config := range []string{
		"{}", "onSilence: continue", "onSilence: stop", "{onSilence: stop, heartbeat: 30s}", "{onSilence: continue, heartbeat: 0}", "{onSilence: continue, heartbeat: 10s}",
	} {
		if _, c := attempt(t, config); len(c.Check()) > 0 {
			t.Errorf("%s: %v", config, c.Check())
		}
	}
	for _, heartbeat := range []time.Duration{0, 29 * time.Second} {
		c := external.Config{OnSilence: external.Stop, Heartbeat: external.Heartbeat(heartbeat)}
		if findings := c.Check(); len(findings) != 1 || findings[0].Path != "onSilence" || !strings.Contains(findings[0].Message, "at least 30s") {
			t.Errorf("%s: %v", heartbeat, findings)
		}
	}
}

// Only a worker knows the state of the job, so no call may return one.
func TestOnlyAWorkerKnowsTheJob(t *testing.T) {
	a, _ := attempt(t, "{}")
	for _, handle := range []run.Handle{"", "host-7"} {
		if status, err := (external.Type{}).Status(t.Context(), a, handle); err == nil || status.Done {
			t.Errorf("handle %q: %+v, %v", handle, status, err)
		}
	}
	var unsure *job.Unsure
	if err := (external.Type{}).Check(t.Context(), a); !errors.As(err, &unsure) || !strings.Contains(unsure.Reason, "interlock exec") {
		t.Errorf("check: %v", err)
	}
}
