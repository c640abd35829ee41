package sink

import (
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
)

// State is the state of a matter, which is what a series of events is about.
type State string

// The states of a matter.
//
//	"" ──warning, critical──> Opened ──it succeeded after all──> Recovered ──warning, critical──> Opened
//	                             └──an operator ended it──> Closed
const (
	Opened    State = "opened"    // something is wrong
	Recovered State = "recovered" // it was, but has succeeded since
	Closed    State = "closed"    // it ended, and nothing is left to do
)

// After returns the state after e. A rejected request is reported like any other warning, but
// changes nothing.
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

// Settles reports whether e changes the state of an open matter.
func Settles(e event.Event) bool { return Opened.After(e) != Opened }

// Matter returns a key for what e is about: a run if there is one, and otherwise the thing that a
// later event can settle. Two events of one matter belong to one conversation.
func Matter(e event.Event) string {
	d := e.Detail
	switch e.Type {
	case event.ConfigAccepted, event.ConfigRejected, event.ConfigRemoved:
		if c, ok := d.Extra.(event.Config); ok && d.Pipeline == "" {
			return "config/" + c.File
		}
		return string(d.Pipeline) + "/config"
	case event.PipelinePaused, event.PipelineResumed:
		if p, ok := d.Extra.(event.Pause); ok && p.All {
			return string(d.Pipeline) + "/pause-all" // it ends separately from the pipeline's own
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

// AboutRun reports whether e is about a run, or about a period that should have had one.
func AboutRun(e event.Event) bool {
	d := e.Detail
	return d.Pipeline != "" && d.Schedule != "" && !d.Date.IsZero()
}

// maxSent is how many event ids are remembered: enough for those that are sent again after a crash.
const maxSent = 32

// Sent is the ids of the latest events sent about a matter, to recognise repeats.
type Sent []string

// Has reports whether an event was sent.
func (s Sent) Has(id string) bool { return slices.Contains(s, id) }

// Repeats reports whether everything in an alert was sent before. If the last event of a burst
// settles its matter, Follow has sent that event as soon as it happened, but not the others.
func (s Sent) Repeats(a Alert) bool { return s.Has(a.Event.ID) && (a.Count <= 1 || !Settles(a.Event)) }

// With returns s with one more event.
func (s Sent) With(id string) Sent {
	next := append(slices.Clone(s), id)
	return next[max(0, len(next)-maxSent):]
}
