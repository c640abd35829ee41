package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const runByName = "SELECT body FROM runs WHERE run = ?"

// Run gives one run.
func (s *Store) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return named(look(ctx, s, s.runs, key, runByName, key.String()))("run %s", key)
}

// DryRun gives one dry run.
func (s *Store) DryRun(ctx context.Context, key run.Key) (run.Run, error) {
	return named(find[run.Run](ctx, s, "SELECT body FROM dry_runs WHERE run = ?", key.String()))("dry run %s", key)
}

// named says which record an error is about.
func named[T any](record T, err error) func(format string, args ...any) (T, error) {
	return func(format string, args ...any) (T, error) {
		if err != nil {
			err = fmt.Errorf("read "+format+": %w", append(args, err)...)
		}
		return record, err
	}
}

// Runs pages by key.
func (s *Store) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	var w where
	if q.Pipeline != "" {
		w.and("pipeline = ?", string(q.Pipeline))
	}
	from := "runs"
	switch {
	case q.Status == "":
	case q.Status.Open():
		from = "runs INDEXED BY runs_open"
		w.and("open = 1 AND status = ?", string(q.Status))
	case q.Status == run.Completed:
		w.and("status = ?", string(q.Status)) // most are: wherever one looks, there is one near
	default:
		from = "runs INDEXED BY runs_ended_badly"
		w.and("open = 0 AND status <> 'COMPLETED' AND status = ?", string(q.Status))
	}
	if !q.Period.IsZero() {
		w.and("slot = ?", store.PeriodKey(q.Period))
	}
	if !q.From.IsZero() {
		w.and("slot >= ?", store.PeriodKey(q.From))
	}
	if !q.To.IsZero() {
		w.and("slot <= ?", store.PeriodKey(q.To))
	}
	if q.Cursor != "" {
		after, err := store.AfterRun(q.Cursor)
		if err != nil {
			return store.Page[run.Run]{}, err
		}
		slot := store.PeriodKey(after.Period)
		w.and("slot <= ? AND (slot < ? OR (pipeline, schedule) > (?, ?))", slot, slot, string(after.Pipeline), string(after.Schedule))
	}
	found, err := list[run.Run](ctx, s, "SELECT body FROM "+from+w.text+" ORDER BY slot DESC, pipeline, schedule"+upTo,
		append(w.args, store.PageSize(q.Limit)+1)...)
	if err != nil {
		return store.Page[run.Run]{}, fmt.Errorf("list runs: %w", err)
	}
	return paged(found, q.Limit, store.RunCursor), nil
}

// OpenRuns reads an index that holds the open ones alone, which SQLite would not choose by itself.
func (s *Store) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	if id == "" {
		return named(list[run.Run](ctx, s, "SELECT body FROM runs INDEXED BY runs_open WHERE open = 1 ORDER BY slot, pipeline, schedule"))("open runs")
	}
	return named(list[run.Run](ctx, s, "SELECT body FROM runs INDEXED BY runs_open WHERE open = 1 AND pipeline = ? ORDER BY slot, schedule",
		string(id)))("open runs of %s", id)
}

// RunsAt reads in one go what is not held.
func (s *Store) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	held, err := s.runsHeld(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	found := make(map[run.Key]run.Run, len(keys))
	for key, r := range held {
		one, err := r.give()
		switch {
		case err == nil:
			found[key] = one
		case !errors.Is(err, store.ErrNotFound):
			return nil, fmt.Errorf("read runs: %w", err)
		}
	}
	return found, s.ready(ctx)
}

// runsHeld gives a record for each key, or that there is none.
func (s *Store) runsHeld(ctx context.Context, keys []run.Key) (map[run.Key]*remembered[run.Run], error) {
	held := make(map[run.Key]*remembered[run.Run], len(keys))
	var missed []run.Key
	var writes int64
	for _, key := range keys {
		if held[key], writes = s.runs.get(key); held[key] == nil {
			missed = append(missed, key)
		}
	}
	if len(missed) == 0 {
		return held, s.ready(ctx)
	}
	bodies, err := s.runBodies(ctx, missed)
	if err != nil {
		return nil, err
	}
	for _, key := range missed {
		held[key] = s.runs.read(key, bodies[key.String()], writes)
	}
	return held, nil
}

const (
	runsByName = "SELECT run, body FROM runs WHERE run" + among
	oneByName  = "SELECT run, body FROM runs WHERE run = ?" // half the work, where there is but one
)

// runBodies reads runs as they are stored, by name.
func (s *Store) runBodies(ctx context.Context, keys []run.Key) (map[string]string, error) {
	query, names := oneByName, keys[0].String()
	if len(keys) > 1 {
		var err error
		query = runsByName
		if names, err = namesOf(keys); err != nil {
			return nil, err
		}
	}
	bodies := make(map[string]string, len(keys))
	err := s.read(ctx, func(c *conn) error {
		return c.query(query, func(r row) error {
			bodies[r.text(0)] = r.text(1)
			return nil
		}, names)
	})
	return bodies, err
}
