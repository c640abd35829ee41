package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/archive"
)

func newArchive(a *app) *cobra.Command {
	return group("archive", "Manage the archive in Postgres", newArchiveStatus(a), newArchiveBackfill(a))
}

// archiveOf returns the archive's connection string, from the same settings as serve.
func (a *app) archiveOf(config string) (string, error) {
	file, err := a.serverFile(config, a.printProblem)
	if err != nil {
		return "", err
	}
	dsn, err := archiveDSN(file, a.getenv)
	if err == nil && dsn == "" {
		err = errors.New("the server's file has no archive; add archive: {dsnEnv: ARCHIVE_DSN} and set that environment variable to the connection string")
	}
	return dsn, err
}

func newArchiveStatus(a *app) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "status", Short: "Show the archive's rows and progress",
		Long: "Show the archive's row counts and how far the copy has progressed. It reads Postgres, as configured for serve.\n" +
			"`interlock health` shows the backlog.",
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
		return a.print(format, s, func() { a.writeArchive(s) })
	}
	return cmd
}

func (a *app) writeArchive(s archive.Status) {
	if len(s.Rows) == 0 {
		fmt.Fprintln(a.stdout, "nothing is archived yet")
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
	fmt.Fprint(a.stdout, table(counts))
	fmt.Fprint(a.stdout, "\n", table(places))
}

func newArchiveBackfill(a *app) *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use: "backfill", Short: "Copy the whole store to the archive again",
		Long: "Make the server's next copy include everything that is still in its store: missing rows are\n" +
			"restored, existing rows stay unchanged, and nothing is duplicated.",
		Example: "  interlock archive backfill", Args: noArguments,
	}
	addServerFile(cmd, &config)
	var wait bool
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until everything is copied; on a terminal, show the progress")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.backfillArchive(cmd.Context(), config, wait) }
	return cmd
}

func (a *app) backfillArchive(ctx context.Context, config string, wait bool) error {
	dsn, err := a.archiveOf(config)
	if err != nil {
		return err
	}
	if err := archive.RequestBackfill(ctx, dsn); err != nil {
		return err
	}
	if !wait {
		fmt.Fprintln(a.stdout, "the server's next copy includes everything; `interlock archive status` shows when it is done")
		return nil
	}
	var rows atomic.Int64
	end := a.progress("copying everything", func() string { return plural(int(rows.Load()), "row") + " in the archive" })
	defer end()
	for {
		s, err := archive.Read(ctx, dsn)
		if err != nil {
			return err
		}
		rows.Store(s.Total())
		if s.Filled() {
			end()
			fmt.Fprintf(a.stdout, "everything is copied: %s\n", plural(int(s.Total()), "row"))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.after(progressPace):
		}
	}
}
