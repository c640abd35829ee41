package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// aside is how many younger events Trim looks at for those that were told while a clock was behind.
const aside = 500

// trim is one call of Trim.
type trim struct {
	*Store
	keep store.Retention
	now  time.Time
	left int
	gone map[string][]types.WriteRequest
}

// Trim takes one kind after the other until the call's share is used up. Batches that were taken leave by their TTL.
func (s *Store) Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error) {
	defer s.serial()()
	t := &trim{Store: s, keep: keep, now: now, left: store.MaxTrim, gone: map[string][]types.WriteRequest{}}
	for _, how := range []func(context.Context) error{t.changes, t.events, t.told, t.ended, t.writes} {
		if err := how(ctx); err != nil {
			return store.MaxTrim - t.left, fmt.Errorf("forget what is old: %w", err)
		}
		if err := t.write(ctx, t.gone); err != nil {
			return store.MaxTrim - t.left, fmt.Errorf("forget what is old: %w", err)
		}
		clear(t.gone)
	}
	return store.MaxTrim - t.left, nil
}

// forget drops a row at the end of its kind.
func (t *trim) forget(at ...address) {
	for _, a := range at {
		t.gone[a.table] = append(t.gone[a.table], types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: a.key()}})
	}
}

// changes drops what every group has passed.
func (t *trim) changes(ctx context.Context) error {
	if !t.o.Alone {
		return nil
	}
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	groups, err := recordsUnder[groupRow](ctx, t.Store, span{table: Control, hash: "GROUP", low: " ", high: last})
	if err != nil || len(groups) == 0 {
		return err
	}
	passed := groups[0].At
	for _, g := range groups {
		passed = min(passed, g.At)
	}
	rows, _, err := t.query(ctx, span{table: Control, hash: changeAt(0).pk, low: digits(0), high: digits(passed)}, t.left)
	if err != nil || len(rows) == 0 {
		return err
	}
	for _, row := range rows {
		t.forget(row.at(Control))
	}
	t.left -= len(rows)
	c, err := decode[store.Change](rows[len(rows)-1])
	if err != nil {
		return err
	}
	return t.passedThrough(ctx, int64(c.Position))
}

// passedThrough remembers where the changes that are kept begin.
func (t *trim) passedThrough(ctx context.Context, at int64) error {
	_, err := t.do.update(ctx, &dynamodb.UpdateItemInput{
		TableName: t.table(Control), Key: counterAt(Control, "CHANGES").key(), UpdateExpression: aws.String("SET through = :at"),
		ExpressionAttributeValues: Row{":at": number(at)},
	})
	t.places.forget()
	return t.fault(err)
}

// events drops old events that every cursor has passed.
func (t *trim) events(ctx context.Context) error {
	if t.keep.Events <= 0 {
		return nil
	}
	cursors, err := t.all(ctx, span{table: Events, hash: "CURSOR", low: " ", high: last})
	if err != nil {
		return err
	}
	young := 0
	for after := store.Position(0); t.left > 0 && young < aside; {
		some, err := t.eventPiece(ctx, "", after, true, store.DefaultPage)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, e := range some {
			after = e.Position
			if !passedBy(cursors, e.Position) {
				return nil
			}
			if !t.old(e.Event.Time, t.keep.Events) {
				young++
			} else if t.left > 0 {
				t.forgetEvent(e)
				t.left--
			}
		}
	}
	return nil
}

func passedBy(cursors []Row, at store.Position) bool {
	for _, c := range cursors {
		if store.Position(c.number("n")) < at {
			return false
		}
	}
	return true
}

func (t *trim) forgetEvent(e store.StoredEvent) {
	t.forget(eventAt(e.Event), logAt(e.Position), eventIDAt(e.Event.ID))
}

// old says whether something of that instant is beyond its retention.
func (t *trim) old(at time.Time, keep time.Duration) bool {
	return keep > 0 && at.Before(t.now.Add(-keep))
}

// aged goes through the rows of a kind that are from before an instant, oldest first, until nothing more may go. What
// looks at them says which may.
func (t *trim) aged(ctx context.Context, table, kind string, before time.Time, look func(rows []Row) error) error {
	l := list{table: table, index: aging, hash: kind, prefix: "0", before: store.Nanos(before)}
	for after, more := "", true; more && t.left > 0; {
		rows, end, further, err := t.listPiece(ctx, l, after, store.DefaultPage)
		if err != nil {
			return err
		}
		if err := look(rows); err != nil {
			return err
		}
		after, more = end, further
	}
	return nil
}

// told drops what is told of attempts of runs that are not open: job log, rerun requests, snapshots.
func (t *trim) told(ctx context.Context) error {
	if t.keep.JobLog <= 0 {
		return nil
	}
	before := t.now.Add(-t.keep.JobLog)
	for _, kind := range []struct {
		table, name string
		about       func(Row) (run.Key, run.SnapshotID, error)
	}{
		{JobLog, "LOG", func(row Row) (run.Key, run.SnapshotID, error) {
			e, err := decode[store.JobEntry](row)
			return e.Key, "", err
		}},
		{Rerun, "RERUN", func(row Row) (run.Key, run.SnapshotID, error) {
			r, err := decode[store.Rerun](row)
			return r.Key, "", err
		}},
		{Control, "SNAPSHOT", func(row Row) (run.Key, run.SnapshotID, error) {
			v, err := decode[store.Snapshot](row)
			return v.Key, v.ID, err
		}},
	} {
		err := t.aged(ctx, kind.table, kind.name, before, func(rows []Row) error { return t.forgetTold(ctx, kind.table, rows, kind.about) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trim) forgetTold(ctx context.Context, table string, rows []Row, about func(Row) (run.Key, run.SnapshotID, error)) error {
	keys, snapshots := make([]run.Key, len(rows)), make([]run.SnapshotID, len(rows))
	for i, row := range rows {
		var err error
		if keys[i], snapshots[i], err = about(row); err != nil {
			return err
		}
	}
	runs, err := t.RunsAt(ctx, keys)
	if err != nil {
		return err
	}
	for i, row := range rows {
		r := runs[keys[i]]
		used := r.Status.Open() || snapshots[i] != "" && r.Progress.Snapshot == snapshots[i]
		if !used && t.left > 0 {
			t.forget(row.at(table))
			t.left--
		}
	}
	return nil
}

// ended drops marks, notes and dry runs whose time has passed. One that was written again meanwhile stays.
func (t *trim) ended(ctx context.Context) error {
	for _, kind := range []struct{ table, name string }{{Control, "MARK"}, {Events, "NOTE"}, {Control, "DRY_RUN"}} {
		err := t.aged(ctx, kind.table, kind.name, t.now, func(rows []Row) error {
			for _, row := range rows {
				if row["aging"] == nil || t.left == 0 {
					continue
				}
				if err := t.dropAged(ctx, kind.table, row); err != nil {
					return err
				}
				t.left--
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trim) dropAged(ctx context.Context, table string, row Row) error {
	on := equals("agedAt", row["agedAt"])
	_, err := t.do.drop(ctx, &dynamodb.DeleteItemInput{
		TableName: t.table(table), Key: row.at(table).key(),
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	})
	if unmet(err) {
		return nil
	}
	return t.fault(err)
}

// writes drops old writes, unless they are what a gate may still look at.
func (t *trim) writes(ctx context.Context) error {
	if t.keep.History <= 0 {
		return nil
	}
	var open store.Periods
	asked := false
	newest := map[string]int64{} // the last version, by what the keys of a sensor's history begin with
	return t.aged(ctx, Control, "HISTORY", t.now.Add(-t.keep.History), func(rows []Row) error {
		if !asked {
			asked = true
			if err := t.openPeriods(ctx, &open); err != nil {
				return err
			}
		}
		return t.forgetWrites(ctx, rows, &open, newest)
	})
}

func (t *trim) forgetWrites(ctx context.Context, rows []Row, open *store.Periods, newest map[string]int64) error {
	var old []*reading
	var at []address
	for _, row := range rows {
		r, err := readingOf(row)
		if err != nil {
			return err
		}
		old, at = append(old, r), append(at, r.at())
	}
	current, err := t.rows(ctx, at)
	if err != nil {
		return err
	}
	for _, r := range old {
		if t.left == 0 {
			return nil
		}
		latest, err := t.newest(ctx, r, newest)
		if err != nil {
			return err
		}
		is := current[r.at()].number("version") == r.Version
		if r.Version == latest || is && (r.Period.IsZero() || open.Touch(r.Period)) {
			continue
		}
		if is {
			if err := t.dropReading(ctx, r); err != nil {
				return err
			}
		}
		t.forget(historyAt(r.pipeline, r.Key, r.Version))
		t.left--
	}
	return nil
}

// newest is the version of the last write of a sensor.
func (t *trim) newest(ctx context.Context, r *reading, known map[string]int64) (int64, error) {
	at := historyAt(r.pipeline, r.Key, 0)
	prefix := at.sk[:strings.LastIndex(at.sk, "#")+1]
	name := at.pk + prefix
	if n, ok := known[name]; ok {
		return n, nil
	}
	of := under(Control, at.pk, prefix)
	of.backwards = true
	rows, _, err := t.query(ctx, of, 1)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	known[name] = rows[0].number("version")
	return known[name], nil
}

// dropReading takes out the current reading of a period, unless it was written again.
func (t *trim) dropReading(ctx context.Context, r *reading) error {
	on := equals("version", number(r.Version))
	_, err := t.do.drop(ctx, &dynamodb.DeleteItemInput{
		TableName: t.table(Control), Key: r.at().key(),
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	})
	if unmet(err) {
		return nil
	}
	return t.fault(err)
}

// openPeriods are those of all open runs, of whatever pipeline: a gate may read another pipeline's sensors.
func (t *trim) openPeriods(ctx context.Context, open *store.Periods) error {
	for _, kind := range []string{"RUN", "DRY_RUN"} {
		all, err := everyRecord[run.Run](ctx, t.Store, list{table: Control, index: pending, hash: kind})
		if err != nil {
			return err
		}
		for _, r := range all {
			open.Add(r.Period)
		}
	}
	return nil
}
