package router

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// lateData is the late data of a completed run.
type lateData struct {
	input
	entry      *catalog.Entry
	run        run.Run
	all        []gate.Late
	downstream []string // the pipelines that wait for this one
	now        time.Time
}

// wants reports whether a change leads to another attempt, if the budget allows it. An upstream's
// new completion always does. Data that does not meet the start condition never does: the write that
// meets it again counts.
func (d lateData) wants(l gate.Late) bool {
	switch {
	case l.Key.Engine():
		return true
	case d.unmet():
		return false
	}
	return d.announced || d.entry.AfterLate(l.Start) == pipeline.LateRerun
}

func (d lateData) wantsRerun() bool { return slices.ContainsFunc(d.all, d.wants) }

// rerunCause returns CauseUpstream if only upstreams lead to another attempt. Both causes use the
// same budget.
func (d lateData) rerunCause() run.Cause {
	if slices.ContainsFunc(d.all, func(l gate.Late) bool { return !l.Key.Engine() && d.wants(l) }) {
		return run.CauseLateData
	}
	return run.CauseUpstream
}

func (d lateData) unmet() bool {
	return slices.ContainsFunc(d.all, func(l gate.Late) bool { return l.Unmet })
}

// noRerun says why a change leads to no attempt, as a code and as text.
func (d lateData) noRerun(l gate.Late, spent string) (code, text string) {
	switch {
	case spent != "" && d.wants(l):
		return budgetSpent, "no rerun follows (" + spent + ")"
	case d.unmet():
		return lateReport, "no rerun follows (the start condition is not met)"
	}
	return lateReport, "no rerun follows (validation.lateData: report)"
}

// event returns the event about one sensor. Its id is the same for every change of the sensor after
// one attempt.
func (d lateData) event(l gate.Late, why, follows string) event.Event {
	about := event.Of(d.run, d.now)
	about.Which, about.CausedBy = l.Sensor(), d.cause
	message := d.message(l, fmt.Sprintf("the job of attempt %d started", d.run.Attempt), follows)
	e := event.New(event.LateDataArrival, about, message, d.detail(l, why))
	if l.Passes && !l.Key.Engine() {
		return e.As(event.Info)
	}
	return e
}

func (d lateData) detail(l gate.Late, why string) event.Late {
	late := event.Late{
		Sensors: []string{l.Sensor()}, Reason: why, Pipeline: l.Pipeline, Period: l.Period, Key: string(l.Key),
		Was: shownFields(l.Was), Now: shownFields(l.Now), SnapshotVersion: l.Used, Downstream: d.downstream,
	}
	if late.Period.IsZero() {
		late.Period = d.run.Period
	}
	return late
}

// message says what was used, what came, and what follows.
func (d lateData) message(l gate.Late, since, follows string) string {
	text := fmt.Sprintf("%s changed after %s: %s", l.Sensor(), since, difference(l))
	if !l.Key.Engine() {
		verdict := "the gate would have stayed closed"
		switch {
		case l.Unmet:
			verdict = "the start condition would not have been met"
		case l.Passes:
			verdict = "the gate would still have opened"
		}
		text += "; " + verdict
	}
	text += "; " + follows
	if n := len(d.downstream); n > 0 {
		const most = 5
		text += "; affected downstream: " + strings.Join(d.downstream[:min(n, most)], ", ")
		if n > most {
			text += fmt.Sprintf(" and %d more", n-most)
		}
	}
	return text
}

// difference says what the fields were and are: "count was 120, is 80".
func difference(l gate.Late) string {
	const most = 3
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l.Now)) {
		parts = append(parts, fmt.Sprintf("%s was %s, is %s", name, literal(l.Was[name]), literal(l.Now[name])))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("there was no reading for %s, now there is one", l.Period)
	}
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more fields differ", more))
	}
	return strings.Join(parts, ", ")
}

func literal(v any) string {
	if v == nil {
		return "missing"
	}
	return excerpt.Runes(sensor.Literal(v), 61)
}

// The limits of an event: how many fields it shows, and how long their values may be.
const (
	maxShownFields = 20
	maxShownValue  = 500
)

// shownFields returns fields as an event shows them: the first ones, and long values cut, as text.
func shownFields(f sensor.Fields) map[string]any {
	shown := map[string]any{}
	names := slices.Sorted(maps.Keys(f))
	for _, name := range names[:min(len(names), maxShownFields)] {
		shown[name] = f[name]
		if text, err := json.Marshal(f[name]); err != nil || len(text) > maxShownValue {
			shown[name] = excerpt.Bytes(string(text), maxShownValue)
		}
	}
	return shown
}

// maxDownstream is how many pipelines an event lists.
const maxDownstream = 100

// downstream lists the pipelines that are affected by the output of a pipeline.
func (c *core) downstream(id pipeline.ID) []string {
	names := []string{}
	for _, other := range c.catalog.Current().Downstream(id) {
		if len(names) < maxDownstream {
			names = append(names, string(other))
		}
	}
	return names
}
