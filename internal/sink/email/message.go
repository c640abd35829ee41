package email

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	netmail "net/mail"
	"strings"
	"unicode"

	"github.com/wneessen/go-mail"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sink"
)

// The limits of a mail, in characters: longer mails are not read, and some servers reject them.
const (
	maxSubject = 200
	maxPart    = 10_000
	maxLines   = 50
)

// view is the content of a mail.
type view struct {
	Story  sink.Story
	Owner  string
	Links  sink.Links
	Colour string
}

func newView(a sink.Alert) view {
	story := a.Story().Bounded(maxPart, maxLines, func(int) int { return maxPart / 10 })
	colours := map[event.Severity]string{event.Critical: "#d32f2f", event.Warning: "#f2a600", event.Info: "#2d7dd2"}
	return view{Story: story, Owner: a.Owner, Links: a.Links, Colour: colours[a.Event.Detail.Severity]}
}

// message builds the mail for an alert.
func (s *Sink) message(a sink.Alert) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := m.From(s.config.From); err != nil {
		return nil, fmt.Errorf("alerts.email.from: %w", err)
	}
	if err := m.To(s.config.To...); err != nil {
		return nil, fmt.Errorf("alerts.email.to: %w", err)
	}
	s.head(m, a.Event)
	v := newView(a)
	m.SetBodyString(mail.TypeTextPlain, v.text())
	m.AddAlternativeString(mail.TypeTextHTML, v.page())
	return m, nil
}

// head sets the headers. A header is always one line, whatever the event contains.
func (s *Sink) head(m *mail.Msg, e event.Event) {
	d := e.Detail
	m.Subject(excerpt.Runes(oneLine(fmt.Sprintf("[%s] %s: %s", d.Severity, sink.Title(e), d.Message)), maxSubject))
	m.SetMessageIDWithValue(s.messageID("event", e.ID))
	m.SetUserAgent("interlock")
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader("X-Interlock-Event", oneLine(string(e.Type)))
	if d.Severity == event.Critical {
		m.SetImportance(mail.ImportanceHigh)
	}
	if sink.AboutRun(e) {
		root := "<" + s.messageID("run", sink.Matter(e)) + ">"
		m.SetGenHeader(mail.HeaderInReplyTo, root)
		m.SetGenHeader(mail.HeaderReferences, root)
	}
}

// messageID returns an id that is derived from the subject of the mail, in the sender's domain.
func (s *Sink) messageID(kind, of string) string {
	sum := sha256.Sum256([]byte(kind + "/" + of))
	domain := "interlock.invalid"
	if from, err := netmail.ParseAddress(s.config.From); err == nil {
		domain = from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	}
	return hex.EncodeToString(sum[:16]) + "@" + domain
}

// text renders the plain-text part.
func (v view) text() string {
	var b strings.Builder
	part := func(label string, lines ...string) {
		if len(lines) == 0 || lines[0] == "" {
			return
		}
		if label != "" {
			b.WriteString("\n" + label + "\n")
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	part("", v.Story.Title, v.Story.What)
	part("Why:", v.Story.Why...)
	part("By itself:", v.Story.Heals)
	part("What to do:", v.Story.Todo)
	part("", v.Story.Burst)
	part("Owner:", v.Owner)
	part("Run:", v.Links.Run)
	part("Pipeline:", v.Links.Pipeline)
	return b.String()
}

// page renders the HTML part. It does not use html/template, which makes the linker keep every
// method of every type.
func (v view) page() string {
	var b strings.Builder
	text := html.EscapeString
	part := func(before, value, after string) {
		if value != "" {
			b.WriteString(before + text(value) + after + "\n")
		}
	}
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><body style=\"font-family: sans-serif; max-width: 42em\">\n")
	fmt.Fprintf(&b, "<p style=\"border-left: 4px solid %s; padding-left: 8px\"><b>%s</b><br>%s</p>\n", v.Colour, text(v.Story.Title), text(v.Story.What))
	if len(v.Story.Why) > 0 {
		b.WriteString("<p><b>Why</b></p><ul>\n")
		for _, why := range v.Story.Why {
			part("<li>", why, "</li>")
		}
		b.WriteString("</ul>\n")
	}
	part("<p><b>By itself</b><br>", v.Story.Heals, "</p>")
	part("<p><b>What to do</b><br>", v.Story.Todo, "</p>")
	part("<p>", v.Story.Burst, "</p>")
	part("<p>Owner: ", v.Owner, "</p>")
	part(`<p><a href="`, v.Links.Run, `">Run</a></p>`)
	part(`<p><a href="`, v.Links.Pipeline, `">Pipeline</a></p>`)
	b.WriteString("</body></html>\n")
	return b.String()
}

// oneLine replaces line breaks and other control characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
