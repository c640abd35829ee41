package document

import (
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// locator finds the real positions of tokens. The library's columns are wrong after trailing blanks
// and tabs, so each is compared with the text and, if it does not match, replaced by the nearest
// position that does.
type locator struct {
	lines []string

	// The last result, because tokens mostly follow each other, and a line may be as long as a
	// file.
	line, column, offset int
}

func newLocator(text string) *locator { return &locator{lines: strings.Split(text, "\n")} }

// place returns the line and column of a token, both from 1.
func (l *locator) place(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 1, 1
	}
	line, column = max(1, t.Position.Line), max(1, t.Position.Column)
	if line > len(l.lines) || t.Type == token.ImplicitNullType {
		return line, column
	}
	text := l.lines[line-1]
	at := l.byteOffset(line, column)
	if begins(text, at, t, false) {
		return line, column
	}
	found, ok := nearest(text, at, t)
	if !ok {
		return line, column
	}
	if found < at {
		return line, column - utf8.RuneCountInString(text[found:at])
	}
	return line, column + utf8.RuneCountInString(text[at:found])
}

// byteOffset returns the byte offset of a column in a line.
func (l *locator) byteOffset(line, column int) int {
	if line != l.line || column < l.column {
		l.line, l.column, l.offset = line, 1, 0
	}
	text := l.lines[line-1]
	for l.column < column && l.offset < len(text) {
		_, size := utf8.DecodeRuneInString(text[l.offset:])
		l.offset += size
		l.column++
	}
	return l.offset
}

// nearest searches for the token to the left and to the right of its expected position: after a tab
// first to the right, because the library does not count tabs, otherwise first to the left.
func nearest(text string, at int, t *token.Token) (int, bool) {
	const far = 256
	from, to := max(0, at-far), min(len(text), at+far)
	for _, cut := range []bool{false, true} {
		left, right := -1, -1
		for i := at; i >= from && left < 0; i-- {
			if begins(text, i, t, cut) {
				left = i
			}
		}
		for i := at; i < to && right < 0; i++ {
			if begins(text, i, t, cut) {
				right = i
			}
		}
		if right >= 0 && (left < 0 || strings.Contains(text[from:min(at+1, to)], "\t")) {
			return right, true
		}
		if left >= 0 {
			return left, true
		}
	}
	return 0, false
}

// begins reports whether the token may begin at a byte of the line. cut is for plain text over
// several lines: then the rest of the line is only the beginning of its value.
func begins(text string, at int, t *token.Token, cut bool) bool {
	if at >= len(text) || !utf8.RuneStart(text[at]) {
		return false
	}
	if at > 0 && strings.IndexByte(" \t[]{},:-?", text[at-1]) < 0 && isText(t) {
		return false
	}
	switch t.Type {
	case token.SingleQuoteType:
		return text[at] == '\''
	case token.DoubleQuoteType:
		return text[at] == '"'
	}
	if !cut {
		return t.Value != "" && strings.HasPrefix(text[at:], t.Value)
	}
	rest := strings.TrimRight(text[at:], " \t")
	return rest != "" && strings.HasPrefix(t.Value, rest)
}

// isText reports whether a token is a scalar and not an indicator.
func isText(t *token.Token) bool { return t.Indicator == token.NotIndicator }
