package dynamo

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Run gives one run.
func (s *Store) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return find[run.Run](ctx, s, runAt(key), "run "+key.String())
}

// DryRun gives one dry run.
func (s *Store) DryRun(ctx context.Context, key run.Key) (run.Run, error) {
	return find[run.Run](ctx, s, dryRunAt(key), "dry run "+key.String())
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
	name, all, ofOne := "RUN", listed, ordered
	if store.Apart(q.Status) {
		name, all, ofOne = endedAs(q.Status), pending, unfinished
	}
	after := ""
	if q.Cursor != "" {
		after = runPlace(name, last)
	}
	l := list{table: Control, index: all, hash: name}
	if q.Pipeline != "" {
		l = list{table: Control, index: ofOne, hash: partition(q.Pipeline), prefix: name + "#"}
	}
	if latest := q.Latest(); !latest.IsZero() {
		l.from = join(name, store.LatestFirst(latest))
	}
	read := records[run.Run](ctx, s, l)
	page, err := store.PageOf(q.Limit, after, func(after string, limit int) ([]run.Run, string, error) {
		items, end, err := read(after, limit)
		return q.Until(items), end, err // fewer than asked for: that was the end
	}, q.Wants, store.RunCursor)
	if err != nil {
		return page, fmt.Errorf("list runs: %w", err)
	}
	return page, nil
}

// OpenRuns reads the list of the open ones; that of one pipeline consistently.
func (s *Store) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	l := list{table: Control, index: pending, hash: "RUN"}
	if id != "" {
		l = list{table: Control, index: unfinished, hash: partition(id), prefix: "RUN#"}
	}
	all, err := everyRecord[run.Run](ctx, s, l)
	if err != nil {
		return nil, fmt.Errorf("list open runs: %w", err)
	}
	var open []run.Run
	for _, r := range all {
		if r.Status.Open() { // the list may be behind
			open = append(open, r)
		}
	}
	return open, nil
}

// RunsAt looks each key up.
func (s *Store) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	var at []address
	for _, key := range keys {
		at = append(at, runAt(key))
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	found := map[run.Key]run.Run{}
	for _, row := range rows {
		r, err := decode[run.Run](row)
		if err != nil {
			return nil, err
		}
		found[r.Key] = r
	}
	return found, nil
}
