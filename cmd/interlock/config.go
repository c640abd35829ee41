package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
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
	format := addFormat(cmd)
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		var raw json.RawMessage
		ids, err := c.AcceptRemoval(ctx, a.asked(reason), client.Raw(&raw))
		if err != nil {
			return err
		}
		return a.show(format, raw, func() { a.writeIDs("removed", ids) })
	})
	return cmd
}
