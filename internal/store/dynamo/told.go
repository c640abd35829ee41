package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// JobLogs gives the logs of runs. What a producer wrote there is not part of them: a controller that hears of it appends its own.
func (s *Store) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	all, err := toldOf(ctx, s, JobLog, jobPrefix, keys, func(e store.JobEntry) time.Time { return e.At })
	if err != nil {
		return nil, fmt.Errorf("read job logs: %w", err)
	}
	return all, nil
}

// Reruns gives the requests for runs.
func (s *Store) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	all, err := toldOf(ctx, s, Rerun, rerunPrefix, keys, func(r store.Rerun) time.Time { return r.At })
	if err != nil {
		return nil, fmt.Errorf("read reruns: %w", err)
	}
	return all, nil
}

// toldOf reads the entries of runs, one query for each: how many there are of a run is known to its rows alone.
func toldOf[T any](ctx context.Context, s *Store, table, prefix string, keys []run.Key, at func(T) time.Time) (map[run.Key][]T, error) {
	found := map[run.Key][]T{}
	for _, key := range keys {
		if found[key] != nil {
			continue
		}
		of := ofRun(prefix, key, "")
		entries, err := told(ctx, s, under(table, of.pk, of.sk), at)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			found[key] = entries
		}
	}
	return found, s.open()
}

// told reads entries of a run, those of one instant as they were appended.
func told[T any](ctx context.Context, s *Store, of span, at func(T) time.Time) ([]T, error) {
	rows, err := s.all(ctx, of)
	if err != nil {
		return nil, err
	}
	type entry struct {
		ticket int64
		item   T
	}
	var all []entry
	for _, row := range rows {
		if row["json"] == nil {
			continue
		}
		item, err := decode[T](row)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{row.number("ticket"), item})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(at(a.item).Compare(at(b.item)), cmp.Compare(a.ticket, b.ticket)) })
	var out []T
	for _, e := range all {
		out = append(out, e.item)
	}
	return out, nil
}
