package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newStatus(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status [PIPELINE]",
		Short: "Show how pipelines stand",
		Example: "  interlock status\n" +
			"  interlock status orders",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("status takes one PIPELINE, not %d", len(args))
			}
			return nil
		},
	}
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return a.remoteRead(cmd, format, apiPath("pipelines", args[0]), nil, func(raw json.RawMessage) error {
				var p client.Pipeline
				if err := json.Unmarshal(raw, &p); err != nil {
					return err
				}
				a.writePipelines([]client.Pipeline{p})
				return nil
			})
		}
		return a.remoteRead(cmd, format, apiPath("pipelines"), query("limit", "500"), func(raw json.RawMessage) error {
			var page client.Page[client.Pipeline]
			if err := json.Unmarshal(raw, &page); err != nil {
				return err
			}
			a.writePipelines(page.Items)
			return nil
		})
	}
	return cmd
}

func (a *app) writePipelines(pipelines []client.Pipeline) {
	if len(pipelines) == 0 {
		fmt.Fprintln(a.stdout, "There are no pipelines. Put a file into the server's pipelines directory; `interlock init` writes examples.")
		return
	}
	s := a.outStyle
	rows := [][]cell{heads(s, "PIPELINE", "STATE", "LAST PERIOD", "STATUS", "ATTEMPT", "OPEN", "NEXT FIRE", "DEADLINE")}
	for _, p := range pipelines {
		period, status, attempt := "–", plain("–"), "–"
		if r := p.LastRun; r != nil {
			period, status, attempt = r.Date, a.statusCell(r.Status), fmt.Sprint(r.Attempt)
		}
		rows = append(rows, []cell{
			{p.ID, s.bold},
			a.stateCell(p.State), plain(period), status, plain(attempt), plain(fmt.Sprint(p.OpenRuns)),
			plain(shortTime(p.Next.FireAt)), plain(shortTime(p.Next.BreachAt)),
		})
	}
	fmt.Fprint(a.stdout, table("", rows))
	for _, p := range pipelines {
		if p.Problem != nil {
			fmt.Fprintf(a.stdout, "\n%s: %s\n", p.ID, printable(*p.Problem))
		}
	}
}

func (a *app) stateCell(state string) cell {
	if state == "ok" {
		return cell{state, a.outStyle.green}
	}
	return cell{state, a.outStyle.yellow}
}

func (a *app) statusCell(status string) cell {
	s := a.outStyle
	switch status {
	case "COMPLETED":
		return cell{status, s.green}
	case "FAILED", "FAILED_FINAL", "VALIDATION_EXHAUSTED", "JOB_POLL_EXHAUSTED":
		return cell{status, s.red}
	default:
		return cell{status, s.yellow}
	}
}
