package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// keptAgain is the least time before Trim examines a kept record again.
const keptAgain = 24 * time.Hour

// again returns when Trim examines a record that it keeps now: when the record is twice as old. So
// what Trim costs in a day does not grow with what it has kept.
func (t *trim) again(since time.Time) time.Duration { return max(keptAgain, t.now.Sub(since)) }

// blocked is how many old events that a cursor has not passed Trim reads before it stops.
const blocked = 1000

// trim is the state of one Trim call.
type trim struct {
	*Store
	keep store.Retention
	now  time.Time
	left int
	open *store.Periods // periods of open runs; nil until read
}

// Trim applies the retention of one kind of record after another, until it has deleted MaxTrim
// rows.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error) {
	t := &trim{Store: s, keep: keep, now: now, left: store.MaxTrim}
	for _, forget := range []func(context.Context) error{t.engines, t.events, t.logs, t.expired, t.writes} {
		if t.left == 0 {
			break
		}
		if err := forget(ctx); err != nil {
			return store.MaxTrim - t.left, fmt.Errorf("trim the store: %w", err)
		}
	}
	return store.MaxTrim - t.left, nil
}

// engines deletes the engine's own expired data.
func (t *trim) engines(ctx context.Context) error {
	n, err := t.engine.Trim(ctx, t.now, t.left)
	t.left -= n
	return err
}

// drop deletes rows.
func (t *trim) drop(ctx context.Context, rows []row.Row) error {
	if len(rows) == 0 {
		return nil
	}
	n, err := t.engine.Drop(ctx, rows)
	t.left -= n
	return err
}

// aged passes the rows of a list from before an instant to forget, oldest first, as long as it
// returns true.
func (t *trim) aged(ctx context.Context, kind row.Kind, list string, before time.Time, forget func([]row.Row) (bool, error)) error {
	r := row.Range{Kind: kind, Index: row.Aging, List: list, To: store.Nanos(before)}
	for t.left > 0 {
		r.Limit = min(t.left, store.MaxPage)
		page, err := t.scan(ctx, r)
		if err != nil || len(page.Rows) == 0 {
			return err
		}
		if more, err := forget(page.Rows); err != nil || !more || !page.More {
			return err
		}
		r = after(r, page.Rows[len(page.Rows)-1])
	}
	return nil
}

// passed returns the key of the last event that every cursor has passed.
func (s *Store) passed(ctx context.Context) (string, error) {
	cursors, err := s.all(ctx, row.Range{Kind: Cursors})
	if err != nil {
		return "", err
	}
	passed := int64(1) << 62
	for _, c := range cursors {
		at, err := strconv.ParseInt(string(c.Body), 10, 64)
		if err != nil {
			return "", fmt.Errorf("read cursor %s: %w", c.Key, err)
		}
		passed = min(passed, at)
	}
	return row.Digits(max(passed, 0)), nil
}

// events deletes old events that every cursor has passed.
func (t *trim) events(ctx context.Context) error {
	if t.keep.Events <= 0 {
		return nil
	}
	passed, err := t.passed(ctx)
	if err != nil {
		return err
	}
	waiting := 0
	return t.aged(ctx, row.Events, listEvents, t.now.Add(-t.keep.Events), func(rows []row.Row) (bool, error) {
		var old []row.Row
		for _, r := range rows {
			if r.Key <= passed {
				old = append(old, r)
			}
		}
		waiting += len(rows) - len(old)
		return waiting < blocked, t.drop(ctx, old)
	})
}

// logs deletes job log entries, rerun requests and snapshots of runs that are not open, except the
// snapshot that the run refers to.
func (t *trim) logs(ctx context.Context) error {
	if t.keep.JobLog <= 0 {
		return nil
	}
	before := t.now.Add(-t.keep.JobLog)
	for _, of := range []struct {
		kind  row.Kind
		list  string
		about func(row.Row) (logged, error)
	}{
		{RunLog, listRunLogs, func(r row.Row) (logged, error) {
			e, err := decode[entry[store.JobEntry]](r)
			return logged{r, e.Entry.Key, "", e.Entry.At}, err
		}},
		{Reruns, listReruns, func(r row.Row) (logged, error) {
			e, err := decode[entry[store.Rerun]](r)
			return logged{r, e.Entry.Key, "", e.Entry.At}, err
		}},
		{Snapshots, listSnapshots, func(r row.Row) (logged, error) {
			v, err := decode[store.Snapshot](r)
			return logged{r, v.Key, v.ID, v.At}, err
		}},
	} {
		err := t.aged(ctx, of.kind, of.list, before, func(rows []row.Row) (bool, error) {
			return true, t.log(ctx, of.list, before, rows, of.about)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// logged is a record about a run.
type logged struct {
	row      row.Row
	key      run.Key
	snapshot run.SnapshotID // if it is a snapshot
	at       time.Time
}

func (t *trim) log(ctx context.Context, list string, before time.Time, rows []row.Row, about func(row.Row) (logged, error)) error {
	keys, records := make([]run.Key, len(rows)), make([]logged, len(rows))
	for i, r := range rows {
		var err error
		if records[i], err = about(r); err != nil {
			return err
		}
		keys[i] = records[i].key
	}
	runs, err := t.RunsAt(ctx, keys)
	if err != nil {
		return err
	}
	var old []row.Row
	var kept [][]row.Op
	for _, l := range records {
		if of := runs[l.key]; !of.Status.Open() && (l.snapshot == "" || of.Progress.Snapshot != l.snapshot) {
			old = append(old, l.row)
		} else {
			kept = append(kept, keepUntil(l.row, list, before.Add(t.again(l.at))))
		}
	}
	if _, err := t.apply(ctx, kept); err != nil {
		return err
	}
	return t.drop(ctx, old)
}

// keepUntil returns the op that lists a row by when Trim examines it again.
func keepUntil(r row.Row, list string, at time.Time) []row.Op {
	read := r.Version
	r.Version++
	aging(&r, list, at)
	return []row.Op{{If: read, Row: r, Quiet: true}}
}

// apply applies ops, many in one transaction, and passes over those whose rows have changed
// meanwhile. Ops of one group are applied together or not at all. It returns the groups that were
// applied.
func (t *trim) apply(ctx context.Context, groups [][]row.Op) (applied []int, err error) {
	for at := 0; at < len(groups); {
		some := groups[at:min(len(groups), at+max(1, t.maxOps()/len(groups[at])))]
		err := t.engine.Apply(ctx, row.Tx{Ops: slices.Concat(some...)}, t.now)
		if isConflict(err) && len(some) > 1 { // one by one
			some = some[:1]
			err = t.engine.Apply(ctx, row.Tx{Ops: some[0]}, t.now)
		}
		if err != nil && !isConflict(err) {
			return applied, err
		}
		for range some {
			if err == nil {
				applied = append(applied, at)
			}
			at++
		}
	}
	return applied, nil
}

// expired deletes expired marks, notes and dry runs.
func (t *trim) expired(ctx context.Context) error {
	for _, kind := range []row.Kind{Marks, Notes, DryRuns} {
		err := t.aged(ctx, kind, listExpiring+string(kind), t.now, func(rows []row.Row) (bool, error) {
			return true, t.drop(ctx, rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

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
