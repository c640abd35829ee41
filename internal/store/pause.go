package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// AllPipelines is the id of the row that stores the pause of all pipelines, in its field Pause. No
// pipeline has that id. The row has no config, and Pipelines lists it like any other. If its Pause
// has a zero Since, the pause was lifted: By and Why are those of the operator who lifted it.
const AllPipelines pipeline.ID = "*"

// Paused reports whether an operator has stopped the pipeline: nothing opens and nothing starts. A
// pause with Until ends when its task lifts it, and not before PIPELINE_RESUMED is emitted: the
// clock alone ends nothing.
func (p Pipeline) Paused() bool { return p.Pause.Active() || p.PauseAll.Active() }

// Pauses lists the pauses in effect: the pipeline's own, then the pause of all pipelines.
func (p Pipeline) Pauses() []Pause {
	return slices.DeleteFunc([]Pause{p.Pause, p.PauseAll}, func(one Pause) bool { return !one.Active() })
}

// PauseText describes the pauses in effect.
func (p Pipeline) PauseText() string {
	var texts []string
	for _, one := range p.Pauses() {
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

// PausedUntil returns when the last of the pauses in effect ends by itself; zero if one of them
// does not.
func (p Pipeline) PausedUntil() time.Time {
	var last time.Time
	for _, one := range p.Pauses() {
		if one.Until.IsZero() {
			return time.Time{}
		}
		if one.Until.After(last) {
			last = one.Until
		}
	}
	return last
}

// HoldsSLA reports whether a pause in effect cancels the pipeline's deadlines.
func (p Pipeline) HoldsSLA() bool { return p.Pause.HoldSLA || p.PauseAll.HoldSLA }

// HoldBack makes the end of the pauses replay whatever was written or completed since from.
func (p *Pipeline) HoldBack(from time.Time) {
	if p.PausedFrom.IsZero() || from.Before(p.PausedFrom) {
		p.PausedFrom = from.Round(0).UTC()
	}
}

// Pause is an operator's pause of one pipeline, or of all.
type Pause struct {
	All     bool      `json:"all,omitempty"` // this is the pause of all pipelines
	By      string    `json:"by"`
	Why     string    `json:"why"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"`
	HoldSLA bool      `json:"holdSla,omitempty"`
}

// Active reports whether the pause is in effect.
func (p Pause) Active() bool { return !p.Since.IsZero() }

// String describes who paused it, since when and why.
func (p Pause) String() string {
	return fmt.Sprintf("%s by %s since %s: %s", p.verb("paused"), p.By, period.Stamp(p.Since), p.Why)
}

// Paused returns the event for the pause of a pipeline whose row was read at version read.
func (p Pause) Paused(id pipeline.ID, read int64, now time.Time) event.Event {
	message := fmt.Sprintf("%s by %s: %s", p.verb("paused"), p.By, p.Why)
	if !p.Until.IsZero() {
		message += "; until " + period.Stamp(p.Until)
	}
	return event.New(event.PipelinePaused, aboutPause(id, read, now), message,
		event.Pause{All: p.All, By: p.By, Reason: p.Why, Until: p.Until, HoldSLA: p.HoldSLA})
}

// Resumed returns the event for lifting the pause of a pipeline. next is the pipeline's new row;
// the old one was read at version read.
func (p Pause) Resumed(next Pipeline, read int64, by, why string, now time.Time) event.Event {
	message := p.verb("resumed") + " by " + by
	if why != "" {
		message += ": " + why
	}
	if next.Paused() {
		message += "; still " + next.PauseText()
	}
	return event.New(event.PipelineResumed, aboutPause(next.ID, read, now), message,
		event.Pause{All: p.All, By: by, Reason: why, HoldSLA: p.HoldSLA})
}

// aboutPause distinguishes the pauses of a pipeline by the version of the row that each changed.
func aboutPause(id pipeline.ID, read int64, now time.Time) event.About {
	return event.About{Pipeline: id, Which: fmt.Sprintf("v%d", read), At: now}
}

func (p Pause) verb(what string) string {
	if p.All {
		return what + " with all pipelines"
	}
	return what
}
