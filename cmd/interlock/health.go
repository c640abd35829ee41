package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
)

func newHealth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether the controller is healthy",
		Long: "Check whether the controller is healthy: exit code 0 if it is, 1 if it is not, 3 if it does not\n" +
			"answer. For health checks of containers and services that have no other HTTP client.",
		Example: "  interlock health",
		Args:    noArguments,
	}
	return a.watchable(cmd, func(ctx context.Context, c *connection, _ []string) error {
		h, err := c.Ready(ctx, c.raw())
		if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Status == http.StatusServiceUnavailable {
			fmt.Fprintf(a.stderr, "%s %s\n", a.errStyle.red("interlock:"), printableLines(err.Error()))
			return errNo
		}
		return c.show(err, func() { a.writeHealth(h) })
	})
}

func (a *app) writeHealth(h client.Readiness) {
	fmt.Fprintln(a.stdout, a.outStyle.bold(printable(h.Status)))
	var rows [][]cell
	for _, c := range h.Checks {
		mark := cell{"✓", a.outStyle.green}
		if !c.OK {
			mark = cell{"✗", a.outStyle.red}
		}
		rows = append(rows, []cell{mark, plain(c.Name), plain(c.Detail)})
	}
	fmt.Fprint(a.stdout, table(rows))
}
