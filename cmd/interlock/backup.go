package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func newBackup(a *app) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Copy the embedded store, even while a server is using it",
		Long: "Write a consistent copy of the embedded store to FILE, even while a server is using it.\n" +
			"To restore it, copy it to an empty data directory as interlock.db.",
		Example: "  interlock backup backup.db --data ./interlock-data", Args: arguments("FILE"),
	}
	addData(cmd, &data)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := a.embeddedStore(data, "which has its own backups: copy its append-only file, or use BGSAVE. To copy an embedded store, use --data DIR")
		if err != nil {
			return err
		}
		end := a.progress("copying the store", func() string { return copied(data, args[0]) })
		err = sqlite.BackupDir(cmd.Context(), data, args[0])
		end()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s is a copy of the store in %s\n", args[0], data)
		return nil
	}
	return cmd
}

// addData adds the --data flag, which names the embedded store's directory.
func addData(cmd *cobra.Command, data *string) {
	cmd.Flags().StringVar(data, "data", "", "`DIR` of the embedded store (default as for serve: from ./interlock.yaml, else ./interlock-data)")
}

// embeddedStore returns the given data directory, or that of the server's file. If the store is
// Redis, the error says what to do instead.
func (a *app) embeddedStore(given, instead string) (string, error) {
	if given != "" {
		return given, nil
	}
	file, err := a.serverFile("", a.printProblem)
	if err == nil && settings.IsRedis(file.Store) {
		err = errors.New("the store is a Redis, " + instead)
	}
	return file.Data.Dir, err
}

// copied describes how much of the embedded store has been copied to file.
func copied(data, file string) string {
	whole := sqlite.Size(data)
	var copied int64
	partial, err := filepath.Glob(filepath.Join(filepath.Dir(file), filepath.Base(file)+".*.partial"))
	for _, name := range partial {
		if info, err := os.Stat(name); err == nil {
			copied = max(copied, info.Size())
		}
	}
	if err != nil || whole == 0 {
		return ""
	}
	return fmt.Sprintf("%d of about %d MB", copied>>20, whole>>20)
}
