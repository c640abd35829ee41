package run_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

// took returns completed runs whose jobs took those minutes, latest first.
func took(minutes ...int) (runs []run.Run) {
	start := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	for _, m := range minutes {
		r := run.Run{Status: run.Completed, EndedAt: start.Add(time.Duration(m) * time.Minute)}
		r.Progress.StartedAt = start
		runs = append(runs, r)
	}
	return runs
}

func TestFiveDurationsMustBeKnown(t *testing.T) {
	failed := took(3)
	failed[0].Status = run.FailedFinal
	four := append(append(took(10, 10, 10, 10), failed...), run.Run{Status: run.Completed})
	if got := run.Learn(four); got != (run.Learned{}) {
		t.Errorf("learned %+v from four durations", got)
	}
	if got := run.Learn(append(four, took(10)...)); got != (run.Learned{Runs: 5, P10: 10 * time.Minute}) {
		t.Errorf("learned %+v from five", got)
	}
}

func TestOnlyTheLastTwentyDurationsCount(t *testing.T) {
	var minutes []int
	for i := range 40 {
		minutes = append(minutes, 40-i) // the earlier, the shorter
	}
	if got := run.Learn(took(minutes...)); got != (run.Learned{Runs: 20, P10: 22*time.Minute + 54*time.Second}) {
		t.Errorf("learned %+v", got)
	}
}
