package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/dashboard"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
	"github.com/interlock-go/interlock/web"
)

const (
	bundleLimit   = 250.0 // KB, packed
	timelineLanes = 500
	timelineHours = 48
	timelineTries = 7
	timelineLimit = 3.0
	tracePatience = 3 * time.Minute
)

// dashboardRows measures what it takes to show the dashboard: how much travels on the first visit, how long the answer of
// 500 lanes with 48 periods each takes beside the queries it is made of, and how busy a real browser is with it.
func dashboardRows() ([]row, error) {
	bundle, err := bundleRow()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeLanes(dir); err != nil {
		return nil, err
	}
	timeline, err := timelineRow(dir)
	if err != nil {
		return nil, err
	}
	traced, err := traceRows(dir)
	return append([]row{bundle, timeline}, traced...), err
}

// bundleRow asks for everything that the page names, as a browser does.
func bundleRow() (row, error) {
	files := web.Files()
	handler, err := dashboard.New(files)
	if err != nil {
		return row{}, err
	}
	paths := []string{"/"}
	err = fs.WalkDir(files, "assets", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, "/"+path)
		}
		return err
	})
	size := 0
	for _, path := range paths {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		handler.ServeHTTP(w, r)
		size += w.Body.Len()
	}
	kb := float64(size) / 1024
	return row{
		name: "dashboard, KB of the first visit", ratio: kb, limit: bundleLimit, failed: kb > bundleLimit,
		detail: fmt.Sprintf("%d files, packed", len(paths)),
	}, err
}

// writeLanes makes a directory to serve: 500 files, and the past of 48 hours.
func writeLanes(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "pipelines"), 0o755); err != nil {
		return err
	}
	for i := range timelineLanes {
		text := fmt.Sprintf("pipeline: {id: lane%d, owner: bench}\nschedule: {cron: \"5 * * * *\", offset: -1}\nsla: {deadline: \":30\"}\n", i+1)
		if err := os.WriteFile(filepath.Join(dir, "pipelines", fmt.Sprintf("lane%d.yaml", i+1)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	seed := filepath.Join(dir, "seed")
	for _, args := range [][]string{
		{"go", "build", "-o", seed, "./internal/dashboard/seed"},
		{seed, "-data", filepath.Join(dir, "interlock-data"), "-lanes", fmt.Sprint(timelineLanes)},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	return nil
}

// timelineRow compares the answer, down to its last byte, with reading its runs and deadlines from the store.
func timelineRow(dir string) (_ row, err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "interlock-data"), sqlite.Options{})
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := catalog.New(s, all.Kinds())
	to := time.Now().UTC()
	from := to.Add(-timelineHours * time.Hour)
	if err := putInForce(ctx, c, dir, from); err != nil {
		return row{}, err
	}
	handler := api.New(api.Deps{Store: s, Catalog: c, Now: time.Now, Settings: api.Settings{Loopback: true}, Logger: slog.New(slog.DiscardHandler)})
	defer handler.Close()
	path := fmt.Sprintf("/api/v1/timeline?limit=500&from=%s&to=%s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	var answers, queries []time.Duration
	size := 0
	for range timelineTries {
		began := time.Now()
		if err := bareTimeline(ctx, s, from, to); err != nil {
			return row{}, err
		}
		queries = append(queries, time.Since(began))
		began = time.Now()
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1"
		handler.ServeHTTP(w, r)
		answers = append(answers, time.Since(began))
		if size = w.Body.Len(); w.Code != http.StatusOK || bytes.Count(w.Body.Bytes(), []byte(`"MET"`)) < timelineLanes*(timelineHours-2) {
			return row{}, fmt.Errorf("the timeline is not whole: %d, %d bytes", w.Code, size)
		}
	}
	answer, query := slices.Min(answers), slices.Min(queries)
	ratio := float64(answer) / float64(query)
	return row{
		name: "timeline, answer / bare query", ratio: ratio, limit: timelineLimit, failed: ratio > timelineLimit,
		detail: fmt.Sprintf("%s and %s, %d × %d, %.1f MB", round(answer), round(query), timelineLanes, timelineHours, float64(size)/(1<<20)),
	}, nil
}

func putInForce(ctx context.Context, c *catalog.Catalog, dir string, at time.Time) error {
	var files catalog.Files
	for i := range timelineLanes {
		name := filepath.Join(dir, "pipelines", fmt.Sprintf("lane%d.yaml", i+1))
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: name, Data: text})
	}
	_, err := c.Apply(ctx, files, at)
	return err
}

// bareTimeline reads what a timeline is made of, and nothing more.
func bareTimeline(ctx context.Context, s store.Store, from, to time.Time) error {
	for i := range timelineLanes {
		id := pipeline.ID(fmt.Sprintf("lane%d", i+1))
		q := store.RunQuery{Pipeline: id, From: period.At(from, period.Day, time.UTC), To: period.At(to, period.Minute, time.UTC), Limit: timelineLanes}
		if _, err := s.Runs(ctx, q); err != nil {
			return err
		}
		if _, err := s.Deadlines(ctx, store.DeadlineQuery{Pipeline: id, From: from.Add(-24 * time.Hour), To: to.Add(48 * time.Hour), Limit: store.MaxPage}); err != nil {
			return err
		}
	}
	return nil
}

// traced is what a browser was busy with, in milliseconds.
type traced struct {
	Interactive float64 // scripting until the first cells can be used
	Frame       float64 // scripting of a frame while it scrolls, the median
	Slowest     float64 // of 19 frames in 20
	Frames      int
}

// traceRows has Chromium trace the page. Without a browser, Node or the page's packages there is nothing to measure.
func traceRows(dir string) ([]row, error) {
	binary, err := build(dir)
	if err != nil {
		return nil, err
	}
	s, err := start(binary, dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "web/browser/trace.mjs", "http://"+s.address)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, failed := cmd.Output()
	if err := s.stop(); err != nil {
		return nil, err
	}
	if failed != nil {
		first, _, _ := bytes.Cut(bytes.TrimSpace(said.Bytes()), []byte("\n"))
		return []row{{name: "timeline in Chromium", reported: true, detail: fmt.Sprintf("not measured: %s; it needs node, chromium and `npm install` in web (%s)", failed, first)}}, nil
	}
	var t traced
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&t); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return []row{
		{name: "timeline in Chromium, ms of scripting to interactive", ratio: t.Interactive, reported: true, detail: fmt.Sprintf("%d × %d cells", timelineLanes, timelineHours)},
		{name: "timeline in Chromium, ms of scripting per scroll frame", ratio: t.Frame, reported: true, detail: fmt.Sprintf("the median of %d frames; 19 of 20 within %.1f", t.Frames, t.Slowest)},
	}, nil
}
