package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
)

func newPause(a *app) *cobra.Command {
	var all, hold bool
	var reason, length string
	var until instant
	cmd := &cobra.Command{
		Use: "pause PIPELINE | --all", Short: "Pause a pipeline: readings are stored, nothing opens or starts",
		Example: "  interlock pause orders --for 2h --reason 'source is down'\n" +
			"  interlock pause --all --reason 'migration'",
		Args: pipelineOrAll(&all),
	}
	cmd.Flags().BoolVar(&all, "all", false, "pause all pipelines, including those added later; individual pauses are not affected; needs a reason")
	cmd.Flags().BoolVar(&hold, "hold-sla", false, "cancel deadlines during the pause")
	addFilled(cmd, &length, "for", "end the pause automatically after this `DURATION`")
	cmd.Flags().Var(&until, "until", "end the pause automatically at this time")
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		end, err := endOf(length, until)
		if err != nil {
			return err
		}
		if all && blank(reason) {
			return usagef("pause --all stops everything; say why with --reason")
		}
		q := client.PauseRequest{Until: end, HoldSLA: hold, Asked: a.asked(reason)}
		if all {
			ids, err := c.PauseAll(ctx, q, c.raw())
			return c.show(err, func() { a.writeIDs("paused", ids) })
		}
		p, err := c.Pause(ctx, args[0], q, c.raw())
		return c.show(err, func() { fmt.Fprintf(a.stdout, "%s is %s\n", args[0], pausedText(p)) })
	})
}

// endOf returns the end of a pause in the API's form. A duration stays a duration: the server's
// clock counts, not ours.
func endOf(length string, until instant) (string, error) {
	switch {
	case length == "":
		return until.String(), nil
	case !until.value.IsZero():
		return "", usagef("give --for or --until, not both")
	}
	if d, err := document.ParseDuration(length); err != nil || d <= 0 {
		return "", usagef("--for %q is not a positive duration; write it like 2h", length)
	}
	return length, nil
}

func newResume(a *app) *cobra.Command {
	var all bool
	var reason string
	cmd := &cobra.Command{
		Use: "resume PIPELINE | --all", Short: "End a pause",
		Long: "End a pause. Runs open for fires whose window is still open and for start conditions that are met; the rest is\n" +
			"reported as SCHEDULE_MISSED. A pause of one pipeline and the pause of all pipelines end separately.",
		Example: "  interlock resume orders", Args: pipelineOrAll(&all),
	}
	cmd.Flags().BoolVar(&all, "all", false, "end the pause of all pipelines; a pipeline that was paused individually stays paused")
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if all {
			ids, err := c.ResumeAll(ctx, a.asked(reason), c.raw())
			return c.show(err, func() { a.writeIDs("resumed", ids) })
		}
		left, err := c.Resume(ctx, args[0], a.asked(reason), c.raw())
		return c.show(err, func() {
			if left.Paused {
				fmt.Fprintf(a.stdout, "%s is no longer paused individually; all pipelines are %s\n", args[0], pausedText(left))
				return
			}
			fmt.Fprintf(a.stdout, "%s is resumed\n", args[0])
		})
	})
}

func (a *app) writeIDs(what string, ids []string) {
	if len(ids) == 0 {
		fmt.Fprintf(a.stdout, "No pipeline was %s.\n", what)
		return
	}
	fmt.Fprintf(a.stdout, "%s %s: %s\n", plural(len(ids), "pipeline"), what, strings.Join(ids, ", "))
}

func pipelineOrAll(all *bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 || (len(args) == 1) == *all {
			return usagef("%s needs one PIPELINE, or --all", cmd.Name())
		}
		return nil
	}
}
