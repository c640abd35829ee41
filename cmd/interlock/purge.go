package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newPurge(a *app) *cobra.Command {
	var q client.PurgeRequest
	var reason string
	cmd := &cobra.Command{
		Use: "purge PIPELINE --reason WHY", Short: "Delete what is stored about a removed pipeline",
		Long: "Delete what is stored about a removed pipeline: runs with their logs, snapshots and deadlines, readings with their\n" +
			"history, marks, the versions of its file, and its events. AUDIT events, the audit record and dead letters stay.\n" +
			"It is refused while the pipeline has a file, for two hours after its removal, and while a run, a deadline or a job\n" +
			"of it is open. Needs the role admin.\n" +
			"If it is interrupted, run it again.",
		Example: "  interlock purge orders-v1 --dry-run --reason 'replaced by orders'", Args: arguments("PIPELINE"),
	}
	cmd.Flags().BoolVar(&q.DryRun, "dry-run", false, "only count what would be deleted")
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		if blank(reason) {
			return usagef("purge deletes records for good; say why with --reason")
		}
		q.Asked = a.asked(reason)
		done, err := c.Purge(ctx, args[0], q, c.raw())
		return c.show(err, func() { a.writePurged(done) })
	})
}

func (a *app) writePurged(done client.Purged) {
	what := "Deleted"
	if done.DryRun {
		what = "Would delete"
	}
	fmt.Fprintf(a.stdout, "%s from pipeline %s:\n", what, done.Pipeline)
	for _, kind := range slices.Sorted(maps.Keys(done.Rows)) {
		fmt.Fprintf(a.stdout, "  %8d %s\n", done.Rows[kind], kind)
	}
}
