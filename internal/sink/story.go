package sink

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sensor"
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
	s := Story{Title: Title(e), What: e.Detail.Message, Todo: e.Remedy(), Why: why(e.Detail.Extra), Heals: heals(e.Detail.Extra)}
	if a.Count > 1 {
		s.Burst = fmt.Sprintf("%d events of this group %s; this is the latest", a.Count, instant("since ", a.Since))
	}
	return s
}

// Title names an event and what it is about, on one line: "JOB_FAILED: orders, cron, 2026-03-03,
// attempt 2".
func Title(e event.Event) string {
	d := e.Detail
	about := lines(string(d.Pipeline), string(d.Schedule), d.Date.String(), when(d.Attempt > 0, fmt.Sprintf("attempt %d", d.Attempt)))
	if len(about) == 0 {
		return string(e.Type)
	}
	return string(e.Type) + ": " + strings.Join(about, ", ")
}

// Bounded returns s with its texts cut to text characters, and its facts to a number of lines of
// that width.
func (s Story) Bounded(text, lines int, width func(lines int) int) Story {
	s.Title, s.What, s.Todo = excerpt.Runes(s.Title, text), excerpt.Runes(s.What, text), excerpt.Runes(s.Todo, text)
	if len(s.Why) > lines {
		s.Why = append(s.Why[:lines:lines], "…")
	}
	for i, line := range s.Why {
		s.Why[i] = excerpt.Runes(line, width(len(s.Why)))
	}
	return s
}

// instant formats a time for messages, after a label; "" for the zero time.
func instant(label string, t time.Time) string {
	return when(!t.IsZero(), label+t.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// heals says when a problem is retried, or ends, by itself; "" if it does not.
func heals(extra event.Extra) string {
	switch x := extra.(type) {
	case event.Finished:
		return instant("next attempt at about ", x.NextAttemptAt)
	case event.Budget:
		return instant("next attempt at ", x.NextAttemptAt)
	case event.Pause:
		return instant("the pause ends at ", x.Until)
	}
	return ""
}

// why returns the facts in an event's detail.
func why(extra event.Extra) []string {
	switch x := extra.(type) {
	case event.Gate:
		return closedRules(x)
	case event.Finished:
		code := ""
		if x.ExitCode != nil {
			code = strconv.Itoa(*x.ExitCode)
		}
		return lines(fact("category", string(x.Category)), fact("exit code", code), fact("after", duration(x.DurationSeconds)))
	case event.Budget:
		return lines(fact("retries on this budget", fmt.Sprintf("%d of %d used (%s)", x.Used, x.Max, x.Cause)))
	case event.Infra:
		return lines(fact("error", x.Error), when(x.Held, "the run is held until an operator decides"))
	case event.Left:
		return lines(fact("by", x.By), fact("reason", x.Reason), when(x.JobMayRun, "the job could not be stopped and may still be running"))
	case event.Deadline:
		return lines(instant("deadline: ", x.Deadline), fact("late by", duration(x.LateSeconds)), when(x.Failed, "the run had already failed"), fact("reason", x.Reason))
	case event.Missed:
		return lines(fact("missed", list(x.Dates)))
	case event.Degraded:
		return lines(fact("checks that failed", list(x.Checks)), fact("for pipelines", list(x.Pipelines)))
	case event.Pause:
		return lines(fact("by", x.By), fact("reason", x.Reason))
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
		return lines(fact("changed", list(x.Sensors)), values("used", x.Was), values("came", x.Now), fact("what follows", x.Reason),
			fact("affected downstream", list(x.Downstream)))
	case event.Exclusion:
		return lines(fact("excluded by", x.Rule))
	case event.Drift:
		return lines(fmt.Sprintf("%s %s: %s at completion, %s now, threshold %s", x.Sensor, x.Field, cmp.Or(x.Baseline, "missing"), cmp.Or(x.Current, "missing"), x.Threshold))
	case event.Sensors:
		return lines(fact("sensors", list(x.Sensors)))
	case event.Config:
		return append(lines(fact("file", x.File), fact("owner", x.Owner), fact("commit", x.Commit)), x.Problems...)
	case event.Projection:
		return lines(fact("projection", x.Status), instant("deadline: ", x.Deadline), instant("estimated completion: ", x.EstimatedCompletion))
	}
	return nil
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

func duration(seconds int64) string {
	return when(seconds > 0, (time.Duration(seconds) * time.Second).String())
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

func fact(name, value string) string { return when(value != "", name+": "+value) }

// values is the fact of some fields: "used: count 120, status \"ready\"".
func values(name string, fields map[string]any) string {
	var all []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		value := "missing"
		if v := fields[field]; v != nil {
			value = excerpt.Runes(sensor.Literal(v), maxValue)
		}
		all = append(all, field+" "+value)
	}
	return fact(name, list(all))
}

// maxValue is how many characters of a value are shown.
const maxValue = 60

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
