package record

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Written returns the ids of the writes of all sensors since an instant, with their times; false if
// there are more than most. It reads keys only.
func (s *Store) Written(ctx context.Context, from time.Time, most int) (map[store.WriteID]time.Time, bool, error) {
	rows, whole, err := s.names(ctx, History, listHistory, from, most)
	if err != nil {
		return nil, false, fmt.Errorf("list writes: %w", err)
	}
	found := map[store.WriteID]time.Time{}
	for _, r := range rows {
		end := strings.LastIndex(r.Key, "#")
		version, err := strconv.ParseInt(r.Key[end+1:], 10, 64)
		if err != nil {
			return nil, false, fmt.Errorf("read name %s: %w", r.Ref, err)
		}
		id := store.WriteID{Pipeline: pipeline.ID(r.Part), Key: sensor.Key(r.Key[:max(end, 0)]), Version: version}
		at, _, _ := strings.Cut(r.Places[row.Aging].Key, "#")
		if found[id], err = store.FromNanos(at); err != nil {
			return nil, false, fmt.Errorf("read name %s: %w", r.Ref, err)
		}
	}
	return found, whole, nil
}

// Completed returns the runs whose jobs succeeded since an instant, each with its last successful
// attempt; false if the job logs have more than most entries. It reads keys only.
func (s *Store) Completed(ctx context.Context, from time.Time, most int) (map[run.Key]int, bool, error) {
	rows, whole, err := s.names(ctx, RunLog, listRunLogs, from, most)
	if err != nil {
		return nil, false, fmt.Errorf("list completed runs: %w", err)
	}
	found := map[run.Key]int{}
	for _, r := range rows {
		parts := strings.Split(r.Key, "/") // schedule, date, attempt, event, try
		if len(parts) != 5 || store.JobEvent(parts[3]) != store.JobSuccess {
			continue
		}
		key, err := run.ParseKey(r.Part + "/" + parts[0] + "/" + parts[1])
		if err != nil {
			return nil, false, fmt.Errorf("read name %s: %w", r.Ref, err)
		}
		attempt, err := strconv.Atoi(parts[2])
		if err != nil {
			return nil, false, fmt.Errorf("read name %s: %w", r.Ref, err)
		}
		found[key] = max(found[key], attempt)
	}
	return found, whole, nil
}

// names lists rows by age since an instant, keys only; false if there are more than most.
func (s *Store) names(ctx context.Context, kind row.Kind, list string, from time.Time, most int) ([]row.Row, bool, error) {
	page, err := s.scan(ctx, row.Range{
		Kind: kind, Index: row.Aging, List: list, From: store.Nanos(from), Limit: most + 1, Names: true,
	})
	if err != nil || len(page.Rows) > most {
		return nil, false, err
	}
	return page.Rows, true, nil
}
