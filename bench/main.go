// Command bench measures the performance that the product promises. Each figure is a ratio against
// a ceiling measured in the same run, so that the speed of the machine does not matter. It fails if
// a ratio exceeds its limit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// benchmark is one independent measurement.
type benchmark struct {
	name string
	rows func() ([]row, error)
}

var benchmarks = []benchmark{
	{"rules", func() ([]row, error) { return ruleRows(), nil }},
	{"slices", one(slicesRow)},
	{"load", one(loadRow)},
	{"put", one(putRow)},
	{"ingest", ingestRows},
	{"start", startRows},
	{"flood", floodRows},
	{"idle", one(idleRow)},
	{"scale", scaleRows},
	{"first", one(firstRow)},
	{"alerts", alertRows},
	{"archive", one(archiveRow)},
	{"redis", redisRows},
	{"capacity", capacityRows},
	{"aws", awsRows},
	{"dashboard", dashboardRows},
	{"workers", workerRows},
	{"exec", one(execRow)},
}

func one(measure func() (row, error)) func() ([]row, error) {
	return func() ([]row, error) {
		r, err := measure()
		if err != nil {
			return nil, err
		}
		return []row{r}, nil
	}
}

func main() {
	only := flag.String("only", "", "measure only these, separated by commas: "+strings.Join(names(), ", "))
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	scale := flag.String("scale", "", "be the process that starts on the pipelines in this directory")
	flag.Parse()
	rows, err := profiled(*profile, func() ([]row, error) {
		if *scale != "" {
			return nil, scaleProcess(*scale)
		}
		return measure(*only)
	})
	fine := *scale != "" || print(rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !fine {
		os.Exit(1)
	}
}

func names() []string {
	var names []string
	for _, b := range benchmarks {
		names = append(names, b.name)
	}
	return names
}

// measure runs the benchmarks one after the other. If one fails, the rows measured so far and those
// of the others are still returned.
func measure(only string) ([]row, error) {
	wanted := strings.Split(only, ",")
	var rows []row
	var failures []error
	for _, b := range benchmarks {
		if only != "" && !slices.Contains(wanted, b.name) {
			continue
		}
		more, err := b.rows()
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", b.name, err))
		}
		for _, r := range more {
			if r.name != "" { // it was measured
				rows = append(rows, r)
			}
		}
	}
	return rows, errors.Join(failures...)
}

func profiled(path string, measure func() ([]row, error)) (_ []row, err error) {
	if path == "" {
		return measure()
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	defer func() {
		pprof.StopCPUProfile()
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	return measure()
}

// print writes the table and reports whether every ratio is within its limit.
func print(rows []row) bool {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fine := true
	fmt.Fprintln(out, "WHAT\tRATIO\tLIMIT\t\tDETAIL")
	for _, r := range rows {
		mark := "ok"
		if r.failed {
			mark, fine = "TOO SLOW", false
		}
		limit := fmt.Sprintf("≤ %.1f", r.limit)
		switch {
		case r.reported:
			limit, mark = "", ""
		case r.atLeast:
			limit = fmt.Sprintf("≥ %.1f", r.limit)
		}
		fmt.Fprintf(out, "%s\t%.2f\t%s\t%s\t%s\n", r.name, r.ratio, limit, mark, r.detail)
	}
	out.Flush()
	return fine
}

// stolen returns the steal time since boot: how long the hypervisor ran other guests while this
// machine had work. It is 0 where the system does not report it. On Linux it is the eighth number
// of the first line of /proc/stat, in hundredths of a second.
func stolen() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[8], 10, 64)
	return time.Duration(n) * 10 * time.Millisecond
}
