package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newConfig(a *app) *cobra.Command {
	return group("config", "Manage the server's files", newAcceptRemoval(a))
}

func newAcceptRemoval(a *app) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "accept-removal", Short: "Remove the pipelines whose files are missing",
		Long: "Remove the pipelines whose files are missing. A folder that becomes empty, or loses more than half\n" +
			"of at least four files at once, looks like a lost mount: the server keeps the pipelines active,\n" +
			"reports it, and waits for the files or for this command.",
		Example: "  interlock config accept-removal --reason 'moved to the other team'", Args: noArguments,
	}
	addReason(cmd, &reason)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		ids, err := c.AcceptRemoval(ctx, a.asked(reason), c.raw())
		return c.show(err, func() { a.writeIDs("removed", ids) })
	})
}
