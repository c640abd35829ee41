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
	for _, forget := range []func(context.Context) error{t.engines, t.events, t.logs, t.expired, t.writes, t.runs} {
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
