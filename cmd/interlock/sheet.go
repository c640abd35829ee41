package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// narrow is the maximum width of a table if the terminal's width is unknown.
const narrow = 80

// column is one column of a sheet.
type column struct {
	title string
	// extra columns are dropped if they do not fit, the last one first. `-o wide` shows all of
	// them.
	extra bool
	// text is cut or wrapped to fit. Only the last column may be text.
	text, wrap bool
}

// The kinds of columns: always shown, dropped if too wide, cut, and wrapped.
func col(title string) column      { return column{title: title} }
func extraCol(title string) column { return column{title: title, extra: true} }
func textCol(title string) column  { return column{title: title, text: true} }
func wrapCol(title string) column  { return column{title: title, text: true, wrap: true} }

// Extra columns are dropped if the text would have less than goodText columns. Long names get a
// line of their own if it would have less than leastText.
const (
	goodText  = 40
	leastText = 16
)

// sheet prints a table that fits the terminal, or 80 columns without a terminal. With `-o wide` it
// has its full width. Names are never cut: a name that would make the table too wide gets its own
// line.
func (a *app) sheet(columns []column, rows [][]cell) {
	head := make([]cell, len(columns))
	for i, c := range columns {
		head[i] = cell{c.title, a.outStyle.dim}
	}
	all := append([][]cell{head}, rows...)
	if !a.wide {
		all = fit(columns, all, a.width)
	}
	fmt.Fprint(a.stdout, table(all))
}

// fit makes a table at most that wide, if possible: it drops extra columns and cuts the text. If
// that is not enough, it puts long names on their own lines.
func fit(columns []column, rows [][]cell, most int) [][]cell {
	left, shown, room := leaveOut(columns, rows, most)
	if _, flexible := used(left, shown); room < min(leastText, flexible) {
		left, shown, room = leaveOut(columns, namesAlone(rows, most/2), most)
	}
	return cut(left, shown, max(room, leastText))
}

// namesAlone puts first cells wider than most on their own line, above the rest of the row.
func namesAlone(rows [][]cell, most int) [][]cell {
	var all [][]cell
	for _, row := range rows {
		if cells(row[0].text) > most {
			all = append(all, row[:1:1])
			row = append([]cell{{}}, row[1:]...)
		}
		all = append(all, row)
	}
	return all
}

// leaveOut drops extra columns until the text has enough room. room is the space left for the text.
func leaveOut(columns []column, rows [][]cell, most int) (left []column, shown [][]cell, room int) {
	for {
		used, flexible := used(columns, rows)
		i := len(columns) - 1
		for i >= 0 && !columns[i].extra {
			i--
		}
		if used+min(flexible, goodText) <= most || i < 0 {
			return columns, rows, most - used
		}
		columns, rows = slices.Delete(slices.Clone(columns), i, i+1), withoutColumn(rows, i)
	}
}

// used returns the total width of the columns that cannot be cut, and the width of the one that
// can.
func used(columns []column, rows [][]cell) (fixed, flexible int) {
	for i, c := range columns {
		widest := 0
		for _, row := range rows {
			if i < len(row) && !alone(row, len(columns)) {
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
		if left[n] = row; i < len(row) {
			left[n] = slices.Delete(slices.Clone(row), i, i+1)
		}
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
		if alone(row, len(columns)) {
			fitted = append(fitted, row)
			continue
		}
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

// wrapped splits text at spaces into lines of at most that many terminal columns. A longer word
// gets its own line.
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

// tableTime formats a time in UTC for a table: to the second with `-o wide`, otherwise to the
// minute.
func (a *app) tableTime(t *time.Time) string {
	if a.wide || t == nil || t.IsZero() {
		return shortTime(t)
	}
	return t.UTC().Format(minuteShape)
}
