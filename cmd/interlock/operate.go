package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// safeguards are the checks that an operator may skip, with a reason.
type safeguards struct {
	force, bypassGate bool
	reason            string
}

func addSafeguards(cmd *cobra.Command, force string) *safeguards {
	s := &safeguards{}
	addReason(cmd, &s.reason)
	cmd.Flags().BoolVar(&s.force, "force", false, force+"; needs a reason")
	cmd.Flags().BoolVar(&s.bypassGate, "bypass-gate", false, "start even if the gate is closed; needs a reason")
	return s
}

func addReason(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "the reason `WHY`, recorded with the request")
}

func (s *safeguards) check() error {
	if (s.force || s.bypassGate) && blank(s.reason) {
		return usagef("--force and --bypass-gate skip a safeguard; say why with --reason")
	}
	return nil
}

// blank reports whether a text is empty or only white space.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// asked returns the requester and the reason.
func (a *app) asked(reason string) client.Asked {
	return client.Asked{Reason: reason, RequestedBy: a.person()}
}

func newTrigger(a *app) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use: "trigger PIPELINE", Short: "Open the run of a period",
		Long: "Open the run of a period; its job starts once the gate is open. A run that is open or\n" +
			"COMPLETED is not opened again: use rerun.",
		Example: "  interlock trigger orders --date 2026-03-03 --reason 'late file'", Args: arguments("PIPELINE"),
	}
	addFilled(cmd, &date, "date", "the `PERIOD` (default: the current one)")
	s := addSafeguards(cmd, "open the run even if the calendar excludes the period or the budget is used up")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if err := s.check(); err != nil {
			return err
		}
		q := client.TriggerRequest{Pipeline: args[0], Date: date, Force: s.force, BypassGate: s.bypassGate, Asked: a.asked(s.reason)}
		r, err := c.Trigger(ctx, q, c.raw())
		return c.show(err, func() {
			if r.DryRun {
				fmt.Fprintf(a.stdout, "dry run %s is open; no job will start. `interlock explain %s --date %s` shows its result.\n", r.Key(), r.Pipeline, r.Date)
				return
			}
			fmt.Fprintf(a.stdout, "%s is %s, attempt %d\n", r.Key(), r.Status, r.Attempt)
		})
	})
}

func newRerun(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rerun RUN --reason WHY", Short: "Request another attempt of a run",
		Example: "  interlock rerun orders/stream/2026-03-03 --reason 'source was corrected'\n" +
			"  interlock rerun orders --date 2026-03-03 --reason 'source was corrected'",
		Args: arguments("RUN"),
	}
	flags := addRunFlags(cmd)
	s := addSafeguards(cmd, "skip the circuit breaker, the budget and the calendar, and open the run if it does not exist")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if blank(s.reason) {
			return usagef("rerun needs --reason WHY")
		}
		key, err := flags.key(ctx, c.Client, args[0])
		if err != nil {
			return err
		}
		r, err := c.Rerun(ctx, key, client.RerunRequest{Force: s.force, BypassGate: s.bypassGate, Asked: a.asked(s.reason)}, c.raw())
		return c.show(err, func() {
			opened := ""
			if r.Attempt != nil {
				opened = fmt.Sprintf(" as attempt %d", *r.Attempt)
			}
			fmt.Fprintf(a.stdout, "%s: accepted%s\n", key, opened)
		})
	})
}

func newCancel(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "cancel RUN", Short: "Cancel an open run",
		Example: "  interlock cancel orders/stream/2026-03-03 --reason 'wrong input'\n" +
			"  interlock cancel orders --date 2026-03-03",
		Args: arguments("RUN"),
	}
	addReason(cmd, &reason)
	flags := addRunFlags(cmd)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		key, err := flags.key(ctx, c.Client, args[0])
		if err != nil {
			return err
		}
		r, err := c.Cancel(ctx, key, a.asked(reason), c.raw())
		return c.show(err, func() {
			fmt.Fprintf(a.stdout, "%s is %s\n", r.Key(), r.Status)
			writeLeft(a.stdout, r)
		})
	})
}

func newJob(a *app) *cobra.Command {
	var r client.JobReport
	complete := &cobra.Command{
		Use: "complete RUN success|fail", Short: "Report the result of a run's job",
		Long: "Report the result of a run's job from outside. A result for an attempt that has ended is logged and does not\n" +
			"change the run, but a job that was left running then counts as ended; the exit code is 1.\n" +
			"A RUN with an attempt, such as orders/cron/2026-03-03/2, reports the result of that attempt.",
		Example: "  interlock job complete orders/manual/2026-03-03 success\n" +
			"  interlock job complete orders --date 2026-03-03 fail --message 'disk full' --category TRANSIENT",
		Args: arguments("RUN", "success or fail"),
	}
	complete.Flags().StringVar(&r.Message, "message", "", "`WHAT` happened, in a few words")
	addFilled(complete, &r.Category, "category", "the failure category: PERMANENT, TRANSIENT or TIMEOUT")
	flags := addRunFlags(complete)
	a.asking(complete, func(ctx context.Context, c *connection, args []string) error {
		if r.Result = args[1]; r.Result != "success" && r.Result != "fail" && r.Result != "timeout" {
			return usagef("%q is not a result; write success or fail", args[1])
		}
		if r.Category != "" && r.Result == "success" {
			return usagef("--category is only for a failure")
		}
		key, err := flags.key(ctx, c.Client, args[0])
		if err != nil {
			return err
		}
		r.Attempt, r.RequestedBy = attemptOf(args[0]), a.person()
		done, err := c.Report(ctx, key, r, c.raw())
		err = c.show(err, func() {
			if done.Late {
				fmt.Fprintf(a.stdout, "%s is %s and expects no result; %s is logged, and the run stays as it is\n", key, done.Run.Status, r.Result)
				return
			}
			fmt.Fprintf(a.stdout, "%s: %s is recorded for attempt %d\n", key, r.Result, done.Run.Attempt)
		})
		return verdict(!done.Late, err)
	})
	return group("job", "Test jobs, and report their results", newJobTest(a), complete)
}

func newConfig(a *app) *cobra.Command {
	return group("config", "Manage the server's files", newAcceptRemoval(a))
}

func newAcceptRemoval(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "accept-removal", Short: "Remove the pipelines whose files are missing",
		Long: "Remove the pipelines whose files are missing. A folder that loses more than half of at least\n" +
			"four files at once, or is replaced by an empty directory, looks like a lost mount: the server keeps\n" +
			"the pipelines active, reports the loss, and waits for the files or for this command.",
		Example: "  interlock config accept-removal --reason 'moved to the other team'", Args: noArguments,
	}
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		ids, err := c.AcceptRemoval(ctx, a.asked(reason), c.raw())
		return c.show(err, func() { a.writeIDs("removed", ids) })
	})
}
