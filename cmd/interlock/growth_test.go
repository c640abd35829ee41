//go:build unix

package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
)

// filesBelow counts files and directories.
func filesBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		n++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The directory of a command is removed once its result is stored; the output stays in the job log.
// The directory of a running job stays.
func TestDirectoryOfASettledCommandIsRemoved(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{
		"quick.yaml": "pipeline: {id: quick, owner: data}\nschedule: {trigger: {key: landed, check: exists}}\n" +
			"job: {type: command, config: {command: echo what it said, shell: true}, pollInterval: 1s}\n",
		"slow.yaml": "pipeline: {id: slow, owner: data}\nschedule: {trigger: {key: landed, check: exists}}\n" +
			"job: {type: command, config: {command: sleep 3600}, pollInterval: 1s}\n",
	}})
	jobs, err := newJobs(s.c.file, os.Getenv, api.Callbacks{})
	if err != nil {
		t.Fatal(err)
	}
	entries := func() int {
		t.Helper()
		list, err := os.ReadDir(jobsDir(s.data))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for day := range 5 {
		s.must(0, "sensor", "set", "quick", fmt.Sprintf("landed#2026-03-%02d", day+1), "n=1")
	}
	s.until("five runs", func() bool { return strings.Count(s.run("runs", "--pipeline", "quick").stdout, "COMPLETED") == 5 })
	s.must(0, "sensor", "set", "slow", "landed#2026-03-01", "n=1")
	s.until("the slow one runs", func() bool { return in(s.run("runs", "--pipeline", "slow").stdout, "RUNNING") })
	if n := entries(); n != 6 {
		t.Fatalf("%d jobs have directories", n)
	}
	if err := jobs.sweep(t.Context(), s.c.store, time.Now(), 30*24*time.Hour); err != nil || entries() != 6 {
		t.Errorf("jobs that have just ended have %d directories: %v", entries(), err)
	}
	if err := jobs.sweep(t.Context(), s.c.store, time.Now().Add(sweepAfter+time.Minute), 30*24*time.Hour); err != nil || entries() != 1 {
		t.Errorf("%d jobs have directories, want only the running one: %v", entries(), err)
	}
	if got := s.must(0, "run", "show", "quick/stream/2026-03-01").stdout; !in(got, "what it said") {
		t.Errorf("the output is gone:\n%s", got)
	}
	s.must(0, "cancel", "slow/stream/2026-03-01", "--reason", "the test is over")
	s.until("the slow one ends", func() bool { return !in(s.run("runs", "--pipeline", "slow").stdout, "RUNNING") })
}

var soak = flag.Duration("soak", 0, "how long TestSoak watches the memory, descriptors and files of a busy controller; at least 10m say something")

// usage is a controller's use of resources at one moment.
type usage struct {
	resident    int // kB
	descriptors int
	files       int // in the data directory
}

func (d *daemon) usage() usage {
	d.Helper()
	proc := fmt.Sprintf("/proc/%d", d.cmd.Process.Pid)
	text, err := os.ReadFile(proc + "/status")
	if err != nil {
		d.Skip("this system has no /proc for the use of resources")
	}
	var u usage
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			u.resident, _ = strconv.Atoi(strings.Fields(rest)[0]) // the kernel writes numbers
		}
	}
	open, err := os.ReadDir(proc + "/fd")
	if err != nil {
		d.Fatal(err)
	}
	u.descriptors, u.files = len(open), filesBelow(d.T, d.path("data"))
	return u
}

// TestSoak runs commands as fast as it can and measures the controller's use of resources, which
// must not grow after the first third of the time.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("slow; run it with -soak 10m")
	}
	g := newGround(t, builtBinary(t), "retention: {events: 1h, history: 1h, jobLog: 1h}\n")
	const pipelines = 10
	for i := range pipelines {
		g.pipeline(fmt.Sprintf("p%d", i), "schedule: {trigger: {key: landed, check: exists}}\nsla: {maxDuration: 1h}\n"+
			"job: {type: command, config: {command: 'true'}, pollInterval: 1s}\n")
	}
	d := g.start()
	day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	var seen []usage
	ended := 0
	for began := time.Now(); time.Since(began) < *soak; day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		for i := range pipelines {
			d.put(fmt.Sprintf("p%d", i), "landed#"+date, map[string]any{"n": 1})
		}
		for i := range pipelines {
			d.reaches(fmt.Sprintf("p%d/stream/%s", i, date), client.Completed)
			ended++
		}
		seen = append(seen, d.usage())
	}
	third := len(seen) / 3
	middle, last := typical(seen[third:2*third]), typical(seen[2*third:])
	t.Logf("%d runs ended; typical use in the second third %+v, in the last %+v", ended, middle, last)
	if last.resident > middle.resident*5/4+16<<10 {
		t.Errorf("memory grows from %d kB to %d kB", middle.resident, last.resident)
	}
	if last.descriptors > middle.descriptors+10 {
		t.Errorf("descriptors grow from %d to %d", middle.descriptors, last.descriptors)
	}
	if last.files > middle.files*3/2+50 {
		t.Errorf("files grow from %d to %d", middle.files, last.files)
	}
}

// typical returns the median of each figure.
func typical(seen []usage) usage {
	median := func(of func(usage) int) int {
		var values []int
		for _, u := range seen {
			values = append(values, of(u))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return usage{
		resident:    median(func(u usage) int { return u.resident }),
		descriptors: median(func(u usage) int { return u.descriptors }),
		files:       median(func(u usage) int { return u.files }),
	}
}
