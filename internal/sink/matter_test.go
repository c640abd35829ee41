package sink_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
)

var (
	noon     = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	third, _ = period.Parse("2026-03-03")
)

// newEvent returns an event of a type about the orders of 3 March.
func newEvent(t event.Type, extra event.Extra) event.Event {
	return event.New(t, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Date: third, Attempt: 1, At: noon}, "message", extra)
}

func TestMatterIsOpenedRecoversAndCloses(t *testing.T) {
	for name, c := range map[string]struct {
		events []event.Event
		want   sink.State
	}{
		"information opens nothing":                 {[]event.Event{newEvent(event.TriggerStarted, event.Opening{})}, ""},
		"a warning opens":                           {[]event.Event{newEvent(event.JobFailed, event.Finished{})}, sink.Opened},
		"a retry leaves it open":                    {[]event.Event{newEvent(event.JobFailed, event.Finished{}), newEvent(event.RetryScheduled, event.Budget{})}, sink.Opened},
		"success after a failure recovers":          {[]event.Event{newEvent(event.JobFailed, event.Finished{}), newEvent(event.JobCompleted, event.Finished{})}, sink.Recovered},
		"success twice is still a recovery":         {[]event.Event{newEvent(event.JobFailed, event.Finished{}), newEvent(event.JobCompleted, event.Finished{}), newEvent(event.PostRunPassed, event.Gate{})}, sink.Recovered},
		"success alone is no recovery":              {[]event.Event{newEvent(event.JobCompleted, event.Finished{})}, sink.Closed},
		"a spent budget does not close":             {[]event.Event{newEvent(event.JobFailed, event.Finished{}), newEvent(event.RetryExhausted, event.Budget{})}, sink.Opened},
		"a cancelled run is closed":                 {[]event.Event{newEvent(event.JobFailed, event.Finished{}), newEvent(event.RunCancelled, event.Left{})}, sink.Closed},
		"drift opens again":                         {[]event.Event{newEvent(event.JobCompleted, event.Finished{}), newEvent(event.PostRunDrift, event.Drift{})}, sink.Opened},
		"a refused request changes nothing":         {[]event.Event{newEvent(event.JobCompleted, event.Finished{}), newEvent(event.RerunRejected, event.Refusal{})}, sink.Closed},
		"an alarm that is over recovers":            {[]event.Event{newEvent(event.InfraAlarm, event.Alarm{State: "ALARM"}), newEvent(event.InfraAlarm, event.Alarm{State: "OK"})}, sink.Recovered},
		"a file that is good again recovers":        {[]event.Event{newEvent(event.ConfigRejected, event.Config{}), newEvent(event.ConfigAccepted, event.Config{})}, sink.Recovered},
		"a removed file is reported until replaced": {[]event.Event{newEvent(event.ConfigRemoved, event.Config{})}, sink.Opened},
	} {
		var got sink.State
		for _, e := range c.events {
			got = got.After(e)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestEventsOfOneRunAreOneMatter(t *testing.T) {
	platform := event.New(event.WatchdogDegraded, event.About{At: noon}, "m", event.Degraded{})
	config := event.New(event.ConfigRejected, event.About{Pipeline: "orders", At: noon}, "m", event.Config{})
	for name, c := range map[string]struct {
		e    event.Event
		want string
	}{
		"a run":           {newEvent(event.JobFailed, event.Finished{}), "orders/cron/2026-03-03"},
		"its other event": {newEvent(event.SLABreach, event.Deadline{}), "orders/cron/2026-03-03"},
		"a file":          {config, "orders/config"},
		"a file again":    {newEvent(event.ConfigAccepted, event.Config{}), "orders/config"},
		"a pause":         {newEvent(event.PipelinePaused, event.Pause{}), "orders/pause"},
		"a pause of all":  {newEvent(event.PipelineResumed, event.Pause{All: true}), "orders/pause-all"},
		"an alarm":        {newEvent(event.InfraAlarm, event.Alarm{Alarm: "Errors"}), "alarm/errors"},
		"anything else":   {platform, "event/" + platform.ID},
	} {
		if got := sink.Matter(c.e); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if sink.AboutRun(platform) || sink.AboutRun(config) || !sink.AboutRun(newEvent(event.JobFailed, event.Finished{})) {
		t.Error("only an event with pipeline, schedule and period is about a run")
	}
}

func TestOnlyWhatChangesAnOpenMatterSettlesIt(t *testing.T) {
	if !sink.Settles(newEvent(event.JobCompleted, event.Finished{})) || !sink.Settles(newEvent(event.RunCancelled, event.Left{})) {
		t.Error("success and cancelling settle")
	}
	if sink.Settles(newEvent(event.RetryScheduled, event.Budget{})) || sink.Settles(newEvent(event.JobFailed, event.Finished{})) {
		t.Error("a retry and a failure do not settle")
	}
}
