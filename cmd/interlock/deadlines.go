package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newDeadlines(a *app) *cobra.Command {
	var q client.DeadlineQuery
	cmd := &cobra.Command{
		Use: "deadlines", Short: "List armed deadlines, soonest first",
		Example: "  interlock deadlines --pipeline orders\n" +
			"  interlock deadlines --state BREACHED",
		Args: noArguments,
	}
	addFilled(cmd, &q.Pipeline, "pipeline", "only deadlines of this `PIPELINE`")
	addFilled(cmd, &q.State, "state", "only deadlines in this `STATE`: ARMED, MET, BREACHED, CANCELLED or all (default ARMED)")
	limit := addLimit(cmd, 100)
	return a.watchable(cmd, func(ctx context.Context, c *connection, _ []string) error {
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.Deadline], error) {
			q.Paging = p
			return c.Deadlines(ctx, q, c.raw())
		})
		if err == nil {
			_, err = none(ctx, c, l, q.Pipeline)
		}
		return showList(c, l, err, func(deadlines []client.Deadline) {
			if len(deadlines) == 0 {
				fmt.Fprintln(a.stdout, noDeadlines(q.State))
				return
			}
			a.writeDeadlines(deadlines)
			a.more(l.next, "deadlines")
		})
	})
}

func noDeadlines(state string) string {
	if state == "" {
		return "No deadline is armed. `sla` in a pipeline's file sets one; `--state all` lists past ones."
	}
	return "No deadlines match."
}

func (a *app) writeDeadlines(deadlines []client.Deadline) {
	var rows [][]cell
	for _, d := range deadlines {
		rows = append(rows, []cell{
			{d.Pipeline + "/" + d.Schedule + "/" + d.Date, a.outStyle.bold},
			a.deadlineCell(d), plain(a.tableTime(&d.BreachAt)), plain(d.Kind), plain(a.tableTime(d.WarnAt)), plain(a.tableTime(d.DoneAt)), plain(deadlineNote(d)),
		})
	}
	a.sheet([]column{col("RUN"), col("STATE"), col("BREACHES"), extraCol("KIND"), extraCol("WARNS"), extraCol("COMPLETED"), textCol("NOTE")}, rows)
}

func (a *app) deadlineCell(d client.Deadline) cell {
	switch {
	case d.State == "MET":
		return cell{d.State, a.outStyle.green}
	case d.State == "BREACHED":
		return cell{d.State, a.outStyle.red}
	case d.Warned:
		return cell{d.State, a.outStyle.yellow}
	}
	return plain(d.State)
}

func deadlineNote(d client.Deadline) string {
	switch {
	case d.Reason != nil:
		return printable(*d.Reason)
	case d.Warned:
		return "warned"
	}
	return ""
}
