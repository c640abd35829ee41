package slack

import (
	"slices"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sink"
)

// card is the content of a message. A conversation stores that of its root, to be able to rewrite
// it.
type card struct {
	Story    sink.Story     `json:"story"`
	Severity event.Severity `json:"severity"`
	Owner    string         `json:"owner,omitempty"`
	Links    sink.Links     `json:"links"`
}

func newCard(a sink.Alert) card {
	story := a.Story().Bounded(maxText, maxLines, func(lines int) int { return maxText / lines }) // conversations are stored
	return card{Story: story, Severity: a.Event.Detail.Severity, Owner: excerpt.Runes(a.Owner, maxSummary), Links: a.Links}
}

// message is a card in Slack's form. Text is for notifications and clients without blocks; the
// attachment gives the blocks their colour.
type message struct {
	text       string
	attachment api.Attachment
	broadcast  bool
}

// message renders a card, below a line with the state of the matter.
func (c card) message(standing, colour string) message {
	s := c.Story
	var blocks []api.Block
	for _, text := range []string{
		standing, plain(s.What, maxText), prefixed("*Why*", bullets(s.Why)), labelled("By itself", plain(s.Heals, maxSummary)), labelled("What to do", escape(s.Todo, maxText-20)),
	} {
		if text != "" {
			blocks = append(blocks, api.NewSectionBlock(mrkdwn(text), nil, nil))
		}
	}
	if foot := c.foot(); foot != "" {
		blocks = append(blocks, api.NewContextBlock("", mrkdwn(foot)))
	}
	return message{
		text:       c.summary(standing),
		attachment: api.Attachment{Color: colour, Fallback: c.text(), Blocks: api.Blocks{BlockSet: blocks}},
	}
}

// summary returns the line that notifications show.
func (c card) summary(standing string) string {
	if standing != "" {
		standing += "\n"
	}
	return standing + plain(c.Story.Title+": "+c.Story.What, maxSummary)
}

// text renders the whole card without blocks.
func (c card) text() string {
	s := c.Story
	lines := append([]string{s.Title, s.What}, s.Why...)
	for _, line := range []string{s.Heals, s.Todo, s.Burst} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return plain(strings.Join(lines, "\n"), maxText)
}

// foot returns the footer: the number of events, the owner and the links.
func (c card) foot() string {
	parts := []string{
		plain(c.Story.Burst, maxSummary), prefixed("Owner: ", plain(c.Owner, maxSummary)), link(c.Links.Run, "Run"), link(c.Links.Pipeline, "Pipeline"),
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " · ")
}

// mrkdwn returns a text object in which Slack interprets only our markup: it creates no links of
// its own.
func mrkdwn(text string) *api.TextBlockObject {
	return api.NewTextBlockObject(api.MarkdownType, text, false, true)
}

func labelled(label, text string) string { return prefixed("*"+label+"*\n", text) }

// prefixed returns text after a prefix, and nothing for no text.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// standing returns the line with the state of a matter, and the event that led to it.
func standing(state sink.State, since event.Type, at time.Time) string {
	word := map[sink.State]string{sink.Opened: "Open", sink.Recovered: "Recovered", sink.Closed: "Closed"}[state]
	if word == "" {
		return ""
	}
	return "*" + word + "*: " + string(since) + " at " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// colour returns the colour for the state and the worst open severity.
func colour(state sink.State, worst event.Severity) string {
	switch {
	case state == sink.Recovered:
		return "#2e9e5b"
	case state == sink.Closed:
		return "#8a8a8a"
	case worst == event.Critical:
		return "#d32f2f"
	case worst == event.Warning:
		return "#f2a600"
	default:
		return "#2d7dd2"
	}
}
