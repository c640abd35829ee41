package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/archive"
)

func newArchive(a *app) *cobra.Command {
	return group("archive", "Look after the archive in Postgres", newArchiveStatus(a), newArchiveBackfill(a))
}

// archiveOf finds the archive as serve does.
func (a *app) archiveOf(config string) (string, error) {
	file, err := a.serverFile(config)
	if err != nil {
		return "", err
	}
	dsn, err := archiveDSN(file, a.getenv)
	if err == nil && dsn == "" {
		err = errors.New("there is no archive in the server's file; write archive: {dsnEnv: ARCHIVE_DSN}, and put the connection string into that environment variable")
	}
	return dsn, err
}

func addServerFile(cmd *cobra.Command, config *string) {
	cmd.Flags().StringVar(config, "config", "", "`FILE` of the server (default ./interlock.yaml, if it is there)")
}

func newArchiveStatus(a *app) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "status", Short: "Say what the archive holds, and how far it has come",
		Long: "Say what the archive holds, and how far it has come. It asks Postgres, found as serve does.\n" +
			"What is not archived yet is among the checks of `interlock health`.",
		Example: "  interlock archive status", Args: noArguments,
	}
	addServerFile(cmd, &config)
	format := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		dsn, err := a.archiveOf(config)
		if err != nil {
			return err
		}
		s, err := archive.Read(cmd.Context(), dsn)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return a.show(format, raw, func() { a.writeArchive(s) })
	}
	return cmd
}

func (a *app) writeArchive(s archive.Status) {
	if len(s.Rows) == 0 {
		fmt.Fprintln(a.stdout, "nothing was archived yet")
		return
	}
	var counts, places [][]cell
	for _, c := range s.Rows {
		counts = append(counts, []cell{plain(c.Table), plain(plural(int(c.Rows), "row"))})
	}
	for _, p := range s.Cursors {
		at := p.At
		places = append(places, []cell{plain(p.Name), plain(fmt.Sprint(p.Position)), plain(shortTime(&at))})
	}
	fmt.Fprint(a.stdout, table("", counts))
	fmt.Fprint(a.stdout, "\n", table("", places))
}

func newArchiveBackfill(a *app) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "backfill", Short: "Copy everything again that the store still has",
		Long: "Make the server copy everything again that its store still has, with its next copy: rows that are\n" +
			"there stay as they are, those that are missing come back. Nothing is there twice.",
		Example: "  interlock archive backfill", Args: noArguments,
	}
	addServerFile(cmd, &config)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.backfillArchive(cmd.Context(), config) }
	return cmd
}

func (a *app) backfillArchive(ctx context.Context, config string) error {
	dsn, err := a.archiveOf(config)
	if err != nil {
		return err
	}
	if err := archive.RequestBackfill(ctx, dsn); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "the server's next copy takes everything; `interlock archive status` shows when it was done")
	return nil
}
