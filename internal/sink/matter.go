package sink

import (
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// State is how the matter that events are about stands.
type State string

// The states of a matter.
//
//	"" ──warning, critical──> Opened ──it went well after all──> Recovered ──warning, critical──> Opened
//	                             └──somebody ended it──> Closed
const (
	Opened    State = "opened"    // something is wrong
	Recovered State = "recovered" // it was, and went well after all
	Closed    State = "closed"    // it ended, and nothing is left to do
)

// After is how a matter stands after e. A refused request is told like any other warning, but changes nothing.
func (s State) After(e event.Event) State {
	switch e.Type {
	case event.JobCompleted, event.PostRunPassed, event.ConfigAccepted, event.PipelineResumed:
		if s == Opened || s == Recovered {
			return Recovered
		}
		return Closed
	case event.RunCancelled, event.PipelineExcluded:
		return Closed
	case event.InfraAlarm:
		if alarm, ok := e.Detail.Extra.(event.Alarm); ok && alarm.State == "OK" {
			return Recovered
		}
		return Opened
	case event.RerunRejected:
		return s
	default:
		if e.Detail.Severity == event.Info {
			return s
		}
		return Opened
	}
}

// Settles says whether a matter that is open stands otherwise after e.
func Settles(e event.Event) bool { return Opened.After(e) != Opened }

// Matter is what e is about, as a key: a run where there is one, and otherwise what a later event can settle. Two events
// of one matter belong to one conversation.
func Matter(e event.Event) string {
	d := e.Detail
	switch e.Type {
	case event.ConfigAccepted, event.ConfigRejected, event.ConfigRemoved:
		return string(d.Pipeline) + "/config"
	case event.PipelinePaused, event.PipelineResumed:
		if p, ok := d.Extra.(event.Pause); ok && p.All {
			return string(d.Pipeline) + "/pause-all" // it ends apart from the pipeline's own
		}
		return string(d.Pipeline) + "/pause"
	case event.InfraAlarm:
		if alarm, ok := d.Extra.(event.Alarm); ok {
			return "alarm/" + strings.ToLower(alarm.Alarm)
		}
	}
	if AboutRun(e) {
		return run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}.String()
	}
	return "event/" + e.ID
}

// AboutRun says whether e is about a run, or about a period that should have had one.
func AboutRun(e event.Event) bool {
	d := e.Detail
	return d.Pipeline != "" && d.Schedule != "" && !d.Date.IsZero()
}

// maxTold is how many events are remembered: enough for those that a crash sends again.
const maxTold = 32

// Told are the ids of the latest events of a matter, so that a repeat is noticed.
type Told []string

// Has says whether an event was told.
func (t Told) Has(id string) bool { return slices.Contains(t, id) }

// Repeats says whether all that an alert tells was told. Of a burst whose last event settled its matter that event was, as
// soon as it happened, and the others were not.
func (t Told) Repeats(a Alert) bool { return t.Has(a.Event.ID) && (a.Count <= 1 || !Settles(a.Event)) }

// With is t after one more event.
func (t Told) With(id string) Told {
	next := append(slices.Clone(t), id)
	return next[max(0, len(next)-maxTold):]
}
