package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
)

// wishFlags are what an operator may say with a wish.
func wishFlags(cmd *cobra.Command, w *client.Wish, safeguards bool) {
	cmd.Flags().StringVar(&w.Reason, "reason", "", "`WHY`, for the record")
	if safeguards {
		cmd.Flags().BoolVar(&w.Force, "force", false, "skip calendar, circuit breaker and budget; needs a reason")
		cmd.Flags().BoolVar(&w.BypassGate, "bypass-gate", false, "start whatever the gate says; needs a reason")
	}
}

func newTrigger(a *app) *cobra.Command {
	var w client.Wish
	cmd := &cobra.Command{
		Use: "trigger PIPELINE", Short: "Open the run of a period",
		Example: "  interlock trigger orders --date 2026-03-03 --reason 'late file'", Args: arguments("PIPELINE"),
	}
	cmd.Flags().StringVar(&w.Date, "date", "", "the `PERIOD` (default that of a fire now)")
	wishFlags(cmd, &w, true)
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w.Pipeline = args[0]
		c, err := a.ask()
		if err != nil {
			return err
		}
		r, err := c.Trigger(cmd.Context(), w)
		if err != nil {
			return err
		}
		return a.answer(format, r, "%s/%s/%s is %s, attempt %d", r.Pipeline, r.Schedule, r.Date, r.Status, r.Attempt)
	}
	return cmd
}

// answer prints what came of a wish.
func (a *app) answer(format *choice, value any, text string, args ...any) error {
	if format.value == jsonFormat {
		return writeJSON(a.stdout, value)
	}
	fmt.Fprintf(a.stdout, text+"\n", args...)
	return nil
}

func newRerun(a *app) *cobra.Command {
	var w client.Wish
	var schedule string
	cmd := &cobra.Command{
		Use: "rerun PIPELINE", Short: "Ask for another attempt of a run",
		Example: "  interlock rerun orders --date 2026-03-03 --reason 'source was corrected'", Args: arguments("PIPELINE"),
	}
	cmd.Flags().StringVar(&w.Date, "date", "", "the `PERIOD`")
	cmd.Flags().StringVar(&schedule, "schedule", "", "the `SCHEDULE` (default the pipeline's own)")
	wishFlags(cmd, &w, true)
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if w.Date == "" || w.Reason == "" {
			return usagef("rerun needs --date PERIOD and --reason WHY")
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		key, err := runKey(cmd.Context(), c, args[0], schedule, w.Date)
		if err != nil {
			return err
		}
		r, err := c.Rerun(cmd.Context(), key, w)
		if err != nil {
			return err
		}
		return a.answer(format, r, "accepted: %s", r.Why)
	}
	return cmd
}

// runKey completes a key with the pipeline's own schedule.
func runKey(ctx context.Context, c *client.Client, pipeline, schedule, date string) (client.RunKey, error) {
	if schedule == "" {
		p, err := c.Pipeline(ctx, pipeline)
		if err != nil {
			return client.RunKey{}, err
		}
		if p.Schedule != nil {
			schedule = *p.Schedule
		}
	}
	return client.RunKey{Pipeline: pipeline, Schedule: schedule, Date: date}, nil
}

func newCancel(a *app) *cobra.Command {
	var w client.Wish
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "End an open run",
		Example: "  interlock cancel orders/stream/2026-03-03 --reason 'wrong input'", Args: arguments("RUN"),
	}
	wishFlags(cmd, &w, false)
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := client.ParseRunKey(args[0])
		if err != nil {
			return usageError{err}
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		r, err := c.Cancel(cmd.Context(), key, w)
		if err != nil {
			return err
		}
		return a.answer(format, r, "%s is %s", args[0], r.Status)
	}
	return cmd
}

func newBackfill(a *app) *cobra.Command {
	var from, to, reason string
	var onlyMissing, dryRun bool
	cmd := &cobra.Command{
		Use: "backfill PIPELINE", Short: "Open the runs of a stretch of time",
		Long:    "Open the runs of all expected periods from --from to --to. maxActive is respected.",
		Example: "  interlock backfill orders --from 2026-03-01 --to 2026-03-07 --only-missing --dry-run", Args: arguments("PIPELINE"),
	}
	cmd.Flags().StringVar(&from, "from", "", "the first `PERIOD`")
	cmd.Flags().StringVar(&to, "to", "", "the last `PERIOD`")
	cmd.Flags().BoolVar(&onlyMissing, "only-missing", false, "leave out periods that have a run")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list what would be opened")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if from == "" || to == "" {
			return usagef("backfill needs --from PERIOD and --to PERIOD")
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		list, err := c.Backfill(cmd.Context(), args[0], client.Backfilling{From: from, To: to, OnlyMissing: onlyMissing, DryRun: dryRun, Reason: reason})
		if err != nil {
			return err
		}
		if format.value == jsonFormat {
			return writeJSON(a.stdout, list)
		}
		rows := [][]cell{heads(a.outStyle, "PERIOD", "WHAT", "WHY")}
		for _, b := range list.Items {
			rows = append(rows, []cell{plain(b.Date), plain(b.Action), plain(printable(b.Reason))})
		}
		fmt.Fprint(a.stdout, table("", rows))
		return nil
	}
	return cmd
}

func newPause(a *app) *cobra.Command {
	var all, hold bool
	var reason, length string
	cmd := &cobra.Command{
		Use: "pause PIPELINE | --all", Short: "Stop a pipeline: readings are kept, nothing opens or starts",
		Example: "  interlock pause orders --for 2h --reason 'source is down'", Args: pipelineOrAll(&all),
	}
	cmd.Flags().BoolVar(&all, "all", false, "every pipeline")
	cmd.Flags().BoolVar(&hold, "hold-sla", false, "cancel deadlines meanwhile")
	cmd.Flags().StringVar(&length, "for", "", "end the pause by itself after this `DURATION`")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p := client.Pausing{Reason: reason, HoldSLA: hold}
		if length != "" {
			d, err := document.ParseDuration(length)
			if err != nil {
				return usagef("--for: %w", err)
			}
			until := a.now().Add(d).UTC().Round(time.Second)
			p.Until = &until
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		if err := c.Pause(cmd.Context(), one(args), p); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s paused\n", nameOrAll(args))
		return nil
	}
	return cmd
}

func newResume(a *app) *cobra.Command {
	var all bool
	var reason string
	cmd := &cobra.Command{
		Use: "resume PIPELINE | --all", Short: "End a pause",
		Example: "  interlock resume orders", Args: pipelineOrAll(&all),
	}
	cmd.Flags().BoolVar(&all, "all", false, "every pipeline")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.ask()
		if err != nil {
			return err
		}
		if err := c.Resume(cmd.Context(), one(args), reason); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s resumed\n", nameOrAll(args))
		return nil
	}
	return cmd
}

func pipelineOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || (len(args) == 1) == *all {
			return usagef("%s needs one PIPELINE, or --all", cmd.Name())
		}
		return nil
	}
}

func one(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func nameOrAll(args []string) string {
	if len(args) == 0 {
		return "every pipeline is"
	}
	return args[0] + " is"
}

func newJob(a *app) *cobra.Command {
	var r client.JobResult
	complete := &cobra.Command{
		Use: "complete RUN success|fail", Short: "Report the result of a run's job",
		Example: "  interlock job complete orders/manual/2026-03-03 success", Args: arguments("RUN", "success or fail"),
	}
	complete.Flags().StringVar(&r.Message, "message", "", "what happened")
	complete.Flags().StringVar(&r.Category, "category", "", "PERMANENT, TRANSIENT or TIMEOUT, for a failure")
	complete.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := client.ParseRunKey(args[0])
		if err != nil {
			return usageError{err}
		}
		if r.Result = args[1]; r.Result != "success" && r.Result != "fail" && r.Result != "timeout" {
			return usagef("%q is not a result; write success or fail", args[1])
		}
		c, err := a.ask()
		if err != nil {
			return err
		}
		if err := c.Report(cmd.Context(), key, r); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: %s is recorded\n", args[0], r.Result)
		return nil
	}
	return group("job", "Report on jobs", complete)
}
