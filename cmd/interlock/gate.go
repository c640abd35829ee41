package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

// maxHold is how long the server holds a request.
const maxHold = time.Minute

func newGate(a *app) *cobra.Command {
	var date, wait string
	cmd := &cobra.Command{
		Use: "gate PIPELINE", Short: "Check whether a run may start",
		Long: "Check whether the pipeline's run may start now, rule by rule. The exit code is 0 if it may and 1 if\n" +
			"not. With --wait, the command exits with 0 as soon as the gate opens within that time.",
		Example: "  interlock gate orders && ./load.sh\n" +
			"  interlock gate orders --date 2026-03-03 --wait 30m", Args: arguments("PIPELINE"),
	}
	addFilled(cmd, &date, "date", "the `PERIOD` (default the pipeline's current one)")
	addFilled(cmd, &wait, "wait", "how long to wait for the gate, a `DURATION` such as 30m (default 0s)")
	return a.asking(cmd, func(ctx context.Context, c *connection, args []string) error {
		limit, err := parseLength("wait", wait, "90s or 2h")
		if err != nil {
			return err
		}
		g, err := awaitGate(ctx, c.Client, args[0], date, limit, c.raw())
		return verdict(g.Open, c.show(err, func() { a.writeAnswer(g) }))
	})
}

// awaitGate polls until the gate is open, can no longer open, or the wait is over. It sends at most
// one request a minute, because the server holds each request for up to a minute.
func awaitGate(ctx context.Context, c *client.Client, id, date string, wait time.Duration, raw client.CallOption) (client.Gate, error) {
	g, err := c.Gate(ctx, id, date, raw)
	for end := time.Now().Add(wait); err == nil && !g.Open && g.RetryAfterSeconds != nil; {
		asked := time.Now()
		hold := min(time.Until(end), maxHold).Round(time.Millisecond)
		if hold <= 0 {
			break
		}
		if g, err = c.AwaitGate(ctx, id, g.Date, hold, raw); err != nil || g.Open {
			break
		}
		select {
		case <-time.After(min(hold-time.Since(asked), time.Until(end))):
		case <-ctx.Done():
			return g, ctx.Err()
		}
	}
	return g, err
}

// writeAnswer prints the rules, whether the gate is open, and why not.
func (a *app) writeAnswer(g client.Gate) {
	start := g.StartCondition
	if start != nil && slices.ContainsFunc(g.Rules, func(r client.Rule) bool { return r.Key == start.Key && ruleText(r) == ruleText(*start) }) {
		start = nil // the start condition is one of the rules
	}
	a.writeRules(start, g.Rules)
	fmt.Fprintf(a.stdout, "%s %s: %s\n", g.Pipeline, g.Date, a.openWord(g.Open))
	for _, b := range g.BlockedBy {
		fmt.Fprintf(a.stdout, "  - %s\n", printable(b.Reason))
	}
	for _, line := range timeLines(g.PreferUntil, g.OpensAt, g.Degraded) {
		fmt.Fprintf(a.stdout, "  %s\n", line)
	}
}

// writeRules prints one line per rule, after the start condition if there is one.
func (a *app) writeRules(start *client.Rule, rules []client.Rule) {
	var rows [][]cell
	if start != nil {
		row := a.ruleRow(*start)
		row[len(row)-1].text += " (start condition)"
		rows = append(rows, row)
	}
	if rows = append(rows, a.ruleRows(rules)...); len(rows) > 0 {
		fmt.Fprintf(a.stdout, "%s\n", table(rows))
	}
}

func (a *app) openWord(open bool) string {
	if open {
		return a.outStyle.green("open")
	}
	return a.outStyle.red("closed")
}

// timeLines lists the preferred rules that an open gate does without, and when a closed gate opens
// by time alone.
func timeLines(preferUntil, opensAt *time.Time, degraded []string) []string {
	var lines []string
	for _, missing := range degraded {
		lines = append(lines, "degraded: open without "+printable(missing))
	}
	switch {
	case len(degraded) > 0:
	case opensAt != nil && preferUntil != nil && opensAt.Equal(*preferUntil):
		lines = append(lines, "opens at "+someTime(opensAt)+" without the preferred rules (validation.preferUntil)")
	case opensAt != nil:
		lines = append(lines, "opens at "+someTime(opensAt)+" if its data does not change until then")
	case preferUntil != nil:
		lines = append(lines, "preferred rules close the gate until "+someTime(preferUntil)+" (validation.preferUntil)")
	}
	return lines
}
