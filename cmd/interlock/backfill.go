package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newBackfill(a *app) *cobra.Command {
	var q client.BackfillRequest
	var reason string
	cmd := &cobra.Command{
		Use: "backfill PIPELINE --from PERIOD --to PERIOD", Short: "Open the runs of a range of periods",
		Long: "Open the runs of all expected periods from --from to --to, oldest first; maxActive limits how many of their\n" +
			"jobs run at once. Existing runs are rerun, with the same checks as rerun, unless --only-missing.",
		Example: "  interlock backfill orders --from 2026-03-01 --to 2026-03-07 --only-missing --dry-run", Args: arguments("PIPELINE"),
	}
	addFilled(cmd, &q.From, "from", "the first `PERIOD`")
	addFilled(cmd, &q.To, "to", "the last `PERIOD`, inclusive")
	cmd.Flags().BoolVar(&q.OnlyMissing, "only-missing", false, "skip periods that have a run")
	cmd.Flags().BoolVar(&q.DryRun, "dry-run", false, "only list the actions")
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if q.From == "" || q.To == "" {
			return usagef("backfill needs --from PERIOD and --to PERIOD")
		}
		q.Asked = a.asked(reason)
		periods, err := a.backfill(ctx, c, args[0], q)
		return c.show(err, func() { a.writeBackfill(periods, q.DryRun) })
	})
}

// backfillAtOnce is how many periods one request opens. It is small so that the progress display
// moves.
const backfillAtOnce = 100

// backfill asks for the plan and, unless q is a dry run, opens its periods in several requests. It
// returns their answers as one list.
func (a *app) backfill(ctx context.Context, c *connection, id string, q client.BackfillRequest) ([]client.Backfilled, error) {
	dry := q
	dry.DryRun = true
	plan, err := c.Backfill(ctx, id, dry, c.raw())
	if err != nil || q.DryRun {
		return plan, err
	}
	if len(plan) <= backfillAtOnce {
		return c.Backfill(ctx, id, q, c.raw())
	}
	var done atomic.Int64
	end := a.progress("opening runs", func() string { return fmt.Sprintf("%d of %s", done.Load(), plural(len(plan), "period")) })
	defer end()
	all := make([]client.Backfilled, 0, len(plan))
	for part := range slices.Chunk(plan, backfillAtOnce) {
		q.From, q.To = part[0].Date, part[len(part)-1].Date
		opened, err := c.Backfill(ctx, id, q)
		if err != nil {
			return nil, fmt.Errorf("%w\n%d of %s are done; run the same command with --from %s for the rest", err, len(all), plural(len(plan), "period"), q.From)
		}
		all = append(all, opened...)
		done.Store(int64(len(all)))
	}
	c.answer, err = json.Marshal(map[string]any{"items": all, "nextCursor": nil})
	return all, err
}

func (a *app) writeBackfill(periods []client.Backfilled, dryRun bool) {
	if len(periods) == 0 {
		fmt.Fprintln(a.stdout, "There are no expected periods in that range.")
		return
	}
	var rows [][]cell
	done := 0
	for _, p := range periods {
		paint := a.outStyle.dim
		if p.Action != "skip" {
			paint = a.outStyle.green
			done++
		}
		rows = append(rows, []cell{plain(p.Date), {p.Action, paint}, plain(orDash(p.Reason))})
	}
	verb := "will run"
	if dryRun {
		verb = "would run"
	}
	a.sheet([]column{col("PERIOD"), col("ACTION"), wrapCol("WHY")}, rows)
	fmt.Fprintf(a.stdout, "\n%d of %s %s\n", done, plural(len(periods), "period"), verb)
}
