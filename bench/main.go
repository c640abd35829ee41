// Command bench measures what the product promises about speed: each figure as a ratio against a ceiling that is
// measured in the same run, so that the machine's own speed does not matter. It fails where a ratio is over its limit.
package main

import (
	"fmt"
	"os"
	"text/tabwriter"
)

func main() {
	rows, err := measure()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !print(rows) {
		os.Exit(1)
	}
}

func measure() ([]row, error) {
	loading, err := loadRow()
	if err != nil {
		return nil, err
	}
	writing, err := putRow()
	if err != nil {
		return nil, err
	}
	return append(ruleRows(), loading, writing), nil
}

// print writes the table and says whether every ratio is within its limit.
func print(rows []row) bool {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fine := true
	fmt.Fprintln(out, "WHAT\tRATIO\tLIMIT\t\tDETAIL")
	for _, r := range rows {
		mark := "ok"
		if r.failed {
			mark, fine = "TOO SLOW", false
		}
		bound := "≤"
		if r.atLeast {
			bound = "≥"
		}
		fmt.Fprintf(out, "%s\t%.2f\t%s %.1f\t%s\t%s\n", r.name, r.ratio, bound, r.limit, mark, r.detail)
	}
	out.Flush()
	return fine
}
