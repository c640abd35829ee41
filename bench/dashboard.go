package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// lanes is a project directory: its pipelines, and the history of each.
type lanes struct {
	count int
	days  int // of each pipeline; every 25th has a run per hour. 0: 48 hourly runs of each
	dir   string
}

// dashboardRows measures the cost of showing the dashboard: the time of a timeline request against
// its bare queries, the bytes of a first visit, and the scripting time in a real browser.
func dashboardRows() (rows []row, err error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hours := lanes{count: 500, dir: filepath.Join(dir, "hours")}
	days := lanes{count: 500, days: 90, dir: filepath.Join(dir, "days")}
	many := lanes{count: 5000, days: 6, dir: filepath.Join(dir, "many")}
	seed := filepath.Join(dir, "seed")
	if out, err := exec.Command("go", "build", "-o", seed, "./internal/dashboard/seed").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build seed: %w: %s", err, out)
	}
	for _, l := range []lanes{hours, days, many} {
		if err := l.write(seed); err != nil {
			return nil, err
		}
	}
	for _, l := range []lanes{hours, days} {
		r, err := timelineRow(l)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	binary, err := build(dir)
	if err != nil {
		return nil, err
	}
	traced, err := traceRows(binary, hours, many)
	return append(rows, traced...), err
}

// String describes the size of the project.
func (l lanes) String() string {
	if l.days == 0 {
		return fmt.Sprintf("%d pipelines × 48 hours", l.count)
	}
	return fmt.Sprintf("%d pipelines × %d days", l.count, l.days)
}

// name returns the file name of a lane, counted from 1.
func (l lanes) name(i int) string {
	return filepath.Join(l.dir, "pipelines", fmt.Sprintf("lane%d.yaml", i))
}

// write creates the directory and its history.
func (l lanes) write(seed string) error {
	if err := os.MkdirAll(filepath.Join(l.dir, "pipelines"), 0o755); err != nil {
		return err
	}
	for i := 1; i <= l.count; i++ {
		cron, deadline := "5 * * * *", ":30"
		if l.days > 0 && i%25 != 0 {
			cron, deadline = "5 0 * * *", "00:30"
		}
		text := fmt.Sprintf("pipeline: {id: lane%d, owner: bench}\nschedule: {cron: %q, offset: -1}\nsla: {deadline: %q}\n", i, cron, deadline)
		if err := os.WriteFile(l.name(i), []byte(text), 0o644); err != nil {
			return err
		}
	}
	args := []string{"-data", filepath.Join(l.dir, "interlock-data"), "-lanes", fmt.Sprint(l.count), "-lane-days", fmt.Sprint(l.days)}
	if out, err := exec.Command(seed, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("seed %s: %w: %s", l, err, out)
	}
	return nil
}
