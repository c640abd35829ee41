package slack

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Slack's limits on a message, in Slack's own characters.
const (
	maxText    = 3000 // of a text object, and of the text of our messages
	maxSummary = 300
	maxLines   = 20
)

// Characters that make text bold, italic, struck or code, and their look-alikes: the text is data
// and must be shown literally.
var marks = map[rune]rune{'*': '∗', '_': 'ˍ', '~': '∼', '`': 'ˋ'}

// emoji matches what Slack would turn into a picture. Most names have a letter; a time of day has none.
var emoji = regexp.MustCompile(`:([0-9]*[a-z_][a-z0-9_+'-]*:|[+-]1:|100:|1234:)`)

// plain returns data as mrkdwn that shows it literally: no markup, no mention, no link, no picture; cut at a limit.
func plain(text string, limit int) string {
	for emoji.MatchString(text) { // the colon that ends one may begin another
		text = emoji.ReplaceAllString(text, "∶$1")
	}
	runes := []rune(text)
	pairs := map[rune]int{}
	for i, r := range runes {
		if marks[r] != 0 && atBoundary(runes, i) {
			pairs[r]++
		}
	}
	for i, r := range runes {
		if pairs[r] > 1 && atBoundary(runes, i) { // a single one formats nothing
			runes[i] = marks[r]
		}
	}
	return escape(string(runes), limit)
}

// atBoundary reports whether a mark at i could begin or end a format: inside a word it does neither.
func atBoundary(runes []rune, i int) bool {
	return i == 0 || i == len(runes)-1 || !isWord(runes[i-1]) || !isWord(runes[i+1])
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// escape makes sure that text contains no Slack control sequence, such as a mention of everybody, and is no longer
// than the limit; it cuts no entity in two.
func escape(text string, limit int) string {
	var b strings.Builder
	length := 0
	for _, r := range text {
		piece := entity(r)
		if length += size(piece); length > limit-1 {
			return strings.TrimRight(b.String(), " \n") + "…"
		}
		b.WriteString(piece)
	}
	return b.String()
}

func entity(r rune) string {
	switch {
	case r == '&':
		return "&amp;"
	case r == '<':
		return "&lt;"
	case r == '>':
		return "&gt;"
	case r != '\n' && unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
		return " "
	}
	return string(r)
}

// size returns a text's length as Slack may count it: in UTF-16 code units, which is never less than in characters.
func size(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// bullets renders facts as a list.
func bullets(facts []string) string {
	each := maxText/max(len(facts), 1) - 10
	var b strings.Builder
	for _, fact := range facts {
		b.WriteString("\n• " + plain(fact, each))
	}
	return b.String()
}

// link renders a link, or nothing if there is no address. The address is part of a control sequence, which it must not
// end.
func link(address, label string) string {
	if address == "" {
		return ""
	}
	safe := strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "&", "&amp;").Replace(address)
	return "<" + safe + "|" + label + ">"
}
