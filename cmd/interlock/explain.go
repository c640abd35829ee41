package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newExplain(a *app) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use: "explain PIPELINE", Short: "Explain why a run is waiting, how it ended, or why there is none",
		Long: "Explain why a run is waiting: which rule does not pass, its value, who wrote it and when, how long the run has waited,\n" +
			"until when the window is open, and what would open the gate. The commands printed there, run in this order,\n" +
			"open it at once or at the printed time; a push states a fact, so run it only if it is true. For a run that started: the facts it started on and\n" +
			"how it ended. For a run that does not exist: why not.",
		Example: "  interlock explain orders --date 2026-03-03", Args: arguments("PIPELINE"),
	}
	addFilled(cmd, &date, "date", "the `PERIOD` (default: of the newest open run, else of a fire now)")
	return a.watchable(cmd, func(ctx context.Context, c *connection, args []string) error {
		x, err := c.Explain(ctx, args[0], date, c.raw())
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
