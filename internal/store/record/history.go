package record

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// writes deletes old writes that no gate needs.
func (t *trim) writes(ctx context.Context) error {
	if t.keep.History <= 0 {
		return nil
	}
	cutoff := t.now.Add(-t.keep.History)
	for _, list := range []string{listHistory, listKept} {
		err := t.aged(ctx, History, list, cutoff, func(rows []row.Row) (bool, error) {
			return true, t.oldWrites(ctx, rows, cutoff)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldWrite is a write with its row.
type oldWrite struct {
	*reading
	row     row.Row
	current bool // it is the current reading of its period
}

func (t *trim) oldWrites(ctx context.Context, rows []row.Row, cutoff time.Time) error {
	old, err := t.readWrites(ctx, rows)
	if err != nil {
		return err
	}
	if t.open == nil {
		if t.open, err = t.openPeriods(ctx); err != nil {
			return err
		}
	}
	newest, err := t.newestOf(ctx, old)
	if err != nil {
		return err
	}
	var replaced []row.Row
	var gone []oldWrite
	var kept [][]row.Op
	for _, w := range old {
		over := store.AgesFrom(w.UpdatedAt, w.Period)
		switch {
		case !w.current:
			replaced = append(replaced, w.row)
		case !over.Before(cutoff):
			kept = append(kept, keepUntil(w.row, listKept, over))
		case w.Period.IsZero() || newest[refSensor(w.pipeline, w.Key)] == w.Version:
			kept = append(kept, keepUntil(w.row, listKept, cutoff.Add(t.again(over))))
		case !t.open.Touch(w.Period):
			gone = append(gone, w)
		}
	}
	if _, err := t.apply(ctx, kept); err != nil {
		return err
	}
	if err := t.drop(ctx, replaced); err != nil {
		return err
	}
	return t.dropCurrent(ctx, gone)
}

// readWrites decodes history rows, and determines which of them are current.
func (t *trim) readWrites(ctx context.Context, rows []row.Row) ([]oldWrite, error) {
	old, refs := make([]oldWrite, len(rows)), make([]row.Ref, len(rows))
	for i, r := range rows {
		read, err := readingOf(r)
		if err != nil {
			return nil, err
		}
		old[i], refs[i] = oldWrite{reading: read, row: r}, read.ref()
	}
	current, err := t.engine.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i, r := range current {
		old[i].current = r.Version == old[i].Version
	}
	return old, nil
}

// newestOf returns the version of the newest write of each key that has a current write among old.
func (t *trim) newestOf(ctx context.Context, old []oldWrite) (map[row.Ref]int64, error) {
	newest := map[row.Ref]int64{}
	for _, w := range old {
		if w.current {
			newest[refSensor(w.pipeline, w.Key)] = 0
		}
	}
	rows, err := t.newest(ctx, slices.Collect(maps.Keys(newest)))
	if err != nil {
		return nil, err
	}
	last, err := readRows(rows, readingOf)
	for _, r := range last {
		newest[refSensor(r.pipeline, r.Key)] = r.Version
	}
	return newest, err
}

// dropCurrent deletes current readings with their writes. If a run that opened meanwhile needs one
// of them, it is restored.
func (t *trim) dropCurrent(ctx context.Context, old []oldWrite) error {
	old = old[:min(len(old), t.left)]
	deletions := make([][]row.Op, len(old))
	for i, w := range old {
		deletions[i] = []row.Op{
			{Do: row.Delete, If: w.Version, Row: row.Row{Ref: w.ref()}},
			{Do: row.Delete, If: row.Any, Row: row.Row{Ref: w.row.Ref}},
		}
	}
	applied, err := t.apply(ctx, deletions)
	if err != nil {
		return err
	}
	var gone []oldWrite
	for _, i := range applied {
		gone = append(gone, old[i])
	}
	t.left -= len(gone)
	if len(gone) == 0 {
		return nil
	}
	if t.open, err = t.openPeriods(ctx); err != nil {
		return err
	}
	for _, w := range gone {
		if !t.open.Touch(w.Period) {
			continue
		}
		t.left++
		current := row.Row{Ref: w.ref(), Version: w.Version, Body: w.row.Body}
		err := t.engine.Apply(ctx, row.Tx{Ops: []row.Op{{If: 0, Row: current}, {If: row.First, Row: w.row}}}, t.now)
		if err != nil && !isConflict(err) {
			return err
		}
	}
	return nil
}

// openPeriods returns the periods of all open runs, of every pipeline: a gate may read another
// pipeline's sensors.
func (t *trim) openPeriods(ctx context.Context) (*store.Periods, error) {
	rows, err := t.scanAll(ctx, []row.Range{
		{Kind: Runs, Index: row.Pending, List: listOpen, Names: true}, {Kind: DryRuns, Index: row.Pending, List: listDry, Names: true},
	})
	if err != nil {
		return nil, err
	}
	open := &store.Periods{}
	for _, r := range slices.Concat(rows...) {
		key, err := run.ParseKey(r.Part + "/" + r.Key)
		if err != nil {
			return nil, fmt.Errorf("read name %s: %w", r.Ref, err)
		}
		open.Add(key.Period)
	}
	return open, nil
}
