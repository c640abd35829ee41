package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Text is the whole explanation for people, in lines that end with a line break.
func (x Explanation) Text() string {
	var w strings.Builder
	dry := ""
	if x.DryRun {
		dry = " (dry run, no job is started)"
	}
	fmt.Fprintf(&w, "%s  %s%s\n%s\n", x.title(), strings.ToUpper(string(x.State)), dry, printable(x.Summary))
	block(&w, "", x.Reasons)
	if x.Gate != nil {
		x.rules(&w)
	}
	x.probing(&w)
	block(&w, "What would open it:", x.Opens)
	x.tries(&w)
	x.output(&w)
	x.due(&w)
	x.quiet(&w)
	return w.String()
}

// title is the run, or as much of it as is known of a pipeline that is not in force.
func (x Explanation) title() string {
	switch {
	case x.Key.Schedule != "":
		return x.Key.String()
	case x.Key.Period.IsZero():
		return string(x.Key.Pipeline)
	}
	return fmt.Sprintf("%s %s", x.Key.Pipeline, x.Key.Period)
}

// block writes a list under its title; nothing where it is empty.
func block(w *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(w, "\n%s\n", title)
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  - %s\n", printable(line))
	}
}

// rules writes one line per rule and, below it, the reading that it saw.
func (x Explanation) rules(w *strings.Builder) {
	g := x.Gate
	title := "Rules now"
	if !g.Live {
		title = "Rules at the start, " + clock(g.At)
	}
	if g.Bypassed {
		title += " (bypassed by an operator)"
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	if len(g.Leaves) == 0 {
		w.WriteString("  there are no rules\n")
	}
	for _, leaf := range g.Leaves {
		key := leaf.Key
		if leaf.From != "" {
			key = leaf.From + ":" + key
		}
		fmt.Fprintf(w, "  %s %s  %s: %s%s\n", mark(leaf), key, printable(condition(leaf)), printable(leaf.Reason), aside(leaf))
		if !leaf.UpdatedAt.IsZero() {
			fmt.Fprintf(w, "      %s\n", printable(leaf.written(g)))
		}
	}
}

func mark(leaf Leaf) string {
	switch {
	case leaf.Holds:
		return "✓"
	case leaf.Outcome == rule.Unknown:
		return "?"
	}
	return "✗"
}

func aside(leaf Leaf) string {
	text := ""
	if leaf.Group != "" {
		text = " [" + leaf.Group + "]"
	}
	if leaf.Advisory {
		text += " (advisory: does not count)"
	}
	return text
}

// written says when, by whom and for which period the reading was written.
func (leaf Leaf) written(g *Gate) string {
	text := "written " + clock(leaf.UpdatedAt)
	if age := g.At.Sub(leaf.UpdatedAt); age >= time.Second && g.Live {
		text += " (" + span(age) + " ago)"
	} else if age >= time.Second {
		text += " (" + span(age) + " before the start)"
	}
	if leaf.Source != "" {
		text += " by " + leaf.Source
	}
	if leaf.Period.IsZero() {
		return text + ", undated"
	}
	return text + " for " + leaf.Period.String()
}

func (x Explanation) tries(w *strings.Builder) {
	var lines []string
	for _, a := range x.Attempts {
		lines = append(lines, a.line())
	}
	block(w, "Attempts:", lines)
}

// line tells an attempt: "attempt 2 (retry: transient): opened …, started …, failed … (TRANSIENT, exit code 75): no network".
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
		parts = append(parts, "opened "+clock(a.OpenedAt))
	}
	if !a.StartedAt.IsZero() {
		parts = append(parts, "started "+clock(a.StartedAt))
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
		return "ended " + clock(a.EndedAt)
	}
	text := resultWord(a.Result)
	if !a.EndedAt.IsZero() {
		text += " " + clock(a.EndedAt)
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

// maxOutput is how many lines of the last job's output are shown. The run has all that is kept.
const maxOutput = 20

func (x Explanation) output(w *strings.Builder) {
	if len(x.Attempts) == 0 {
		return
	}
	text := strings.TrimRight(x.Attempts[len(x.Attempts)-1].Output, "\n")
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if len(lines) > maxOutput {
		lines = lines[len(lines)-maxOutput:]
	}
	w.WriteString("\nLast lines of the job's output:\n")
	for _, line := range lines {
		fmt.Fprintf(w, "  | %s\n", printable(line))
	}
}

func (x Explanation) due(w *strings.Builder) {
	var lines []string
	for _, d := range x.Deadlines {
		lines = append(lines, deadline(d, x.At))
	}
	block(w, "Deadlines:", lines)
}

func deadline(d store.Deadline, now time.Time) string {
	text := fmt.Sprintf("%s deadline %s: %s", d.Kind, instant(d.BreachAt, now), d.State)
	if !d.WarnAt.IsZero() && d.State == sla.Armed && !d.Warned {
		text += ", warning " + instant(d.WarnAt, now)
	}
	if d.Warned {
		text += ", warned"
	}
	if !d.DoneAt.IsZero() {
		text += ", completed " + clock(d.DoneAt)
		if late := d.DoneAt.Sub(d.BreachAt); late > 0 {
			text += ", " + span(late) + " late"
		}
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	return text
}

// count sums up how many rules keep a gate closed.
func count(g *Gate) string {
	closed, total := len(g.Closed()), 0
	for _, leaf := range g.Leaves {
		if !leaf.Advisory {
			total++
		}
	}
	return gate.CountClosed(closed, total)
}

func (l *look) when(t time.Time) string { return instant(t, l.now) }

// instant is a time with how far away it is.
func instant(t, now time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return "at an unknown time"
	case d >= time.Second:
		return clock(t) + " (in " + span(d) + ")"
	case d > -time.Second:
		return clock(t) + " (now)"
	default:
		return clock(t) + " (" + span(-d) + " ago)"
	}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// span is a duration in its two largest units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d >= day:
		return trimZero(fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour), "d0h", "d")
	case d >= time.Hour:
		return trimZero(fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute), "h0m", "h")
	case d >= time.Minute:
		return trimZero(fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second), "m0s", "m")
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

func trimZero(s, tail, instead string) string {
	if cut, ok := strings.CutSuffix(s, tail); ok {
		return cut + instead
	}
	return s
}

func orUnknown(s string) string {
	if s == "" {
		return "no reason recorded"
	}
	return s
}

// printable replaces control characters in what users wrote, so that they neither move the cursor nor break the line.
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

// quiet lists the alerts that silences suppressed.
func (x Explanation) quiet(w *strings.Builder) {
	var lines []string
	for _, s := range x.Silenced {
		noun := "alert was"
		if s.Alerts > 1 {
			noun = "alerts were"
		}
		lines = append(lines, fmt.Sprintf("%d %s silenced by %s; see `interlock silence list --all`", s.Alerts, noun, s.By))
	}
	block(w, "Alerts:", lines)
}
