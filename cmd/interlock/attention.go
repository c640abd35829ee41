package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newAttention(a *app) *cobra.Command {
	var q client.AttentionQuery
	cmd := &cobra.Command{
		Use: "attention", Short: "List what needs attention, most urgent first",
		Long: "List what needs attention now, most urgent first: held starts, failed last runs, gates that stayed closed, overdue and " +
			"missing runs, rejected files, undelivered alerts, and pauses of a day or longer.",
		Example: "  interlock attention\n" +
			"  interlock attention --pipeline orders --format json",
		Args: noArguments,
	}
	addFilled(cmd, &q.Pipeline, "pipeline", "only items about this `PIPELINE`")
	limit := addLimit(cmd, 0)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.Attention], error) {
			q.Paging = p
			page, err := c.Attention(ctx, q, c.raw())
			return page.Page, err
		})
		return showList(c, l, err, func(items []client.Attention) {
			if len(items) == 0 {
				fmt.Fprintln(a.stdout, "Nothing needs attention.")
				return
			}
			a.writeNeeding(items)
			a.more(l.next, "items")
		})
	})
}

// writeNeeding lists the items that need attention, each with its reason and remedy below it.
func (a *app) writeNeeding(items []client.Attention) {
	s := a.outStyle
	for i, n := range items {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		paint := s.yellow
		if n.Severity == "critical" {
			paint = s.red
		}
		since := ""
		if n.Since != nil {
			since = "  since " + shortTime(n.Since)
		}
		fmt.Fprintf(a.stdout, "%s  %s%s\n  %s\n", paint(n.Code), s.bold(subjectOf(n)), since, printable(n.Reason))
		if n.Action.Command != "" {
			fmt.Fprintf(a.stdout, "  → %s\n", printable(n.Action.Command))
		}
	}
}

// subjectOf returns the run, the pipeline or the part of the server that an item is about.
func subjectOf(n client.Attention) string {
	switch {
	case n.Pipeline == nil:
		return "the server"
	case n.Schedule == nil || n.Date == nil:
		return *n.Pipeline
	}
	return client.RunKey{Pipeline: *n.Pipeline, Schedule: *n.Schedule, Date: *n.Date}.String()
}

// writeNeeds ends the status of all pipelines with the number of items that need attention.
func (a *app) writeNeeds(total int) {
	switch {
	case total == 1:
		fmt.Fprintln(a.stdout, a.outStyle.red("\n1 thing needs attention: `interlock attention` shows it."))
	case total > 1:
		fmt.Fprintln(a.stdout, a.outStyle.red(fmt.Sprintf("\n%d things need attention: `interlock attention` lists them.", total)))
	}
}
