package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// show prints an answer of the server: as it was sent, or for people.
func (a *app) show(format *choice, raw json.RawMessage, text func()) error {
	if format.value != jsonFormat {
		a.wide = format.value == wideFormat
		text()
		return nil
	}
	// It is not decoded in between: a number may not fit into what Go would make of it.
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	fmt.Fprintln(a.stdout, out.String())
	return nil
}

// print prints an answer that was found without a server: v as JSON, or for people.
func (a *app) print(format *choice, v any, text func()) error {
	if format.value == jsonFormat {
		return writeJSON(a.stdout, v)
	}
	a.wide = format.value == wideFormat
	text()
	return nil
}

// maxListed is how many items a list may be asked for.
const maxListed = 100_000

// addLimit gives cmd a --limit flag; 0 is everything.
func addLimit(cmd *cobra.Command, usual int) *count {
	limit := &count{value: usual, most: maxListed}
	usage := "the most items to list"
	if usual == 0 {
		usage += " (default all)"
	}
	cmd.Flags().Var(limit, "limit", usage)
	return limit
}

// listing is the part of a list that was asked for.
type listing[T any] struct {
	items []T
	raw   []json.RawMessage          // the same as they were sent
	last  map[string]json.RawMessage // the last page as it was sent
	next  string                     // leads to what was left out
}

// read asks for one page after the other until there are as many items as wanted.
func read[T any](c *connection, limit *count, ask func(client.Paging) (client.Page[T], error)) (listing[T], error) {
	var l listing[T]
	for {
		page, err := ask(l.page(limit.value))
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

// none returns the pipeline that an empty list is about, or an error if there is no such pipeline: a misspelt name must
// not look like nothing to worry about.
func none[T any](ctx context.Context, c *connection, l listing[T], pipeline string) (client.Pipeline, error) {
	if len(l.items) > 0 || pipeline == "" {
		return client.Pipeline{}, nil
	}
	return c.Pipeline(ctx, pipeline)
}

// page is the next one to ask for.
func (l *listing[T]) page(limit int) client.Paging {
	size := client.MaxPage
	if limit > 0 {
		size = min(size, limit-len(l.items))
	}
	return client.Paging{Limit: size, Cursor: l.next}
}

// showList prints a list, or returns the error that there is in its place: as JSON in the form of the server's last page, with
// the items of all pages, or for people.
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

// more says that a list goes on.
func (a *app) more(next, what string) {
	if next != "" {
		fmt.Fprintln(a.stdout, a.outStyle.dim("There are more "+what+": raise --limit to list them."))
	}
}

// facts is a table of names and values; what has no value is left out.
func (a *app) facts(rows ...[]cell) {
	var kept [][]cell
	for _, row := range rows {
		if len(row) == 2 && row[1].text != "" {
			row[0].paint = a.outStyle.dim
			kept = append(kept, row)
		}
	}
	fmt.Fprint(a.stdout, table("", kept))
}

func fact(name, value string) []cell { return []cell{plain(name), plain(printable(value))} }

// orNone is the text, if there is one.
func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// orDash shows in a table what may be absent.
func orDash(s *string) string {
	if s == nil || *s == "" {
		return "–"
	}
	return printable(*s)
}

const timeShape = "2006-01-02 15:04:05Z"

// shortTime is an instant in UTC for a table.
func shortTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "–"
	}
	return t.UTC().Format(timeShape)
}

// someTime is an instant in UTC, if there is one.
func someTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeShape)
}
