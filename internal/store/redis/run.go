package redis

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Run gives one run.
func (s *Store) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return named(find[run.Run](ctx, s, "run", key.String()))("run %s", key)
}

// DryRun gives one dry run.
func (s *Store) DryRun(ctx context.Context, key run.Key) (run.Run, error) {
	return named(find[run.Run](ctx, s, "dry", key.String()))("dry run %s", key)
}

// Runs pages by key. The list begins at the latest period that is wanted and ends after the earliest. Statuses that few
// runs have do not need the list of all.
func (s *Store) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	if q.Status.Open() {
		open, err := s.OpenRuns(ctx, q.Pipeline)
		if err != nil {
			return store.Page[run.Run]{}, err
		}
		return q.Page(open)
	}
	last, err := store.AfterRun(q.Cursor)
	if err != nil {
		return store.Page[run.Run]{}, err
	}
	after := ""
	if latest := q.Latest(); q.Cursor != "" {
		after = listedRun(last)
	} else if !latest.IsZero() {
		after = store.LatestFirst(latest) // no member is as short, so all of that period come after it
	}
	set := "runs"
	if store.Apart(q.Status) {
		set = "ended:" + string(q.Status)
	}
	if q.Pipeline != "" {
		set += ":" + string(q.Pipeline)
	}
	read := listPiece[run.Run](ctx, s, sorted{set: set, wide: store.Width, records: "run:"})
	page, err := store.PageOf(q.Limit, after, func(after string, limit int) ([]run.Run, string, error) {
		items, last, err := read(after, limit)
		return q.Until(items), last, err // fewer than asked for: that was the end
	}, q.Wants, store.RunCursor)
	return named(page, err)("runs")
}

// OpenRuns reads the list of the open ones.
func (s *Store) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	set := "open"
	if id != "" {
		set += ":" + string(id)
	}
	read := listPiece[run.Run](ctx, s, sorted{set: set, wide: store.Width, records: "run:"})
	var all []run.Run
	for after := ""; ; {
		items, last, err := read(after, store.MaxPage)
		if err != nil {
			return nil, fmt.Errorf("list open runs: %w", err)
		}
		for _, r := range items {
			if r.Status.Open() {
				all = append(all, r)
			}
		}
		if len(items) < store.MaxPage {
			return all, nil
		}
		after = last
	}
}

// RunsAt looks each key up.
func (s *Store) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = "run:" + key.String()
	}
	all, err := records[run.Run](ctx, s, names)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	found := map[run.Key]run.Run{}
	for _, r := range all {
		found[r.Key] = r
	}
	return found, nil
}
