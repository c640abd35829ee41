package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// eventFlags select the events to list.
type eventFlags struct {
	follow                bool
	kind, pipeline, since string
	limit                 *count
}

func newEvents(a *app) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use: "events", Short: "List events, or follow them live",
		Long: "List events, the newest last, or follow them live. A lost connection is reopened, and no\n" +
			"event is skipped. As JSON a list is {items, nextCursor} with the newest first; followed events are one per line.",
		Example: "  interlock events --type SLA_BREACH --since 24h\n" +
			"  interlock events --follow --pipeline orders",
		Args: noArguments,
	}
	cmd.Flags().BoolVar(&f.follow, "follow", false, "print new events until Ctrl-C")
	addFilled(cmd, &f.kind, "type", "only events of this `TYPE`, such as SLA_BREACH")
	addFilled(cmd, &f.pipeline, "pipeline", "only events of this `PIPELINE`")
	addFilled(cmd, &f.since, "since", "only events at or after this `TIME`: RFC 3339, a period, or a duration ago such as 2h")
	f.limit = addLimit(cmd, 50)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		if !f.follow {
			return a.listEvents(ctx, c, f)
		}
		if cmd.Flags().Changed("limit") {
			return usagef("--follow continues until Ctrl-C; remove --limit")
		}
		return a.followEvents(ctx, c, f)
	})
}

func (a *app) listEvents(ctx context.Context, c *connection, f *eventFlags) error {
	l, err := read(c, f.limit, func(p client.Paging) (client.Page[client.Event], error) {
		return c.Events(ctx, client.EventQuery{Pipeline: f.pipeline, Type: f.kind, Since: f.since, Paging: p}, c.raw())
	})
	if err == nil {
		_, err = none(ctx, c, l, f.pipeline)
	}
	return showList(c, l, err, func(events []client.Event) {
		if len(events) == 0 {
			fmt.Fprintln(a.stdout, "No events match. `interlock events --follow` waits for the next one.")
			return
		}
		a.more(l.next, "events before these")
		var rows [][]cell
		for _, e := range slices.Backward(events) { // newest last, next to the prompt
			rows = append(rows, a.eventRow(e))
		}
		fmt.Fprint(a.stdout, a.eventTable(rows))
	})
}

// messageColumn is the index of the message in an event's row.
const messageColumn = 3

// eventTable lays out events. If a line would be too wide, it wraps each message below its event,
// except with `-o wide`.
func (a *app) eventTable(rows [][]cell) string {
	whole := table(rows)
	fits := !slices.ContainsFunc(strings.Split(whole, "\n"), func(line string) bool { return cells(withoutColours(line)) > a.width })
	if a.wide || fits {
		return whole
	}
	const indent = "    "
	heads := make([][]cell, len(rows))
	for i, row := range rows {
		heads[i] = row[:messageColumn]
	}
	var b strings.Builder
	for i, head := range strings.Split(strings.TrimSuffix(table(heads), "\n"), "\n") {
		b.WriteString(head + "\n")
		for _, c := range rows[i][messageColumn:] {
			for _, line := range wrapped(c.text, a.width-len(indent)) {
				if c.paint != nil {
					line = c.paint(line)
				}
				b.WriteString(indent + line + "\n")
			}
		}
	}
	return b.String()
}

// followEvents prints events as they arrive, until Ctrl-C.
func (a *app) followEvents(ctx context.Context, c *connection, f *eventFlags) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if f.pipeline != "" { // a misspelt name must not look like a pipeline without events
		if _, err := c.Pipeline(ctx, f.pipeline); err != nil {
			return err
		}
	}
	a.wide = c.format.value == wideFormat
	q := client.Following{Pipeline: f.pipeline, Type: f.kind, Since: f.since, Lost: a.lost}
	err := c.Follow(ctx, q, func(e client.Event) error {
		if c.format.value == jsonFormat {
			fmt.Fprintln(a.stdout, escapedJSON(string(e.Raw)))
		} else {
			fmt.Fprint(a.stdout, a.eventTable([][]cell{padded(a.eventRow(e))}))
		}
		return a.flush()
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// lost reports that the stream is reconnecting. No events are lost meanwhile.
func (a *app) lost(err error) {
	fmt.Fprintln(a.stderr, a.errStyle.dim(printable("interlock: "+err.Error()+"; retrying")))
}

func (a *app) eventRow(e client.Event) []cell {
	s := a.outStyle
	paint := s.dim
	switch e.Detail.Severity {
	case "warning":
		paint = s.yellow
	case "critical":
		paint = s.red
	}
	row := []cell{plain(e.Time.UTC().Format(timeShape)), {e.Type, paint}, {subjectOfEvent(e), s.bold}, plain(e.Detail.Message)}
	if e.SilencedBy != nil {
		row = append(row, cell{printable("silenced by " + *e.SilencedBy), s.dim})
	}
	return row
}

// subjectOfEvent returns the pipeline that an event is about, and its period.
func subjectOfEvent(e client.Event) string {
	return printable(strings.TrimSuffix(e.Detail.Pipeline+" "+e.Detail.Date, " "))
}

// The column widths of a table whose later rows are not known yet.
const (
	typeCells  = 24
	aboutCells = 32
)

// padded pads an event's row so that later rows usually align with it.
func padded(row []cell) []cell {
	row[1].text = fmt.Sprintf("%-*s", typeCells, row[1].text)
	row[2].text = fmt.Sprintf("%-*s", aboutCells, row[2].text)
	return row
}
