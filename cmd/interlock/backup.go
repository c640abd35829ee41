package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func newBackup(a *app) *cobra.Command {
	data := settings.Default().Data
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Copy the embedded store, also while a server uses it",
		Long: "Write a consistent copy of the embedded store to FILE, also while a server owns the directory.\n" +
			"To use it, put it into an empty data directory as interlock.db.",
		Example: "  interlock backup backup.db --data ./interlock-data", Args: arguments("FILE"),
	}
	cmd.Flags().StringVar(&data, "data", data, "`DIR` of the embedded store")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := sqlite.BackupDir(cmd.Context(), data, args[0]); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, args[0])
		return nil
	}
	return cmd
}
