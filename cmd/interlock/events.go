package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newEvents(a *app) *cobra.Command {
	var follow bool
	var kind, pipeline, since string
	limit := count{value: 50, most: 500}
	cmd := &cobra.Command{
		Use: "events", Short: "List what happened, or follow it as it happens",
		Example: "  interlock events --follow --pipeline orders", Args: noArguments,
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what happens next, until Ctrl-C")
	cmd.Flags().StringVar(&kind, "type", "", "only of this `TYPE`, such as SLA_BREACH")
	cmd.Flags().StringVar(&pipeline, "pipeline", "", "only of this `PIPELINE`")
	cmd.Flags().StringVar(&since, "since", "", "only at or after this `TIME`, RFC 3339")
	cmd.Flags().Var(&limit, "limit", "how many to list")
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if follow {
			return a.follow(cmd.Context(), format, query("pipeline", pipeline, "type", kind, "since", since))
		}
		q := query("pipeline", pipeline, "type", kind, "since", since, "limit", limit.String())
		return a.remoteRead(cmd, format, apiPath("events"), q, func(raw json.RawMessage) error {
			var page client.Page[client.Event]
			if err := json.Unmarshal(raw, &page); err != nil {
				return err
			}
			slices.Reverse(page.Items) // the newest at the prompt
			for _, e := range page.Items {
				a.writeEvent(e)
			}
			return nil
		})
	}
	return cmd
}

// follow prints events as they come; JSON is one event a line.
func (a *app) follow(ctx context.Context, format *choice, q url.Values) error {
	c, err := a.ask()
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	err = c.Follow(ctx, q, func(e client.Event, raw json.RawMessage) error {
		if format.value == jsonFormat {
			fmt.Fprintf(a.stdout, "%s\n", raw)
		} else {
			a.writeEvent(e)
		}
		return a.flush()
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *app) writeEvent(e client.Event) {
	s := a.outStyle
	paint := map[string]func(string) string{"warning": s.yellow, "critical": s.red}[e.Detail.Severity]
	if paint == nil {
		paint = s.dim
	}
	about := e.Detail.Pipeline
	if e.Detail.Date != "" {
		about += " " + e.Detail.Date
	}
	fmt.Fprintf(a.stdout, "%s  %s  %s  %s\n", e.Time.UTC().Format("2006-01-02 15:04:05Z"), paint(fmt.Sprintf("%-24s", e.Type)), s.bold(about), printable(e.Detail.Message))
}
