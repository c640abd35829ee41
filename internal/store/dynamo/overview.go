package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Written names the writes of all sensors from an instant on, and says when each was; false if there are more than most. It reads
// nothing but an index, which follows a moment later.
func (s *Store) Written(ctx context.Context, from time.Time, most int) (map[store.WriteID]time.Time, bool, error) {
	found := map[store.WriteID]time.Time{}
	whole, err := s.overview(ctx, Control, "HISTORY", from, most, func(row Row) error {
		id, err := writeID(row)
		if err != nil {
			return err
		}
		found[id], err = agedAt(row)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("list what was written: %w", err)
	}
	return found, whole, nil
}

// Completed names the runs whose jobs succeeded from an instant on, each with the last attempt that did, in the same way. It is the
// job log that tells: the commit that completes a run appends to it.
func (s *Store) Completed(ctx context.Context, from time.Time, most int) (map[run.Key]int, bool, error) {
	found := map[run.Key]int{}
	whole, err := s.overview(ctx, JobLog, "LOG", from, most, func(row Row) error {
		key, attempt, event, err := jobOf(row)
		if err == nil && event == store.JobSuccess {
			found[key] = max(found[key], attempt)
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("list what has completed: %w", err)
	}
	return found, whole, nil
}

// overview goes through the keys of what is listed by its age.
func (s *Store) overview(ctx context.Context, table, kind string, from time.Time, most int, look func(Row) error) (whole bool, err error) {
	rows, _, err := s.query(ctx, span{table: table, index: aging, hash: kind, low: store.Nanos(from), high: last}, most+1)
	if err != nil || len(rows) > most {
		return false, err
	}
	for _, row := range rows {
		if err := look(row); err != nil {
			return false, fmt.Errorf("read key %s %s: %w", row.text("PK"), row.text("SK"), err)
		}
	}
	return true, nil
}

// agedAt is the instant that a row is listed by.
func agedAt(row Row) (time.Time, error) {
	at, _, _ := strings.Cut(row.text("agedAt"), "#")
	return store.FromNanos(at)
}

// owner is the pipeline whose partition a row is in.
func owner(row Row) pipeline.ID {
	return pipeline.ID(strings.TrimPrefix(row.text("PK"), pipelinePrefix))
}

// writeID reads the key of a write, HISTORY#{key}#{version}.
func writeID(row Row) (store.WriteID, error) {
	sk := strings.TrimPrefix(row.text("SK"), historyPrefix)
	end := strings.LastIndex(sk, "#")
	version, err := strconv.ParseInt(sk[end+1:], 10, 64)
	return store.WriteID{Pipeline: owner(row), Key: sensor.Key(sk[:max(end, 0)]), Version: version}, err
}

// jobOf reads the key of an entry of the job log, JOB#{schedule}#{date}#{attempt}#{event}#{try}.
func jobOf(row Row) (run.Key, int, store.JobEvent, error) {
	parts := strings.Split(strings.TrimPrefix(row.text("SK"), jobPrefix), "#")
	if len(parts) != 5 {
		return run.Key{}, 0, "", fmt.Errorf("it has %d parts instead of 5", len(parts))
	}
	p, err := period.Parse(parts[1])
	if err != nil {
		return run.Key{}, 0, "", err
	}
	attempt, err := strconv.Atoi(parts[2])
	return run.Key{Pipeline: owner(row), Schedule: pipeline.ScheduleID(parts[0]), Period: p}, attempt, store.JobEvent(parts[3]), err
}
