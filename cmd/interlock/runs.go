package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newRuns(a *app) *cobra.Command {
	var q client.RunQuery
	cmd := &cobra.Command{
		Use: "runs", Short: "List runs, latest period first",
		Example: "  interlock runs --pipeline orders --status FAILED_FINAL", Args: noArguments,
	}
	addFilled(cmd, &q.Pipeline, "pipeline", "only runs of this `PIPELINE`")
	addFilled(cmd, &q.Date, "date", "only runs of this `PERIOD`")
	addFilled(cmd, &q.From, "from", "only runs of this `PERIOD` and later ones")
	addFilled(cmd, &q.To, "to", "only runs of this `PERIOD` and earlier ones")
	addFilled(cmd, (*string)(&q.Status), "status", "only runs with this `STATUS`")
	limit := addLimit(cmd, 20)
	return a.watchable(cmd, func(ctx context.Context, c *connection, _ []string) error {
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.Run], error) {
			q.Paging = p
			return c.Runs(ctx, q, c.raw())
		})
		if err != nil {
			return err
		}
		p, err := none(ctx, c, l, q.Pipeline)
		return showList(c, l, err, func(runs []client.Run) {
			if p.DryRun {
				fmt.Fprintf(a.stdout, "%s is a dry run, so no runs are stored. `interlock explain %s` shows the latest result, `interlock events --pipeline %s` all of them.\n", p.ID, p.ID, p.ID)
				return
			}
			a.writeRuns(runs)
			a.more(l.next, "runs")
		})
	})
}

// reasonCells is the maximum width of a reason in a table.
const reasonCells = 100

// The phases of a run that its status alone does not show.
const (
	phaseNotDue  = "not-due"
	phaseBackoff = "backoff"
	phaseSlot    = "max-active"
	phaseRefused = "start-refused"
	phaseOffered = "offered"
	phaseHeld    = "held"
	phaseUnread  = "status-unread"
)

// statusText returns a run's status, with its phase if that says more.
func statusText(r client.Run) string {
	switch r.Phase {
	case phaseNotDue, phaseBackoff, phaseSlot, phaseRefused, phaseOffered, phaseHeld, phaseUnread:
		return fmt.Sprintf("%s (%s)", r.Status, r.Phase)
	}
	if r.JobStopping {
		return fmt.Sprintf("%s (job stopping)", r.Status)
	}
	return string(r.Status)
}

// reasonText says why a run has its status, or what it is waiting for.
func reasonText(r client.Run) string {
	switch r.Phase {
	case phaseHeld:
		return orZero(r.Held)
	case phaseUnread:
		return fmt.Sprintf("the job's status has been unreadable since %s: %s", someTime(r.UnreadSince), orZero(r.Unread))
	case phaseNotDue:
		return "starts at " + someTime(r.WindowStart)
	case phaseBackoff:
		return "retry at " + someTime(r.WindowStart)
	case phaseRefused:
		return fmt.Sprintf("a start call was refused and is retried; `interlock explain %s --date %s` shows why", r.Pipeline, r.Date)
	case phaseOffered:
		return fmt.Sprintf("offered since %s; no worker has claimed it", someTime(r.OfferedSince))
	case phaseSlot:
		return "waiting for a running job to end (maxActive)"
	}
	switch r.Status {
	case client.Pending:
		return "waiting for its gate until " + someTime(r.WindowEnd)
	case client.Triggering:
		return "starting its job"
	}
	return orZero(r.Reason)
}

func (a *app) writeRuns(runs []client.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(a.stdout, "No runs match. `interlock explain PIPELINE` says why, `interlock trigger PIPELINE` opens one.")
		return
	}
	var rows [][]cell
	for _, r := range runs {
		rows = append(rows, []cell{
			{r.Key().String(), a.outStyle.bold},
			a.statusCell(r), plain(fmt.Sprint(r.Attempt)),
			plain(a.tableTime(r.OpenedAt)), plain(a.tableTime(r.EndedAt)), plain(reasonText(r)),
		})
	}
	a.sheet([]column{col("RUN"), col("STATUS"), extraCol("ATTEMPT"), extraCol("OPENED"), extraCol("ENDED"), wrapCol("REASON")}, rows)
}

// runFlags name a run by its pipeline and period.
type runFlags struct{ date, schedule string }

func addRunFlags(cmd *cobra.Command) *runFlags {
	f := &runFlags{}
	addFilled(cmd, &f.date, "date", "the `PERIOD`, if RUN is only a PIPELINE")
	addFilled(cmd, &f.schedule, "schedule", "the `SCHEDULE`, if RUN is only a PIPELINE (default the pipeline's own)")
	return f
}

// key returns the run that the argument and the flags name.
func (f *runFlags) key(ctx context.Context, c *client.Client, arg string) (client.RunKey, error) {
	if !strings.Contains(arg, "/") {
		if f.date == "" {
			return client.RunKey{}, usagef("%q is not a run; write PIPELINE/SCHEDULE/DATE, such as orders/cron/2026-03-03, or PIPELINE and --date PERIOD", arg)
		}
		return ownRun(ctx, c, client.RunKey{Pipeline: arg, Schedule: f.schedule, Date: f.date})
	}
	if f.date != "" || f.schedule != "" {
		return client.RunKey{}, usagef("%s already contains schedule and date; remove --date and --schedule", arg)
	}
	key, err := client.ParseRunKey(arg)
	if err != nil {
		return key, usageError{err}
	}
	return key, nil
}

// ownRun fills in the pipeline's own schedule if key has none. The schedule of a pipeline that is
// not active is that of the period's only run.
func ownRun(ctx context.Context, c *client.Client, key client.RunKey) (client.RunKey, error) {
	if key.Schedule != "" {
		return key, nil
	}
	p, err := c.Pipeline(ctx, key.Pipeline)
	if err != nil {
		return key, err
	}
	if p.Schedule != nil {
		key.Schedule = *p.Schedule
		return key, nil
	}
	runs, err := c.Runs(ctx, client.RunQuery{Pipeline: key.Pipeline, Date: key.Date})
	switch {
	case err != nil:
		return key, err
	case len(runs.Items) == 0:
		return key, usagef("pipeline %s is not active and has no run for %s; `interlock runs --pipeline %s` lists its runs", key.Pipeline, key.Date, key.Pipeline)
	case len(runs.Items) > 1:
		return key, usagef("pipeline %s is not active and has several runs for %s, such as %s and %s; set --schedule",
			key.Pipeline, key.Date, runs.Items[0].Key(), runs.Items[1].Key())
	}
	return runs.Items[0].Key(), nil
}

func newRun(a *app) *cobra.Command {
	show := &cobra.Command{
		Use: "show RUN", Short: "Show one run with its attempts, job log, gate and deadlines",
		Example: "  interlock run show orders/stream/2026-03-03\n" +
			"  interlock run show orders --date 2026-03-03",
		Args: arguments("RUN"),
	}
	flags := addRunFlags(show)
	a.watchable(show, func(ctx context.Context, c *connection, args []string) error {
		key, err := flags.key(ctx, c.Client, args[0])
		if err != nil {
			return err
		}
		r, err := c.Run(ctx, key, c.raw())
		return c.show(err, func() { a.writeRun(r) })
	})
	return group("run", "Show runs", show)
}
