package main

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// style colours text if colours is set.
type style struct{ colours bool }

// styleFor uses colours only on a terminal that supports them, and never if NO_COLOR is set
// (no-color.org).
func styleFor(w world, out io.Writer) style {
	return style{colours: w.getenv("NO_COLOR") == "" && w.getenv("TERM") != "dumb" && w.terminal(out)}
}

func (s style) paint(code, text string) string {
	if !s.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) dim(text string) string    { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }

// cell is one field of a table; paint may be nil.
type cell struct {
	text  string
	paint func(string) string
}

// plain returns a cell with printable text.
func plain(text string) cell { return cell{text: printable(text)} }

// table lays out rows in columns as wide as their widest cell, two spaces apart. It measures text
// without colours, so that colours do not shift the columns.
func table(rows [][]cell) string {
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	widths := make([]int, columns)
	for _, row := range rows {
		if alone(row, columns) {
			continue
		}
		for i, c := range row {
			widths[i] = max(widths[i], cells(c.text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, c := range row {
			pad := max(widths[i]-cells(c.text)+2, 0)
			if c.paint != nil {
				c.text = c.paint(c.text)
			}
			line += c.text + strings.Repeat(" ", pad)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// alone reports whether a row is a single cell above the rest of its row; it does not affect the
// column widths.
func alone(row []cell, columns int) bool { return len(row) == 1 && columns > 1 }

// cells returns the width of text in terminal columns.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// printable replaces characters that could move the cursor, change colours or reverse the writing
// direction, because text may come from any file. Tabs stay.
func printable(text string) string { return printableExcept("\t", text) }

// printableLines is printable for text of several lines.
func printableLines(text string) string { return printableExcept("\t\n", text) }

func printableExcept(kept, text string) string {
	return strings.Map(func(r rune) rune {
		if !strings.ContainsRune(kept, r) && deceives(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// deceives reports whether a character moves the cursor, changes colours or reverses the writing
// direction.
func deceives(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// shorten cuts text to at most that many terminal columns.
func shorten(text string, most int) string {
	if cells(text) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += runeCells(r); n >= most {
			return text[:i] + "…"
		}
	}
	return text
}

// withoutColours removes the colours from text.
func withoutColours(text string) string {
	for {
		before, rest, found := strings.Cut(text, "\x1b[")
		_, after, ended := strings.Cut(rest, "m")
		if !found || !ended {
			return text
		}
		text = before + after
	}
}
