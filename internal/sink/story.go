package sink

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
)

// Story is the text of an alert, the same in every sink. Nothing in it is escaped.
type Story struct {
	Title string   // type of event and what it is about
	What  string   // what happened
	Why   []string // the facts behind it, each one a line
	Heals string   // when it continues by itself; "" if it does not
	Todo  string   // what to do; commands are in backticks
	Burst string   // number of events; "" for one
}

// Story renders a as text.
func (a Alert) Story() Story {
	e := a.Event
	s := Story{Title: Title(e), What: e.Detail.Message, Todo: e.Remedy()}
	s.Why, s.Heals = why(e.Detail.Extra)
	if a.Count > 1 {
		s.Burst = fmt.Sprintf("%d events of this group since %s; this is the latest", a.Count, instant(a.Since))
	}
	return s
}

// Title names an event and what it is about, on one line: "JOB_FAILED: orders, cron, 2026-03-03, attempt 2".
func Title(e event.Event) string {
	d := e.Detail
	var about []string
	for _, part := range []string{string(d.Pipeline), string(d.Schedule), d.Date.String()} {
		if part != "" {
			about = append(about, part)
		}
	}
	if d.Attempt > 0 {
		about = append(about, "attempt "+strconv.Itoa(d.Attempt))
	}
	if len(about) == 0 {
		return string(e.Type)
	}
	return string(e.Type) + ": " + strings.Join(about, ", ")
}

// Cut shortens text to at most limit characters, with an ellipsis if something is missing.
func Cut(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// instant formats a time for messages.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// why returns the facts in an event's detail, and when it continues by itself.
func why(extra event.Extra) (facts []string, heals string) {
	switch x := extra.(type) {
	case event.Gate:
		return closedRules(x), ""
	case event.Finished:
		if !x.NextAttemptAt.IsZero() {
			heals = "next attempt at about " + instant(x.NextAttemptAt)
		}
		return finished(x), heals
	case event.Budget:
		facts = lines(fact("retries on this budget", fmt.Sprintf("%d of %d used (%s)", x.Used, x.Max, x.Cause)))
		if !x.NextAttemptAt.IsZero() {
			heals = "next attempt at " + instant(x.NextAttemptAt)
		}
		return facts, heals
	case event.Infra:
		return lines(fact("error", x.Error), when(x.Held, "the run is held until an operator decides")), ""
	case event.Left:
		return lines(fact("by", x.By), fact("reason", x.Reason), when(x.JobMayRun, "the job could not be stopped and may still be running")), ""
	case event.Deadline:
		return deadline(x), ""
	case event.Missed:
		return lines(fact("missed", list(x.Dates))), ""
	case event.Degraded:
		return lines(fact("checks that failed", list(x.Checks)), fact("for pipelines", list(x.Pipelines))), ""
	case event.Pause:
		facts = lines(fact("by", x.By), fact("reason", x.Reason))
		if !x.Until.IsZero() {
			heals = "the pause ends at " + instant(x.Until)
		}
		return facts, heals
	default:
		return others(extra), ""
	}
}

// others returns the facts of details that never continue by themselves.
func others(extra event.Extra) []string {
	switch x := extra.(type) {
	case event.Opening:
		return lines(fact("cause", string(x.Cause)), fact("requested by", x.RequestedBy), fact("reason", x.Reason), when(x.Forced, "the breaker and the budget were skipped"), when(x.GateBypassed, "the gate was skipped"))
	case event.Refusal:
		return lines(fact("rejected because", x.Why), fact("requested by", x.RequestedBy), fact("reason", x.Reason))
	case event.Started:
		return lines(fact("job", x.JobType), fact("handle", string(x.Handle)))
	case event.Audited:
		return lines(fact("by", x.Actor), fact("role", x.Role), fact("requested by", x.RequestedBy), fact("from", x.Remote),
			fact("action", x.Action), fact("about", x.Subject), fact("reason", x.Reason), fact("outcome", x.Outcome))
	case event.Alarm:
		return lines(fact("alarm", x.Alarm), fact("state", x.State))
	case event.Late:
		return lines(fact("changed", list(x.Sensors)), fact("what follows", x.Reason))
	case event.Exclusion:
		return lines(fact("excluded by", x.Rule))
	case event.Drift:
		return lines(fmt.Sprintf("%s %s: %s at completion, %s now, threshold %s", x.Sensor, x.Field, cmp.Or(x.Baseline, "missing"), cmp.Or(x.Current, "missing"), x.Threshold))
	case event.Sensors:
		return lines(fact("sensors", list(x.Sensors)))
	case event.Config:
		return append(lines(fact("file", x.File)), x.Problems...)
	case event.Projection:
		return lines(fact("projection", x.Status), fact("deadline", instant(x.Deadline)), fact("estimated completion", instant(x.EstimatedCompletion)))
	default:
		return nil
	}
}

// closedRules returns the rules that did not hold, with the observed value.
func closedRules(g event.Gate) []string {
	var facts []string
	for _, r := range g.Rules {
		if !r.Closes() {
			continue
		}
		text := fmt.Sprintf("%s %s is closed: %s", r.Key, r.Check, r.Reason)
		if r.Value != "" && !strings.Contains(r.Reason, r.Value) {
			text += " (seen: " + r.Value + ")"
		}
		facts = append(facts, text)
	}
	return facts
}

func finished(x event.Finished) []string {
	code := ""
	if x.ExitCode != nil {
		code = strconv.Itoa(*x.ExitCode)
	}
	took := ""
	if x.DurationSeconds > 0 {
		took = (time.Duration(x.DurationSeconds) * time.Second).String()
	}
	return lines(fact("category", string(x.Category)), fact("exit code", code), fact("after", took))
}

func deadline(x event.Deadline) []string {
	at, late := "", ""
	if !x.Deadline.IsZero() {
		at = instant(x.Deadline)
	}
	if x.LateSeconds > 0 {
		late = (time.Duration(x.LateSeconds) * time.Second).String()
	}
	return lines(fact("deadline", at), fact("late by", late), when(x.Failed, "the run had already failed"), fact("reason", x.Reason))
}

// lines returns the non-empty lines.
func lines(all ...string) []string {
	var said []string
	for _, line := range all {
		if line != "" {
			said = append(said, line)
		}
	}
	return said
}

func fact(name, value string) string {
	if value == "" {
		return ""
	}
	return name + ": " + value
}

func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// most is how many entries of a list are named.
const most = 10

func list(entries []string) string {
	if len(entries) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(entries[:most], ", "), len(entries)-most)
	}
	return strings.Join(entries, ", ")
}
