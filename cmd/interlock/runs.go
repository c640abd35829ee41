package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newRuns(a *app) *cobra.Command {
	var pipeline, date, status string
	limit := count{value: 20, most: 500}
	cmd := &cobra.Command{
		Use: "runs", Short: "List runs, newest first",
		Example: "  interlock runs --pipeline orders --status FAILED_FINAL", Args: noArguments,
	}
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "only of this `PIPELINE`")
	cmd.Flags().StringVar(&date, "date", "", "only of this `PERIOD`")
	cmd.Flags().StringVar(&status, "status", "", "only with this `STATUS`")
	cmd.Flags().Var(&limit, "limit", "how many to list")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		q := query("pipeline", pipeline, "date", date, "status", status, "limit", limit.String())
		return a.remoteRead(cmd, format, apiPath("runs"), q, func(raw json.RawMessage) error {
			var page client.Page[client.Run]
			if err := json.Unmarshal(raw, &page); err != nil {
				return err
			}
			a.writeRuns(page.Items)
			return nil
		})
	}
	return cmd
}

func (a *app) writeRuns(runs []client.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(a.stdout, "There are no such runs.")
		return
	}
	rows := [][]cell{heads(a.outStyle, "RUN", "STATUS", "ATTEMPT", "OPENED", "ENDED", "REASON")}
	for _, r := range runs {
		rows = append(rows, []cell{
			{r.Pipeline + "/" + r.Schedule + "/" + r.Date, a.outStyle.bold},
			a.statusCell(r.Status), plain(fmt.Sprint(r.Attempt)),
			plain(shortTime(r.OpenedAt)), plain(shortTime(r.EndedAt)), plain(printable(shorten(orDash(r.Reason), 60))),
		})
	}
	fmt.Fprint(a.stdout, table("", rows))
}

func newRun(a *app) *cobra.Command {
	show := &cobra.Command{
		Use: "show RUN", Short: "Show one run with its attempts, job log, gate and deadlines",
		Example: "  interlock run show orders/stream/2026-03-03", Args: arguments("RUN"),
	}
	format := addFormat(show)
	show.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := client.ParseRunKey(args[0])
		if err != nil {
			return usageError{err}
		}
		if format.value == jsonFormat {
			return a.remoteRead(cmd, format, apiPath("runs", key.Pipeline, key.Schedule, key.Date), nil, nil)
		}
		return a.explain(cmd, format, key.Pipeline, key.Date)
	}
	return group("run", "Look at a run", show)
}

func newExplain(a *app) *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use: "explain PIPELINE", Short: "Say why a run waits, how it went, or why there is none",
		Example: "  interlock explain orders --date 2026-03-03", Args: arguments("PIPELINE"),
	}
	cmd.Flags().StringVar(&date, "date", "", "the `PERIOD` (default that of a fire now)")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.explain(cmd, format, args[0], date) }
	return cmd
}

func (a *app) explain(cmd *cobra.Command, format *choice, pipeline, date string) error {
	return a.remoteRead(cmd, format, apiPath("pipelines", pipeline, "explain"), query("date", date), func(raw json.RawMessage) error {
		var e struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, printableLines(e.Text))
		return nil
	})
}

func newDeadlines(a *app) *cobra.Command {
	var pipeline string
	cmd := &cobra.Command{
		Use: "deadlines", Short: "List the deadlines that are armed, soonest first",
		Example: "  interlock deadlines --pipeline orders", Args: noArguments,
	}
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "only of this `PIPELINE`")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.remoteRead(cmd, format, apiPath("deadlines"), query("pipeline", pipeline, "limit", "500"), func(raw json.RawMessage) error {
			var page client.Page[client.Deadline]
			if err := json.Unmarshal(raw, &page); err != nil {
				return err
			}
			a.writeDeadlines(page.Items)
			return nil
		})
	}
	return cmd
}

func (a *app) writeDeadlines(deadlines []client.Deadline) {
	if len(deadlines) == 0 {
		fmt.Fprintln(a.stdout, "Nothing is armed.")
		return
	}
	rows := [][]cell{heads(a.outStyle, "PIPELINE", "PERIOD", "KIND", "STATE", "WARNS", "BREACHES")}
	for _, d := range deadlines {
		rows = append(rows, []cell{
			{d.Pipeline, a.outStyle.bold}, plain(d.Date), plain(d.Kind), plain(d.State), plain(shortTime(d.WarnAt)), plain(shortTime(&d.BreachAt)),
		})
	}
	fmt.Fprint(a.stdout, table("", rows))
}
