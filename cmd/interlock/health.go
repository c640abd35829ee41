package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newHealth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Say whether the controller keeps up",
		Long: "Say whether the controller keeps up: 0 if it does, 1 if it answers but does not, 3 if nobody\n" +
			"answers. Made for the health checks of containers and services, which have no other program.",
		Example: "  interlock health",
		Args:    noArguments,
	}
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		var raw json.RawMessage
		h, err := c.Ready(ctx, client.Raw(&raw))
		var problem *client.Problem
		if errors.As(err, &problem) && problem.Status == http.StatusServiceUnavailable {
			fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.red("interlock:"), printableLines(err.Error()))
			return errNo
		}
		if err != nil {
			return err
		}
		return a.show(format, raw, func() { a.writeHealth(h) })
	})
	return cmd
}

func (a *app) writeHealth(h client.Readiness) {
	fmt.Fprintln(a.stdout, a.outStyle.bold(printable(h.Status)))
	rows := [][]cell{}
	for _, c := range h.Checks {
		mark := cell{"✓", a.outStyle.green}
		if !c.OK {
			mark = cell{"✗", a.outStyle.red}
		}
		rows = append(rows, []cell{mark, plain(c.Name), plain(c.Detail)})
	}
	if len(rows) > 0 {
		fmt.Fprint(a.stdout, table("", rows))
	}
}
