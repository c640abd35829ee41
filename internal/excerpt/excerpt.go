// Package excerpt shortens texts for messages, events and listings. It never cuts a character in
// two. Texts that also have a limit in terminal columns or in Slack's entities are cut where they
// are shown.
package excerpt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Head returns the beginning of a text: at most that many bytes.
func Head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for n := 1; n < utf8.UTFMax && most > 0 && !utf8.RuneStart(text[most]); n++ {
		most--
	}
	return text[:most]
}

// Bytes returns a text of at most that many bytes unchanged, and of a longer one its head with an
// ellipsis.
func Bytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Head(text, most) + ellipsis
}

// Quoted is Bytes in quotes, with the ellipsis behind them.
func Quoted(text string, most int) string {
	quoted := strconv.Quote(Head(text, most))
	if len(text) > most {
		quoted += ellipsis
	}
	return quoted
}

// Runes shortens a text to at most that many characters, one of which is the ellipsis.
func Runes(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + ellipsis
	}
	return text
}

// LastLine returns the last non-blank line of a program's output, shortened to that many bytes. It
// usually says what went wrong.
func LastLine(output string, most int) string {
	output = strings.TrimSpace(output)
	return Bytes(strings.TrimSpace(output[strings.LastIndexAny(output, "\n\r")+1:]), most)
}
