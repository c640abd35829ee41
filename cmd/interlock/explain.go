package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newExplain(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "explain PIPELINE|RUN", Short: "Explain why a run is waiting, how it ended, or why there is none",
		Long: "Explain why a run is waiting: which rule does not pass, its value, who wrote it and when, how long the run has waited,\n" +
			"until when the window is open, and what would open the gate. The commands printed there, run in this order,\n" +
			"open it at once or at the printed time; a push states a fact, so run it only if it is true. For a run that started: the facts it started on and\n" +
			"how it ended. For a run that does not exist: why not. The default period is that of the newest open run, else the current one.",
		Example: "  interlock explain orders --date 2026-03-03\n" +
			"  interlock explain orders/stream/2026-03-03",
		Args: arguments("PIPELINE or RUN"),
	}
	flags := addRunFlags(cmd)
	return a.watchable(cmd, func(ctx context.Context, c *connection, args []string) error {
		key := client.RunKey{Pipeline: args[0], Schedule: flags.schedule, Date: flags.date}
		if strings.Contains(args[0], "/") {
			var err error
			if key, err = flags.key(ctx, c.Client, args[0]); err != nil {
				return err
			}
		}
		x, err := c.Explain(ctx, key.Pipeline, key.Date, client.WithSchedule(key.Schedule), c.raw())
		return c.show(err, func() { a.writeExplanation(x.Lines) })
	})
}

// writeExplanation prints the server's explanation, with colours on a terminal.
func (a *app) writeExplanation(lines []client.Line) {
	s := a.outStyle
	marks := map[string]string{"pass": s.green("✓"), "fail": s.red("✗"), "unknown": s.yellow("?")}
	for _, l := range lines {
		text := printable(l.Text)
		if mark := marks[l.Style]; mark != "" {
			text = "  " + mark + " " + text
		} else if l.Style == "title" || l.Style == "heading" {
			text = s.bold(text)
		} else if l.Style == "command" {
			text = "      " + text
		}
		fmt.Fprintln(a.stdout, text)
	}
}
