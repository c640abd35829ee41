package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
	"github.com/interlock-go/interlock/internal/watchdog"
)

const (
	scaleFew, scaleMany = 10_000, 100_000
	scaleGrowth         = 11.0
	scaleMemory         = 8.0 // KB a pipeline
	scaleStarts         = 3   // the best one counts: the others include noise of the machine
	scalePasses         = 3
)

// scaled holds the measurements of one process with many pipelines.
type scaled struct {
	dir      string        // of the pipelines
	Start    time.Duration // from the stored versions and the files to a ready catalog
	Pass     time.Duration // of the watchdog
	Resident int64         // bytes, after the pass
}

// scaleRows compares start-up, a watchdog pass and resident memory with many and with ten times as
// many pipelines. Each is measured in its own process, so that they do not share memory.
func scaleRows() ([]row, error) {
	few, many, err := scaleInTurns()
	if err != nil {
		return nil, err
	}
	growth := func(name string, many, few time.Duration) row {
		ratio := float64(many) / float64(few)
		return row{
			name: fmt.Sprintf("%s, %d pipelines / %d", name, scaleMany, scaleFew), ratio: ratio, limit: scaleGrowth,
			detail: fmt.Sprintf("%s and %s", many.Round(time.Millisecond), few.Round(time.Millisecond)), failed: ratio > scaleGrowth,
		}
	}
	each := float64(many.Resident-few.Resident) / (scaleMany - scaleFew) / 1024
	return []row{
		growth("start-up", many.Start, few.Start),
		growth("watchdog pass", many.Pass, few.Pass),
		{
			name: "resident memory, KB a pipeline", ratio: each, limit: scaleMemory, failed: each > scaleMemory,
			detail: fmt.Sprintf("%d MB with %d pipelines, %d MB with %d", many.Resident>>20, scaleMany, few.Resident>>20, scaleFew),
		},
	}, nil
}

// scaleInTurns alternates between few and many pipelines.
func scaleInTurns() (few, many scaled, err error) {
	for _, of := range []struct {
		pipelines int
		found     *scaled
	}{{scaleFew, &few}, {scaleMany, &many}} {
		dir, err := os.MkdirTemp("", "interlock-bench-")
		if err != nil {
			return few, many, err
		}
		defer os.RemoveAll(dir)
		if err := writeFiles(filepath.Join(dir, "pipelines"), of.pipelines); err != nil {
			return few, many, err
		}
		if _, err := scaleOnce(dir); err != nil { // accepts the pipelines; the later processes start from the stored versions
			return few, many, err
		}
		of.found.dir = dir
	}
	for range scaleStarts {
		for _, found := range []*scaled{&few, &many} {
			measured, err := scaleOnce(found.dir)
			if err != nil {
				return few, many, err
			}
			found.better(measured)
		}
	}
	return few, many, nil
}

// scaleOnce starts a process on the pipelines in a directory.
func scaleOnce(dir string) (measured scaled, err error) {
	self, err := os.Executable()
	if err != nil {
		return measured, err
	}
	cmd := exec.Command(self, "-scale", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return measured, fmt.Errorf("start on many pipelines: %w", err)
	}
	return measured, json.Unmarshal(out, &measured)
}

// better keeps the shorter times and the larger memory.
func (s *scaled) better(m scaled) {
	if s.Start == 0 || m.Start < s.Start {
		s.Start = m.Start
	}
	if s.Pass == 0 || m.Pass < s.Pass {
		s.Pass = m.Pass
	}
	s.Resident = max(s.Resident, m.Resident)
}

// scaleStart is when the pipelines are accepted. It is far from their cron times, so that no run is
// due.
var scaleStart = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// writeFiles writes the given number of pipelines, a thousand to a directory.
func writeFiles(dir string, pipelines int) error {
	for i := range pipelines {
		path := filepath.Join(dir, strconv.Itoa(i/1000), fmt.Sprintf("%d.yaml", i))
		if i%1000 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, []byte(scaleFile(i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// scaleFile returns pipeline i: with cron or a start condition, some with a deadline, some with
// rules after the run.
func scaleFile(i int) string {
	opens, more := `cron: "15 6 * * *"`, ""
	if i%2 == 1 {
		opens = "trigger: {key: ready, check: equals, field: status, value: done}"
	}
	if i%10 == 0 {
		more += "sla: {deadline: '08:00', expectedDuration: 20m}\n"
	}
	if i%5 == 0 {
		more += "postRun: {rules: [{key: audit, check: gte, field: count, value: 1}]}\n"
	}
	return fmt.Sprintf(`pipeline: {id: pipeline-%d, owner: team-%d, description: Loads table %d}
schedule: {%s, timezone: Europe/Berlin}
validation:
  rules:
    - {key: upstream, check: equals, field: status, value: complete}
    - {key: upstream, check: age_lt, field: updatedAt, value: 24h}
    - {key: rows, check: gte, field: count, value: 1000}
job: {type: http, maxRetries: 2, config: {url: "http://localhost:8080/load/%d"}}
%s`, i, i%40, i, opens, i, more)
}

// scaleProcess is the process with many pipelines. It starts as the server does and prints its
// measurements on standard output.
func scaleProcess(dir string) (err error) {
	ctx := context.Background()
	var found scaled
	began := time.Now()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "data"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c := catalog.New(db, all.Kinds())
	if err := c.LoadFirst(ctx, engine.ReadSparingly); err != nil {
		return err
	}
	var report catalog.Report
	reload := engine.NewReloader(engine.Folders{Pipelines: []string{filepath.Join(dir, "pipelines")}},
		func(ctx context.Context, f catalog.Files, now time.Time) (err error) {
			report, err = c.Apply(ctx, f, now)
			return err
		}, func(error) {})
	if err := reload.Load(ctx, scaleStart); err != nil {
		return err
	}
	engine.SpareMemory(len(c.Current().All()))
	found.Start = time.Since(began)
	parts := controller.New(controller.Parts{
		Store: db, Catalog: c, Now: func() time.Time { return scaleStart.Add(5 * time.Minute) }, Watchdog: watchdog.Deps{Interval: time.Minute},
	})
	if len(report.Accepted) > 0 { // this is the first process
		if err := settleIn(ctx, db, parts); err != nil {
			return err
		}
	}
	if found.Pass, err = passes(ctx, parts); err != nil {
		return err
	}
	if found.Resident, err = resident(); err != nil {
		return err
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(reload) // the server keeps it to watch the files
	return json.NewEncoder(os.Stdout).Encode(found)
}

// settleIn does the engine's work after a first start: it arms deadlines and consumes the changes.
func settleIn(ctx context.Context, db *sqlite.Store, c *controller.Controller) error {
	claims, err := db.Claim(ctx, store.ClaimQuery{Limit: math.MaxInt, Lease: time.Hour}, scaleStart)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		if e := c.Catalog.Current().Get(claim.Task.Pipeline); claim.Task.Kind != store.Arm || e.SLA.Deadline == nil {
			continue
		}
		if err := c.Monitor.Arm(ctx, claim, scaleStart); err != nil {
			return err
		}
	}
	if err := db.VoidLeases(ctx); err != nil {
		return err
	}
	for {
		n, _, err := db.Backlog(ctx, controller.Group)
		if n == 0 || err != nil {
			return err
		}
		changes, err := db.Receive(ctx, controller.Group, "bench", store.MaxPage)
		if err != nil {
			return err
		}
		if err := db.Done(ctx, controller.Group, changes); err != nil {
			return err
		}
	}
}

// passes returns the best time of several watchdog passes, a few minutes after the start. No pass
// may find anything. With few pipelines, several passes are timed together so that they check the
// same number of pipelines in total: both times are then long enough to include their share of
// garbage collection and noise.
func passes(ctx context.Context, c *controller.Controller) (time.Duration, error) {
	together := max(1, scaleMany/len(c.Catalog.Current().All()))
	best := time.Duration(1 << 62)
	for range scalePasses {
		began := time.Now()
		for range together {
			if err := passInVain(ctx, c); err != nil {
				return 0, err
			}
		}
		best = min(best, time.Since(began)/time.Duration(together))
	}
	return best, nil
}

// passInVain runs one pass, which must find nothing.
func passInVain(ctx context.Context, c *controller.Controller) error {
	report, err := c.Watch(ctx)
	if err != nil {
		return err
	}
	for check, n := range report.Findings {
		if n > 0 {
			return fmt.Errorf("the watchdog found %d %s, want none", n, check)
		}
	}
	return nil
}

// resident returns the resident memory of this process in bytes.
func resident() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
