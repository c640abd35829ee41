package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// narrow is how wide a table may be where the terminal does not say: 80 columns.
const narrow = 80

// column is one column of a sheet.
type column struct {
	title string
	// extra columns are left out where they do not fit, the last one first. `-o wide` shows all of them.
	extra bool
	// text is cut to the space that is left, or wrapped. Only the last column may be text.
	text, wrap bool
}

// The columns of a sheet: one that is always there, one that is not, one that may be cut, and one that is wrapped.
func col(title string) column      { return column{title: title} }
func extraCol(title string) column { return column{title: title, extra: true} }
func textCol(title string) column  { return column{title: title, text: true} }
func wrapCol(title string) column  { return column{title: title, text: true, wrap: true} }

// How much of a text is shown: extra columns give way to the first 40 columns of it, names to the first 16.
const (
	goodText  = 40
	leastText = 16
)

// sheet prints a table that fits the terminal, or 80 columns where there is none. With `-o wide` it is as wide as it is.
// Names are never cut: a row with a long one is wider.
func (a *app) sheet(columns []column, rows [][]cell) {
	head := make([]cell, len(columns))
	for i, c := range columns {
		head[i] = cell{c.title, a.outStyle.dim}
	}
	all := append([][]cell{head}, rows...)
	if !a.wide {
		all = fit(columns, all, a.width)
	}
	fmt.Fprint(a.stdout, table("", all))
}

// fit leaves out extra columns and cuts the text until a table is at most so wide.
func fit(columns []column, rows [][]cell, most int) [][]cell {
	for {
		used, flexible := used(columns, rows)
		if used+min(flexible, goodText) <= most {
			return cut(columns, rows, max(most-used, leastText))
		}
		i := slices.IndexFunc(columns, func(c column) bool { return c.extra })
		if i < 0 {
			return cut(columns, rows, max(most-used, leastText))
		}
		for last := i + 1; last < len(columns); last++ {
			if columns[last].extra {
				i = last
			}
		}
		columns, rows = slices.Delete(slices.Clone(columns), i, i+1), withoutColumn(rows, i)
	}
}

// used is how wide the columns are that cannot be cut, and how wide the one is that can.
func used(columns []column, rows [][]cell) (fixed, flexible int) {
	for i, c := range columns {
		widest := 0
		for _, row := range rows {
			if i < len(row) {
				widest = max(widest, cells(row[i].text))
			}
		}
		if i > 0 {
			fixed += 2
		}
		if c.text {
			flexible = widest
		} else {
			fixed += widest
		}
	}
	return fixed, flexible
}

func withoutColumn(rows [][]cell, i int) [][]cell {
	left := make([][]cell, len(rows))
	for n, row := range rows {
		left[n] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return left
}

// cut shortens or wraps the text column.
func cut(columns []column, rows [][]cell, most int) [][]cell {
	last := len(columns) - 1
	if last < 0 || !columns[last].text {
		return rows
	}
	var fitted [][]cell
	for _, row := range rows {
		text := row[last].text
		if !columns[last].wrap {
			row[last].text = shorten(text, most)
			fitted = append(fitted, row)
			continue
		}
		for i, line := range wrapped(text, most) {
			if i > 0 {
				row = make([]cell, len(columns))
			}
			row[last].text = line
			fitted = append(fitted, row)
		}
	}
	return fitted
}

// wrapped splits text at spaces into lines of at most so many terminal columns. A longer word has a line of its own.
func wrapped(text string, most int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && cells(line)+1+cells(word) > most {
			lines = append(lines, line)
			line = word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

const minuteShape = "2006-01-02 15:04Z"

// tableTime is an instant in UTC for a table: to the second with `-o wide`, else to the minute.
func (a *app) tableTime(t *time.Time) string {
	switch {
	case t == nil || t.IsZero():
		return "–"
	case a.wide:
		return t.UTC().Format(timeShape)
	}
	return t.UTC().Format(minuteShape)
}
