package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newAlerts(a *app) *cobra.Command {
	return group("alerts", "Show and test alert routes, and resend rejected alerts",
		newAlertsRoutes(a), newAlertsTest(a), newAlertsDead(a), newAlertsRetry(a), newAlertsDiscard(a))
}

func newAlertsRoutes(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "routes", Short: "List the alert routes in matching order",
		Example: "  interlock alerts routes", Args: noArguments,
	}
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		routes, err := c.AlertRoutes(ctx, c.raw())
		return c.show(err, func() {
			var rows [][]cell
			for _, r := range routes {
				rows = append(rows, []cell{{printable(r.Name), a.outStyle.bold}, plain(sinksOf(r)), plain(groupedBy(r)), plain(routed(r))})
			}
			a.sheet([]column{col("ROUTE"), col("SINKS"), extraCol("GROUPED"), wrapCol("EVENTS")}, rows)
		})
	})
}

// routed describes which events match a route.
func routed(r client.AlertRoute) string {
	var parts []string
	add := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, name+" "+strings.Join(values, ", "))
		}
	}
	add("type", r.Types)
	if r.Severity != nil {
		parts = append(parts, "severity "+*r.Severity+" and above")
	}
	add("pipeline", r.Pipelines)
	add("owner", r.Owners)
	for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
		parts = append(parts, "tag "+name+"="+r.Tags[name])
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, "; ")
}

func sinksOf(r client.AlertRoute) string {
	if len(r.Sinks) == 0 {
		return "nowhere"
	}
	return strings.Join(r.Sinks, ", ")
}

func groupedBy(r client.AlertRoute) string {
	if r.Interval == nil {
		return "–"
	}
	return fmt.Sprintf("by %s, every %s at most", strings.Join(r.GroupBy, ", "), *r.Interval)
}

func newAlertsTest(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test ROUTE", Short: "Send a sample alert through the sinks of a route",
		Long: "Make the server send a sample alert through the sinks of a route. The alert says that it is a test, and it is not\n" +
			"recorded. Exit code 1 if a sink rejected it.",
		Example: "  interlock alerts test default", Args: arguments("a ROUTE"),
	}
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		results, err := c.TestAlertRoute(ctx, args[0], a.person(), c.raw())
		err = c.show(err, func() {
			if len(results) == 0 {
				fmt.Fprintf(a.stdout, "Route %s has no sinks.\n", printable(args[0]))
			}
			for _, t := range results {
				a.writeSent(t.Sink, "the sample", t.Sent, t.Error)
			}
		})
		return verdict(!slices.ContainsFunc(results, func(t client.Tested) bool { return !t.Sent }), err)
	})
}

// writeSent prints whether a sink accepted a message.
func (a *app) writeSent(sink, what string, sent bool, why *string) {
	if sent {
		fmt.Fprintf(a.stdout, "%s %s accepted %s\n", a.outStyle.green("✓"), printable(sink), what)
		return
	}
	fmt.Fprintf(a.stdout, "%s %s did not accept %s: %s\n", a.outStyle.red("✗"), printable(sink), what, orDash(why))
}

func newAlertsDead(a *app) *cobra.Command {
	var sink string
	cmd := &cobra.Command{
		Use: "dead", Short: "List the alerts that a sink rejected, oldest first",
		Example: "  interlock alerts dead --sink ops", Args: noArguments,
	}
	addFilled(cmd, &sink, "sink", "only dead letters of this `SINK`")
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		dead, err := c.DeadLetters(ctx, sink, c.raw())
		return c.show(err, func() { a.writeDead(dead) })
	})
}

func (a *app) writeDead(dead []client.DeadLetter) {
	if len(dead) == 0 {
		fmt.Fprintln(a.stdout, "There are no dead letters.")
		return
	}
	var rows [][]cell
	for _, d := range dead {
		kind := d.Event.Type
		if d.Count > 1 {
			kind = fmt.Sprintf("%s (%d events)", kind, d.Count)
		}
		rows = append(rows, []cell{
			{d.Event.ID, a.outStyle.bold},
			plain(d.Sink), plain(subjectOfEvent(d.Event)), plain(kind), plain(a.tableTime(&d.At)), plain(fmt.Sprint(d.Tries)),
			plain(d.Reason),
		})
	}
	a.sheet([]column{col("ID"), col("SINK"), extraCol("ABOUT"), extraCol("EVENT"), extraCol("GIVEN UP"), extraCol("TRIES"), wrapCol("ERROR")}, rows)
	fmt.Fprintln(a.stdout, a.outStyle.dim("\n`interlock alerts retry ID…` or `--all` sends them again, `interlock alerts discard` deletes them."))
}

func newAlertsRetry(a *app) *cobra.Command {
	var q client.RetryRequest
	cmd := &cobra.Command{
		Use: "retry ID… | --all", Short: "Send dead letters again",
		Long:    "Send dead letters again, oldest first, and delete those that are accepted. Exit code 1 if a sink rejected one again.",
		Example: "  interlock alerts retry --all --sink ops",
	}
	addDead(cmd, &q)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		q.IDs = args
		done, err := c.RetryDeadLetters(ctx, q, c.raw())
		err = c.show(err, func() {
			if len(done) == 0 {
				fmt.Fprintln(a.stdout, "No dead letters match.")
			}
			for _, r := range done {
				a.writeSent(r.Sink, r.ID, r.Sent, r.Error)
			}
		})
		failed := slices.ContainsFunc(done, func(r client.Retried) bool { return !r.Sent })
		return verdict(!failed && (len(done) > 0 || len(args) == 0), err)
	})
}

// addDead adds the flags that select dead letters.
func addDead(cmd *cobra.Command, q *client.RetryRequest) {
	cmd.Flags().BoolVar(&q.All, "all", false, "all dead letters")
	addFilled(cmd, &q.Sink, "sink", "only dead letters of this `SINK`")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if (len(args) > 0) == q.All {
			return usagef("%s needs the IDs that `interlock alerts dead` lists, or --all", below(cmd))
		}
		return nil
	}
}

func newAlertsDiscard(a *app) *cobra.Command {
	var q client.RetryRequest
	cmd := &cobra.Command{
		Use: "discard ID… | --all", Short: "Delete dead letters without sending them",
		Long: "Delete dead letters without sending them, for example after a sink was removed from the server's file. Their\n" +
			"events stay recorded. Exit code 1 if none have these IDs.",
		Example: "  interlock alerts discard --all --sink ops",
	}
	addDead(cmd, &q)
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		q.IDs = args
		gone, err := c.DiscardDeadLetters(ctx, q, c.raw())
		err = c.show(err, func() {
			if len(gone) == 0 {
				fmt.Fprintln(a.stdout, "No dead letters match.")
			}
			for _, d := range gone {
				fmt.Fprintf(a.stdout, "discarded %s of %s\n", d.Event.ID, printable(d.Sink))
			}
		})
		return verdict(len(gone) > 0 || len(args) == 0, err)
	})
}
