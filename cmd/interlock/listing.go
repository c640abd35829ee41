package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// print prints an answer that did not come from a server: v as JSON, or text.
func (a *app) print(format *choice, v any, text func()) error {
	if format.value == jsonFormat {
		return writeJSON(a.stdout, v)
	}
	a.wide = format.value == wideFormat
	text()
	return nil
}

// maxListed is the largest --limit.
const maxListed = 100_000

// addLimit adds a --limit flag; 0 lists everything.
func addLimit(cmd *cobra.Command, usual int) *count {
	limit := &count{value: usual, most: maxListed}
	usage := "maximum number of items to list"
	if usual == 0 {
		usage += " (default all)"
	}
	cmd.Flags().Var(limit, "limit", usage)
	return limit
}

// listing is the part of a list that was requested.
type listing[T any] struct {
	items []T
	raw   []json.RawMessage          // the items as sent
	last  map[string]json.RawMessage // the last page as sent
	next  string                     // cursor for the rest of the list
}

// read requests pages until it has as many items as wanted.
func read[T any](c *connection, limit *count, ask func(client.Paging) (client.Page[T], error)) (listing[T], error) {
	var l listing[T]
	for {
		size := client.MaxPage
		if limit.value > 0 {
			size = min(size, limit.value-len(l.items))
		}
		page, err := ask(client.Paging{Limit: size, Cursor: l.next})
		if err != nil {
			return l, err
		}
		var sent client.Page[json.RawMessage]
		l.last = nil
		if err := errors.Join(json.Unmarshal(c.answer, &sent), json.Unmarshal(c.answer, &l.last)); err != nil {
			return l, fmt.Errorf("read a page of the list: %w", err)
		}
		l.items, l.raw, l.next = append(l.items, page.Items...), append(l.raw, sent.Items...), page.NextCursor
		if l.next == "" || limit.value > 0 && len(l.items) >= limit.value {
			return l, nil
		}
	}
}

// none returns the pipeline that an empty list is about. If the pipeline does not exist, it returns
// an error: a misspelt name must not look like an empty list.
func none[T any](ctx context.Context, c *connection, l listing[T], pipeline string) (client.Pipeline, error) {
	if len(l.items) > 0 || pipeline == "" {
		return client.Pipeline{}, nil
	}
	return c.Pipeline(ctx, pipeline)
}

// showList prints a list unless err is set, which it returns. JSON output has the form of the
// server's last page, with the items of all pages.
func showList[T any](c *connection, l listing[T], err error, text func(items []T)) error {
	if err != nil || c.format.value != jsonFormat {
		return c.show(err, func() { text(l.items) })
	}
	page := map[string]any{}
	for key, value := range l.last {
		page[key] = value
	}
	page["items"], page["nextCursor"] = l.raw, nil
	if l.raw == nil {
		page["items"] = []json.RawMessage{}
	}
	if l.next != "" {
		page["nextCursor"] = l.next
	}
	if c.answer, err = json.Marshal(page); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return c.show(nil, nil)
}

// more says that the list is longer.
func (a *app) more(next, what string) {
	if next != "" {
		fmt.Fprintln(a.stdout, a.outStyle.dim("There are more "+what+": raise --limit to list them."))
	}
}

// facts prints a table of names and values, without the rows that have no value.
func (a *app) facts(rows ...[]cell) {
	rows = slices.DeleteFunc(rows, func(row []cell) bool { return row[1].text == "" })
	for _, row := range rows {
		row[0].paint = a.outStyle.dim
	}
	fmt.Fprint(a.stdout, table(rows))
}

func fact(name, value string) []cell { return []cell{plain(name), plain(value)} }

// orZero returns the value, or the zero value for nil: "" for a text.
func orZero[T any](v *T) T {
	if v == nil {
		return *new(T)
	}
	return *v
}

// orDash returns the text for a table, or a dash for nil or "".
func orDash(s *string) string { return cmp.Or(printable(orZero(s)), "–") }

// periodText says which period a reading is for; "" means that it is undated.
func periodText(date string) string {
	if date == "" {
		return "undated"
	}
	return "for " + date
}

const timeShape = "2006-01-02 15:04:05Z"

// shortTime formats a time in UTC for a table.
func shortTime(t *time.Time) string {
	return cmp.Or(someTime(t), "–")
}

// someTime formats a time in UTC, or returns "" for nil.
func someTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeShape)
}
