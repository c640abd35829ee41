// Package reason represents why something is in its state: a code with named parameters. A program
// can act on the code, and each reader can format instants and durations itself: the terminal in
// UTC, the dashboard in the selected time zone.
//
// It decides nothing. Packages explain, attention and timeline create reasons; the API returns them
// as they are.
package reason

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// Code names a kind of reason. It is stable; the wording is not.
type Code string

// Kind says how a part is shown.
type Kind string

// The kinds of parts.
const (
	Text     Kind = "text"     // plain words, or a value as it is
	Instant  Kind = "instant"  // At
	Duration Kind = "duration" // Seconds
	Command  Kind = "command"  // a command line that can be copied
)

// Part is a piece of a reason. A parameter has a name; the words between parameters have none.
type Part struct {
	Kind    Kind
	Name    string
	Text    string // for an instant or a duration, its form in UTC without the distance from now
	At      time.Time
	Seconds float64
	bare    bool // StringAt omits the distance from now
}

// Reason is one sentence in parts. The zero Reason means that there is none.
type Reason struct {
	Code  Code
	Parts []Part // the sentence
	Also  []Part // parameters that the sentence does not mention
}

// New returns a reason. Each {name} in format is replaced by the parameter with that name.
func New(code Code, format string, params ...Part) Reason {
	r := Reason{Code: code}
	used := make([]bool, len(params))
	words := func(s string) {
		if s != "" {
			r.Parts = append(r.Parts, Part{Kind: Text, Text: s})
		}
	}
	for format != "" {
		before, rest, found := strings.Cut(format, "{")
		words(before)
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		i := slices.IndexFunc(params, func(p Part) bool { return p.Name == name })
		if !closed || i < 0 {
			words("{")
			format = rest
			continue
		}
		used[i] = true
		r.Parts = append(r.Parts, params[i])
		format = after
	}
	for i, p := range params {
		if !used[i] && p.Text != "" {
			r.Also = append(r.Also, p)
		}
	}
	return r
}

// At returns a parameter that is an instant.
func At(name string, t time.Time) Part {
	if t.IsZero() {
		return Part{Kind: Text, Name: name, Text: "at an unknown time"}
	}
	return Part{Kind: Instant, Name: name, Text: period.Stamp(t), At: t.UTC()}
}

// On returns a parameter that is an instant whose distance from now does not matter.
func On(name string, t time.Time) Part {
	p := At(name, t)
	p.bare = true
	return p
}

// For returns a parameter that is a duration.
func For(name string, d time.Duration) Part {
	return Part{Kind: Duration, Name: name, Text: Span(d), Seconds: d.Seconds()}
}

// Str returns a parameter that is text.
func Str[S ~string](name string, s S) Part { return Part{Kind: Text, Name: name, Text: string(s)} }

// Int returns a parameter that is a whole number.
func Int(name string, n int) Part { return Part{Kind: Text, Name: name, Text: strconv.Itoa(n)} }

// Value returns a parameter that is the value of a sensor's field, as JSON.
func Value(name string, v any) Part {
	text, err := json.Marshal(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	return Part{Kind: Text, Name: name, Text: string(text)}
}

// IsZero reports whether there is no reason.
func (r Reason) IsZero() bool { return r.Code == "" && len(r.Parts) == 0 }

// Param returns the text of the parameter with that name; "" if there is none.
func (r Reason) Param(name string) string {
	for _, p := range slices.Concat(r.Parts, r.Also) {
		if p.Name == name {
			return p.Text
		}
	}
	return ""
}

// String returns the sentence in UTC.
func (r Reason) String() string { return r.text(func(p Part) string { return p.Text }) }

// StringAt returns the sentence in UTC, with the distance of each instant from now.
func (r Reason) StringAt(now time.Time) string {
	return r.text(func(p Part) string {
		if p.Kind == Instant && !p.bare {
			return When(p.At, now)
		}
		return p.Text
	})
}

// Commands returns the sentence at now without its command lines, and these.
func (r Reason) Commands(now time.Time) (sentence string, commands []string) {
	words := Reason{}
	for _, p := range r.Parts {
		if p.Kind == Command {
			commands = append(commands, p.Text)
			p = Part{Kind: Text}
		}
		words.Parts = append(words.Parts, p)
	}
	sentence = strings.TrimSpace(words.StringAt(now))
	return strings.TrimSuffix(strings.ReplaceAll(sentence, ":  [", " ["), ":"), commands
}

// Prefixed returns the sentence after other words.
func (r Reason) Prefixed(words string) Reason {
	r.Parts = append([]Part{{Kind: Text, Text: words}}, r.Parts...)
	return r
}

func (r Reason) text(show func(Part) string) string {
	var w strings.Builder
	for _, p := range r.Parts {
		if p.Kind == Command {
			w.WriteString("`" + p.Text + "`")
			continue
		}
		w.WriteString(show(p))
	}
	return w.String()
}

// When formats an instant in UTC with its distance from now.
func When(t, now time.Time) string {
	switch d := t.Sub(now); {
	case t.IsZero():
		return "at an unknown time"
	case d >= time.Second:
		return period.Stamp(t) + " (in " + Span(d) + ")"
	case d > -time.Second:
		return period.Stamp(t) + " (now)"
	default:
		return period.Stamp(t) + " (" + Span(-d) + " ago)"
	}
}

// Span formats a duration in its two largest units.
func Span(d time.Duration) string {
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

// Say returns a reason from a fmt.Sprintf format. An argument that is a Part becomes that part; any
// other becomes text. Text between backticks in the format is a command.
func Say(code Code, format string, args ...any) Reason {
	s := sentence{Reason: Reason{Code: code}}
	for format != "" {
		at := strings.IndexAny(format, "%`")
		if at < 0 {
			s.text.WriteString(format)
			break
		}
		s.text.WriteString(format[:at])
		switch {
		case format[at] == '`':
			s.quote()
			format = format[at+1:]
			continue
		case strings.HasPrefix(format[at:], "%%"):
			s.text.WriteByte('%')
		case len(args) > 0:
			s.argument(format[at:min(at+2, len(format))], args[0])
			args = args[1:]
		}
		format = format[min(at+2, len(format)):]
	}
	s.flush(Text)
	return s.Reason
}

// sentence is a reason under construction.
type sentence struct {
	Reason
	text    strings.Builder // the current part
	command bool
}

func (s *sentence) argument(verb string, arg any) {
	p, isPart := arg.(Part)
	switch {
	case isPart && !s.command:
		s.flush(Text)
		s.Parts = append(s.Parts, p)
	case isPart:
		s.text.WriteString(p.Text)
	default:
		fmt.Fprintf(&s.text, verb, arg)
	}
}

// quote starts or ends a command.
func (s *sentence) quote() {
	if s.command {
		s.flush(Command)
	} else {
		s.flush(Text)
	}
	s.command = !s.command
}

func (s *sentence) flush(k Kind) {
	if s.text.Len() > 0 {
		s.Parts = append(s.Parts, Part{Kind: k, Text: s.text.String()})
	}
	s.text.Reset()
}
