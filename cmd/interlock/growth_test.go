//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
)

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
