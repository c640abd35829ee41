package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func newRestore(a *app) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the embedded store",
		Long: "Check the backup FILE, and put a copy of it into the data directory, in the place of the\n" +
			"store that is there or was lost. That store is kept beside it. Stop the server first, and start\n" +
			"it with serve --paused to look around before anything runs.",
		Example: "  interlock restore backup.db --data ./interlock-data", Args: arguments("FILE"),
	}
	addData(cmd, &data)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := a.embeddedStore(data, "which has its own backups. To restore an embedded store, use --data DIR")
		if err != nil {
			return err
		}
		end := a.progress("checking and copying the backup", func() string { return "" })
		kept, err := sqlite.Restore(cmd.Context(), args[0], data, time.Now())
		end()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "the store in %s is now that of %s\n", data, args[0])
		if kept != "" {
			fmt.Fprintf(a.stdout, "the one that was there is kept as %s\n", kept)
		}
		fmt.Fprintln(a.stdout, "start the server with --paused to look around before anything runs")
		return nil
	}
	return cmd
}

func newCheck(a *app) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "check", Short: "Look for damage in the embedded store, even while a server is using it",
		Long: "Read the whole embedded store and its write-ahead log, and list what is damaged. The exit code\n" +
			"is 1 if there is damage.",
		Example: "  interlock check --data ./interlock-data", Args: noArguments,
	}
	addData(cmd, &data)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		data, err := a.embeddedStore(data, "which redis-check-aof checks. To check an embedded store, use --data DIR")
		if err != nil {
			return err
		}
		end := a.progress("reading the store", func() string { return "" })
		found, err := sqlite.Check(cmd.Context(), data)
		end()
		if err != nil {
			return err
		}
		if len(found) == 0 {
			fmt.Fprintf(a.stdout, "the store in %s is not damaged\n", data)
			return nil
		}
		for _, one := range found {
			fmt.Fprintln(a.stdout, one)
		}
		fmt.Fprintf(a.stderr, "the store in %s is damaged; stop the server, and use interlock restore FILE with a backup, or interlock repair, which saves what can still be read\n", data)
		return errNo
	}
	return cmd
}
