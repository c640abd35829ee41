package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newAlerts(a *app) *cobra.Command {
	return group("alerts", "Show alert routes, test them, and resend rejected alerts",
		newAlertsRoutes(a), newAlertsTest(a), newAlertsDead(a), newAlertsRetry(a), newAlertsDiscard(a))
}

func newAlertsRoutes(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "routes", Short: "List the alert routes; the first that matches an event decides",
		Example: "  interlock alerts routes", Args: noArguments,
	}
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		var raw json.RawMessage
		routes, err := c.AlertRoutes(ctx, client.Raw(&raw))
		if err != nil {
			return err
		}
		return a.show(format, raw, func() {
			var rows [][]cell
			for _, r := range routes {
				rows = append(rows, []cell{{printable(r.Name), a.outStyle.bold}, plain(printable(sinksOf(r))), plain(printable(groupedBy(r))), plain(printable(routed(r)))})
			}
			a.sheet([]column{col("ROUTE"), col("SINKS"), extraCol("GROUPED"), wrapCol("EVENTS")}, rows)
		})
	})
	return cmd
}

// routed is which events a route fits, in words.
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
		Long: "Make the server send a sample alert through the sinks of a route. The alert says that it is a test and is not\n" +
			"recorded. Exit code 1 if a sink rejected it.",
		Example: "  interlock alerts test default", Args: arguments("a ROUTE"),
	}
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		var raw json.RawMessage
		said, err := c.TestAlertRoute(ctx, args[0], a.person(), client.Raw(&raw))
		if err != nil {
			return err
		}
		all := true
		for _, t := range said {
			all = all && t.Sent
		}
		err = a.show(format, raw, func() {
			if len(said) == 0 {
				fmt.Fprintf(a.stdout, "The route %s sends nowhere.\n", printable(args[0]))
			}
			for _, t := range said {
				a.writeSent(t.Sink, "the sample", t.Sent, t.Error)
			}
		})
		if err == nil && !all {
			return errNo
		}
		return err
	})
	return cmd
}

// writeSent tells whether a sink took something.
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
	addFilled(cmd, &sink, "sink", "only of this `SINK`")
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		var raw json.RawMessage
		dead, err := c.DeadLetters(ctx, sink, client.Raw(&raw))
		if err != nil {
			return err
		}
		return a.show(format, raw, func() { a.writeDead(dead) })
	})
	return cmd
}

func (a *app) writeDead(dead []client.DeadLetter) {
	if len(dead) == 0 {
		fmt.Fprintln(a.stdout, "There are no dead letters: every alert was accepted or is being delivered.")
		return
	}
	var rows [][]cell
	for _, d := range dead {
		about := d.Event.Detail.Pipeline
		if d.Event.Detail.Date != "" {
			about += " " + d.Event.Detail.Date
		}
		kind := d.Event.Type
		if d.Count > 1 {
			kind = fmt.Sprintf("%s (%d events)", kind, d.Count)
		}
		rows = append(rows, []cell{
			{d.Event.ID, a.outStyle.bold},
			plain(printable(d.Sink)), plain(printable(about)), plain(kind), plain(a.tableTime(&d.At)), plain(fmt.Sprint(d.Tries)),
			plain(printable(d.Reason)),
		})
	}
	a.sheet([]column{col("ID"), col("SINK"), extraCol("ABOUT"), extraCol("EVENT"), extraCol("GIVEN UP"), extraCol("TRIES"), wrapCol("ERROR")}, rows)
	fmt.Fprintln(a.stdout, a.outStyle.dim("\n`interlock alerts retry ID…` or `--all` sends them again, `interlock alerts discard` deletes them."))
}

func newAlertsRetry(a *app) *cobra.Command {
	var q client.RetryRequest
	cmd := &cobra.Command{
		Use: "retry ID… | --all", Short: "Send dead letters again",
		Long:    "Send dead letters again, oldest first, and delete those that are accepted. Exit code 1 if one was not.",
		Example: "  interlock alerts retry --all --sink ops",
	}
	addDead(cmd, &q)
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		q.IDs = args
		var raw json.RawMessage
		done, err := c.RetryDeadLetters(ctx, q, client.Raw(&raw))
		if err != nil {
			return err
		}
		if err := a.show(format, raw, func() { a.writeRetried(done) }); err != nil {
			return err
		}
		if slices.ContainsFunc(done, func(r client.Retried) bool { return !r.Sent }) || len(done) == 0 && len(args) > 0 {
			return errNo
		}
		return nil
	})
	return cmd
}

// addDead lets a command say which dead letters it is about.
func addDead(cmd *cobra.Command, q *client.RetryRequest) {
	cmd.Flags().BoolVar(&q.All, "all", false, "all dead letters")
	addFilled(cmd, &q.Sink, "sink", "only those of this `SINK`")
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
		Long: "Delete dead letters without sending them, for example those of a sink that was removed from the server's file. The\n" +
			"events stay recorded. Exit code 1 if there are none with these IDs.",
		Example: "  interlock alerts discard --all --sink ops",
	}
	addDead(cmd, &q)
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		q.IDs = args
		var raw json.RawMessage
		gone, err := c.DiscardDeadLetters(ctx, q, client.Raw(&raw))
		if err != nil {
			return err
		}
		err = a.show(format, raw, func() {
			if len(gone) == 0 {
				fmt.Fprintln(a.stdout, "There are no such dead letters.")
			}
			for _, d := range gone {
				fmt.Fprintf(a.stdout, "discarded %s of %s\n", d.Event.ID, printable(d.Sink))
			}
		})
		if err == nil && len(gone) == 0 && len(args) > 0 {
			return errNo
		}
		return err
	})
	return cmd
}

func (a *app) writeRetried(done []client.Retried) {
	if len(done) == 0 {
		fmt.Fprintln(a.stdout, "There are no such dead letters.")
	}
	for _, r := range done {
		a.writeSent(r.Sink, r.ID, r.Sent, r.Error)
	}
}
