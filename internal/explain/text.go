package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Style is the kind of a line in an explanation.
type Style string

// A line about a rule has the rule's outcome.
const (
	Plain   Style = "plain"
	Title   Style = "title"
	Heading Style = "heading"
	Pass    Style = "pass"
	Fail    Style = "fail"
	Unknown Style = "unknown"
	Command Style = "command" // a command line that can be run as it is
)

// marks are the prefixes of lines about rules, and of commands.
var marks = map[Style]string{Pass: "  ✓ ", Fail: "  ✗ ", Unknown: "  ? ", Command: "      "}

// Line is a line of an explanation. The text of a rule excludes its mark, that of a command its
// indentation.
type Line struct {
	Style Style
	Text  string
}

type lines []Line

func (l *lines) add(s Style, format string, args ...any) {
	*l = append(*l, Line{s, fmt.Sprintf(format, args...)})
}

// heading starts a section, after an empty line.
func (l *lines) heading(title string) {
	l.add(Plain, "")
	l.add(Heading, "%s:", title)
}

// Text returns the whole explanation for people; every line ends with a line break.
func (x Explanation) Text() string {
	var w strings.Builder
	for _, l := range x.Lines() {
		w.WriteString(marks[l.Style] + l.Text + "\n")
	}
	return w.String()
}

// Lines returns the whole explanation for people, line by line.
func (x Explanation) Lines() []Line {
	var w lines
	dry := ""
	if x.DryRun {
		dry = " (dry run: no job starts)"
	}
	w.add(Title, "%s  %s%s", x.title(), strings.ToUpper(string(x.State)), dry)
	w.add(Plain, "%s", printable(x.Summary))
	w.block("", x.Reasons)
	if x.Gate != nil {
		x.rules(&w)
	}
	w.block("Probes", x.probing())
	x.commands(&w)
	w.block("Attempts", each(x.Attempts, Attempt.line))
	x.output(&w)
	w.block("Deadlines", each(x.Deadlines, func(d store.Deadline) string { return deadline(d, x.At) }))
	w.block("Alerts", each(x.Silenced, Silenced.line))
	return w
}

func each[T any](all []T, line func(T) string) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, line(one))
	}
	return texts
}

// title returns the run, or as much of it as is known of a pipeline that is not active.
func (x Explanation) title() string {
	switch {
	case x.Key.Schedule != "":
		return x.Key.String()
	case x.Key.Period.IsZero():
		return string(x.Key.Pipeline)
	}
	return fmt.Sprintf("%s %s", x.Key.Pipeline, x.Key.Period)
}

// block adds a list under its title; nothing if it is empty.
func (l *lines) block(title string, items []string) {
	if len(items) > 0 && title != "" {
		l.heading(title)
	}
	for _, item := range items {
		l.add(Plain, "  - %s", printable(item))
	}
}

// commands adds what would open the run, with each command on a line of its own.
func (x Explanation) commands(w *lines) {
	if len(x.Said.Opens) > 0 {
		w.heading("What would open it")
	}
	for _, r := range x.Said.Opens {
		text, commands := r.Commands(x.At)
		if len(commands) > 0 {
			text += ":"
		}
		w.add(Plain, "  - %s", printable(text))
		for _, c := range commands {
			w.add(Command, "%s", printable(c))
		}
	}
}

// rules adds one line per rule and, below it, the reading that it saw.
func (x Explanation) rules(w *lines) {
	g := x.Gate
	title := "Rules now"
	switch {
	case !g.Live && x.State == Offered:
		title = "Rules when it was offered, " + period.Stamp(g.At)
	case !g.Live:
		title = "Rules at the start, " + period.Stamp(g.At)
	}
	if g.Bypassed {
		title += " (bypassed by an operator)"
	}
	w.heading(title)
	if len(g.Leaves) == 0 {
		w.add(Plain, "  there are no rules")
	}
	if !g.PreferUntil.IsZero() {
		w.add(Plain, "  preferred rules close the gate until %s", period.Stamp(g.PreferUntil))
	}
	for _, missing := range g.Degraded {
		w.add(Plain, "  degraded: open without %s", printable(missing))
	}
	for _, leaf := range g.Leaves {
		w.add(leaf.style(), "%s  %s: %s%s", sensorName(leaf.SeenLeaf), printable(condition(leaf)), printable(leaf.Reason), aside(leaf))
		if !leaf.UpdatedAt.IsZero() {
			w.add(Plain, "      %s", printable(leaf.written(g)))
		}
	}
	for _, f := range g.Files {
		w.add(Plain, "  %s %s, sha256 %.12s", f.Kind, printable(f.File), f.Digest)
	}
}

func (leaf Leaf) style() Style {
	switch {
	case leaf.Holds:
		return Pass
	case leaf.Outcome == rule.Unknown:
		return Unknown
	}
	return Fail
}

func aside(leaf Leaf) string {
	text := ""
	if leaf.Group != "" {
		text = " [" + leaf.Group + "]"
	}
	switch {
	case leaf.Advisory:
		text += " (advisory: does not count)"
	case leaf.Preferred:
		text += " (preferred)"
	}
	return text
}

// written says when, by whom and for which period the reading was written.
func (leaf Leaf) written(g *Gate) string {
	text := "written " + period.Stamp(leaf.UpdatedAt)
	if age := g.At.Sub(leaf.UpdatedAt); age >= time.Second && g.Live {
		text += " (" + reason.Span(age) + " ago)"
	} else if age >= time.Second {
		text += " (" + reason.Span(age) + " before the start)"
	}
	if leaf.Source != "" {
		text += " by " + leaf.Source
	}
	if leaf.Period.IsZero() {
		return text + ", undated"
	}
	return text + " for " + leaf.Period.String()
}

// line describes an attempt: "attempt 2 (retry: transient): opened …, started …, failed …
// (TRANSIENT, exit code 75): no network".
func (a Attempt) line() string {
	line := fmt.Sprintf("attempt %d (%s", a.Number, causeWord(a.Cause))
	if a.By != "" {
		line += " by " + a.By
	}
	if a.Reason != "" {
		line += fmt.Sprintf(": %q", a.Reason)
	}
	var parts []string
	if !a.OpenedAt.IsZero() {
		parts = append(parts, "opened "+period.Stamp(a.OpenedAt))
	}
	if !a.StartedAt.IsZero() {
		parts = append(parts, "started "+period.Stamp(a.StartedAt))
	}
	if ended := a.ended(); ended != "" {
		parts = append(parts, ended)
	}
	return line + "): " + strings.Join(parts, ", ")
}

func (a Attempt) ended() string {
	if a.Result == "" {
		if a.EndedAt.IsZero() {
			return ""
		}
		return "ended " + period.Stamp(a.EndedAt)
	}
	text := resultWord(a.Result)
	if !a.EndedAt.IsZero() {
		text += " " + period.Stamp(a.EndedAt)
	}
	var aside []string
	if a.Category != "" {
		aside = append(aside, string(a.Category))
	}
	if a.ExitCode != nil && *a.ExitCode != 0 {
		if code := fmt.Sprintf("exit code %d", *a.ExitCode); !strings.HasPrefix(a.Message, code) {
			aside = append(aside, code)
		}
	}
	if len(aside) > 0 {
		text += " (" + strings.Join(aside, ", ") + ")"
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	return text
}

// causeWord says why an attempt was opened.
func causeWord(c run.Cause) string {
	switch c {
	case run.CauseTransient, run.CauseTimeout, run.CauseUnknown, run.CauseCode:
		return "retry: " + string(c)
	default:
		return orUnknown(string(c))
	}
}

func resultWord(r run.Result) string {
	switch r {
	case run.ResultSuccess:
		return "succeeded"
	case run.ResultTimeout:
		return "timed out"
	case run.ResultFail:
	}
	return "failed"
}

// maxOutput is how many lines of the last job's output are shown. The run has everything that is
// kept.
const maxOutput = 20

func (x Explanation) output(w *lines) {
	if len(x.Attempts) == 0 {
		return
	}
	text := strings.TrimRight(x.Attempts[len(x.Attempts)-1].Output, "\n")
	if text == "" {
		return
	}
	last := strings.Split(text, "\n")
	w.heading("Last lines of the job's output")
	for _, line := range last[max(0, len(last)-maxOutput):] {
		w.add(Plain, "  | %s", printable(line))
	}
}

func deadline(d store.Deadline, now time.Time) string {
	text := fmt.Sprintf("%s deadline %s: %s", d.Kind, reason.When(d.BreachAt, now), d.State)
	if !d.WarnAt.IsZero() && d.State == sla.Armed && !d.Warned {
		text += ", warning " + reason.When(d.WarnAt, now)
	}
	if d.Warned {
		text += ", warned"
	}
	if !d.DoneAt.IsZero() {
		text += ", completed " + period.Stamp(d.DoneAt)
		if late := d.DoneAt.Sub(d.BreachAt); late > 0 {
			text += ", " + reason.Span(late) + " late"
		}
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	return text
}

// count says how many rules keep a gate closed.
func count(g *Gate) string {
	closed, total := len(g.Closed()), 0
	for _, leaf := range g.Leaves {
		if !leaf.Advisory {
			total++
		}
	}
	return gate.CountClosed(closed, total)
}

func (b *builder) when(t time.Time) reason.Part { return reason.At("", t) }

func orUnknown(s string) string {
	return cmp.Or(s, "no reason recorded")
}

// printable replaces control characters in user-provided text, so that they neither move the cursor
// nor break the line.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t':
			return ' '
		case c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0:
			return '�'
		}
		return c
	}, s)
}

// line says how many alerts a silence suppressed.
func (s Silenced) line() string {
	noun := "alert was"
	if s.Alerts > 1 {
		noun = "alerts were"
	}
	return fmt.Sprintf("%d %s silenced by %s; see `interlock silence list --all`", s.Alerts, noun, s.By)
}
