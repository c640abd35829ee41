package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

const (
	timelineTries = 5
	timelineLimit = 3.0
)

// timeRange is the time range of a timeline.
type timeRange struct{ from, to time.Time }

// span returns the time range for which the lanes have history.
func (l lanes) span(now time.Time) timeRange {
	if l.days == 0 {
		return timeRange{now.Add(-48 * time.Hour), now}
	}
	return timeRange{now.Add(-time.Duration(l.days) * 24 * time.Hour), now}
}

// timelineRow compares how long the API takes to return a timeline, all pages, with how long the
// store takes to read its runs and deadlines.
func timelineRow(l lanes) (_ row, err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(l.dir, "interlock-data"), sqlite.Options{})
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := catalog.New(s, all.Kinds())
	at := l.span(time.Now().UTC())
	if err := l.applyFiles(ctx, c, at.from); err != nil {
		return row{}, err
	}
	handler := api.New(api.Deps{Store: s, Catalog: c, Now: time.Now, Settings: api.Settings{Loopback: true}, Logger: slog.New(slog.DiscardHandler)})
	defer handler.Close()
	var answers, queries []time.Duration
	size, runs := 0, 0
	for range timelineTries {
		began := time.Now()
		if runs, err = l.bareTimeline(ctx, s, at); err != nil {
			return row{}, err
		}
		queries = append(queries, time.Since(began))
		began = time.Now()
		shown := 0
		if size, shown, err = readTimeline(handler, at); err != nil {
			return row{}, err
		}
		answers = append(answers, time.Since(began))
		if shown < runs-2*l.count { // the first and the last run of a lane may lie outside
			return row{}, fmt.Errorf("the timeline of %s shows %d of %d runs", l, shown, runs)
		}
	}
	answer, query := slices.Min(answers), slices.Min(queries)
	ratio := float64(answer) / float64(query)
	return row{
		name: fmt.Sprintf("timeline of %s, answer / bare query", l), ratio: ratio, limit: timelineLimit, failed: ratio > timelineLimit,
		detail: fmt.Sprintf("%s and %s, %d runs, %.1f MB", round(answer), round(query), runs, float64(size)/(1<<20)),
	}, nil
}

// readTimeline reads all pages and returns their total bytes and number of completed runs.
func readTimeline(handler http.Handler, at timeRange) (size, completed int, err error) {
	q := url.Values{"limit": {"500"}, "from": {at.from.Format(time.RFC3339)}, "to": {at.to.Format(time.RFC3339)}}
	for {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/timeline?"+q.Encode(), nil)
		r.Host = "127.0.0.1"
		handler.ServeHTTP(w, r)
		size += w.Body.Len()
		var page struct {
			Items []struct {
				Counts map[string]int `json:"counts"`
			} `json:"items"`
			NextCursor string `json:"nextCursor"`
		}
		if w.Code != http.StatusOK {
			return size, completed, fmt.Errorf("get the timeline: status %d: %s", w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			return size, completed, err
		}
		for _, lane := range page.Items {
			completed += lane.Counts["completed"]
		}
		if page.NextCursor == "" {
			return size, completed, nil
		}
		q.Set("cursor", page.NextCursor)
	}
}

func (l lanes) applyFiles(ctx context.Context, c *catalog.Catalog, at time.Time) error {
	var files catalog.Files
	for i := 1; i <= l.count; i++ {
		text, err := os.ReadFile(l.name(i))
		if err != nil {
			return err
		}
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: l.name(i), Data: text})
	}
	_, err := c.Apply(ctx, files, at)
	return err
}

// bareTimeline reads only the rows that a timeline consists of. It returns the number of runs.
func (l lanes) bareTimeline(ctx context.Context, s store.Store, at timeRange) (runs int, err error) {
	for i := 1; i <= l.count; i++ {
		id := pipeline.ID(fmt.Sprintf("lane%d", i))
		q := store.RunQuery{Pipeline: id, From: period.At(at.from, period.Day, time.UTC), To: period.At(at.to, period.Minute, time.UTC), Limit: store.MaxPage}
		for more := true; more; more = q.Cursor != "" {
			page, err := s.Runs(ctx, q)
			if err != nil {
				return runs, err
			}
			runs, q.Cursor = runs+len(page.Items), page.Next
		}
		due := store.DeadlineQuery{Pipeline: id, From: at.from.Add(-24 * time.Hour), To: at.to.Add(48 * time.Hour), Limit: store.MaxPage}
		for more := true; more; more = due.Cursor != "" {
			page, err := s.Deadlines(ctx, due)
			if err != nil {
				return runs, err
			}
			due.Cursor = page.Next
		}
	}
	return runs, nil
}
