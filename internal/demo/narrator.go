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

// line prints one line. It ignores write errors: there is nowhere else to report them.
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

// action prints what a source or an operator does.
func (n *narrator) action(now time.Time, who, what string) {
	n.line("  %s  %s %s", n.paint(dim, at(now)), n.paint(cyan, who), what)
}

// event prints the message of an event, and the output of its job, if known.
func (n *narrator) event(e event.Event, printed string) {
	subject := strings.TrimSpace(string(e.Detail.Pipeline) + " " + short(e.Detail.Date, e.Time))
	text := e.Detail.Message
	if printed != "" {
		text += ": " + printed
	}
	if subject != "" {
		subject = n.paint(severityColour(e), subject) + ": "
	}
	n.line("  %s  %s%s %s", n.paint(dim, at(e.Time)), subject, harmless(text), n.paint(dim, "("+string(e.Type)+")"))
}

// severityColour returns the colour of an event.
func severityColour(e event.Event) string {
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

// harmless replaces control characters that could move the cursor or change colours: jobs may print
// anything.
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

// clock is the format of instants: in UTC, like the periods.
const clock = "15:04:05"

func at(t time.Time) string { return t.UTC().Format(clock) }
