package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// narrator writes to the terminal.
type narrator struct {
	out     io.Writer
	colours bool
}

// The colours, as terminal codes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (n *narrator) paint(colour, text string) string {
	if !n.colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// line prints one line. Write errors are ignored: the reader has gone.
func (n *narrator) line(format string, args ...any) {
	_, _ = fmt.Fprintf(n.out, format+"\n", args...)
}

// heading begins a chapter.
func (n *narrator) heading(text string) { n.line("\n%s", n.paint(bold, text)) }

// prose prints the narrator's text, wrapped. Line breaks in the source do not matter.
func (n *narrator) prose(text string) {
	n.line("")
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > measure {
			n.line("%s", line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	n.line("%s\n", line)
}

// measure is the width of prose, in characters.
const measure = 80

// deed prints what a source or an operator does.
func (n *narrator) deed(now time.Time, who, what string) {
	n.line("  %s  %s %s", n.paint(dim, at(now)), n.paint(cyan, who), what)
}

// event prints an event as a sentence, and the output of its job, if known.
func (n *narrator) event(e event.Event, printed string) {
	subject := strings.TrimSpace(string(e.Detail.Pipeline) + " " + short(e.Detail.Date, e.Time))
	text := sentence(e)
	if printed != "" {
		text += ": " + printed
	}
	n.line("  %s  %s %s %s", n.paint(dim, at(e.Time)), n.paint(mood(e), subject), harmless(text), n.paint(dim, "("+string(e.Type)+")"))
}

// mood returns the colour of an event.
func mood(e event.Event) string {
	switch {
	case e.Detail.Severity == event.Critical:
		return red
	case e.Detail.Severity == event.Warning:
		return yellow
	default:
		return green
	}
}

// short returns a period's name, without the day if that is today.
func short(p period.Period, today time.Time) string {
	if p.Size() != period.Minute || p.Outer(period.Day) != period.At(today, period.Day, time.UTC) {
		return p.String()
	}
	hour, minute := p.Clock()
	return fmt.Sprintf("%02d:%02d", hour, minute)
}

// harmless replaces control characters that could move the cursor or change colours: jobs may print anything.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, text)
}

// mark returns the symbol for an outcome.
func (n *narrator) mark(outcome string) string {
	switch outcome {
	case "pass":
		return n.paint(green, "✓")
	case "unknown":
		return n.paint(yellow, "?")
	default:
		return n.paint(red, "✗")
	}
}

// sentences describe an event, with the name of its pipeline before them. If a sentence ends with a colon, the
// event's own message follows.
var sentences = map[event.Type]string{
	event.ValidationPassed:    "finds its gate open",
	event.ValidationExhausted: "gives up waiting:",
	event.JobTriggered:        "starts its job",
	event.JobCompleted:        "is COMPLETED",
	event.JobTimeout:          "has failed:",
	event.RetryExhausted:      "has failed:",
	event.RunCancelled:        "is cancelled:",
	event.SLAMet:              "is in time:",
	event.RerunAccepted:       "runs again:",
	event.RerunRejected:       "does not run again:",
	event.ConfigAccepted:      "has a new file:",
	event.ConfigRejected:      "keeps its old file:",
	event.DryRunWouldTrigger:  "finds its gate open, and would start its job now",
	event.DryRunCompleted:     "has started nothing",
}

// sentence returns an event in words, without its subject.
func sentence(e event.Event) string {
	d := e.Detail
	if text, ok := detailed(e); ok {
		return text
	}
	text, known := sentences[e.Type]
	switch {
	case !known:
		return d.Message
	case strings.HasSuffix(text, ":"):
		return text + " " + d.Message
	}
	return text
}

// detailed builds a sentence from an event's details.
func detailed(e event.Event) (text string, ok bool) {
	switch extra := e.Detail.Extra.(type) {
	case event.Opening:
		return opening(e)
	case event.Budget:
		return retrying(e.Type, extra)
	case event.Finished:
		return failed(e.Type, extra)
	case event.Deadline:
		return due(e, extra)
	case event.Late:
		return late(e.Detail.Pipeline, extra), e.Type == event.LateDataArrival
	case event.Exclusion:
		return "stays dormant, because of " + extra.Rule, true
	case event.Pause:
		return "is " + e.Detail.Message, true
	case event.Missed:
		return missing(extra, e.Time), true
	case event.Projection:
		return projected(extra)
	}
	return "", false
}

// opening says why a run opened, or another attempt of it.
func opening(e event.Event) (string, bool) {
	if e.Type != event.TriggerStarted {
		return "", false
	}
	why := strings.TrimPrefix(e.Detail.Message, fmt.Sprintf("attempt %d opened: ", e.Detail.Attempt))
	why = strings.TrimPrefix(why, "sensor ")
	if e.Detail.Attempt > 1 {
		return fmt.Sprintf("opens attempt %d: %s", e.Detail.Attempt, why), true
	}
	return "opens a run: " + why, true
}

func retrying(t event.Type, b event.Budget) (string, bool) {
	return fmt.Sprintf("is tried again at %s, retry %d of %d", at(b.NextAttemptAt), b.Used, b.Max), t == event.RetryScheduled
}

func failed(t event.Type, f event.Finished) (string, bool) {
	if t != event.JobFailed || f.ExitCode == nil {
		return "", false
	}
	return fmt.Sprintf("has failed with exit code %d", *f.ExitCode), true
}

// due describes the state of a run's deadline. The message names the run's state after its colon.
func due(e event.Event, d event.Deadline) (string, bool) {
	_, state, _ := strings.Cut(e.Detail.Message, "Z: ")
	switch e.Type {
	case event.SLAWarning, event.RelativeSLAWarning:
		return fmt.Sprintf("may miss its deadline at %s: %s", at(d.Deadline), state), state != ""
	case event.SLABreach, event.RelativeSLABreach:
		return fmt.Sprintf("has missed its deadline at %s: %s", at(d.Deadline), state), state != ""
	default:
		return "", false
	}
}

// late says what has changed, and the consequence.
func late(id pipeline.ID, l event.Late) string {
	var changes []string
	for _, s := range l.Sensors {
		name := strings.TrimPrefix(s, string(id)+"/")
		if upstream, ok := strings.CutPrefix(name, "run/"); ok {
			changes = append(changes, upstream+" has run again")
		} else {
			changes = append(changes, name+" has changed")
		}
	}
	follows := "but the " + strings.Replace(l.Reason, " ", " is ", 1) // the budget spent, or the window closed
	if l.Reason == "rerun" {
		follows = "so it runs again"
	}
	return "learns that " + strings.Join(changes, ", ") + " since its job started, " + follows
}

// missing says what was missed. The last of it is the subject already.
func missing(m event.Missed, now time.Time) string {
	if len(m.Dates) < 2 {
		return "has no run, and it is too late for one"
	}
	first := m.Dates[0]
	if p, err := period.Parse(first); err == nil {
		first = short(p, now)
	}
	return fmt.Sprintf("and %s before it, from %s on, have no run, and it is too late for them", count(len(m.Dates)-1, "other"), first)
}

func projected(p event.Projection) (string, bool) {
	return fmt.Sprintf("would meet its deadline with %ds to spare", p.MarginSeconds), p.Status == "met"
}

// clock is the format of instants: in UTC, like the periods.
const clock = "15:04:05"

func at(t time.Time) string { return t.UTC().Format(clock) }
