package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func newRepair(a *app) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use: "repair", Short: "Save all readable records of a damaged embedded store",
		Long: "Create a new embedded store from all readable records of a damaged one, and put it in\n" +
			"its place. The damaged file is kept beside it. If there is a backup, prefer it: it is complete up\n" +
			"to its date, while not all lost records of a damaged store can be listed. An undamaged store is\n" +
			"not changed. Stop the server first: a store in use cannot be repaired.",
		Example: "  interlock repair --data ./interlock-data", Args: noArguments,
	}
	addData(cmd, &data)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		data, err := a.embeddedStore(data, "which redis-check-aof repairs. To repair an embedded store, use --data DIR")
		if err != nil {
			return err
		}
		report, err := sqlite.Repair(cmd.Context(), data, time.Now())
		if err != nil {
			return err
		}
		return a.showRepair(data, report)
	}
	return cmd
}

func (a *app) showRepair(data string, r sqlite.Repaired) error {
	if len(r.Found) == 0 {
		_, err := fmt.Fprintf(a.stdout, "the store in %s is not damaged; nothing was changed\n", data)
		return err
	}
	fmt.Fprintf(a.stdout, "the store in %s is damaged: %s\n", data, r.Found[0])
	if more := len(r.Found) - 1; more > 0 {
		fmt.Fprintf(a.stdout, "  and %s more\n", plural(more, "problem"))
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nTABLE\tSAVED\tLOST")
	for _, t := range r.Tables {
		lost := "none"
		switch {
		case t.Damaged && t.Invalid > 0:
			lost = fmt.Sprintf("%d, and an unknown number", t.Invalid)
		case t.Damaged:
			lost = "an unknown number"
		case t.Invalid > 0:
			lost = fmt.Sprint(t.Invalid)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", t.Name, t.Saved, lost)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "\nthe damaged store is kept as %s; start the server to use the saved records\n", r.Kept)
	return err
}
