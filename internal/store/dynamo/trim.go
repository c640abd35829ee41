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
			switch {
			case t.old(e.Event.Time, t.keep.Events) && t.left > 0:
				t.forgetEvent(e)
				t.left--
			case !e.Event.Time.After(t.now): // others were told while a clock was ahead
				young++
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

// keptAgain is how long Trim does not look again at a write that it had to keep as the last of its key or as the undated one.
const keptAgain = 24 * time.Hour

// writes drops old writes, unless they are what a gate may still look at. Those it keeps are listed apart, by when it looks
// at them again.
func (t *trim) writes(ctx context.Context) error {
	if t.keep.History <= 0 {
		return nil
	}
	w := &oldWrites{trim: t, cutoff: t.now.Add(-t.keep.History), newest: map[string]int64{}}
	for _, kind := range []string{"HISTORY", "KEPT"} {
		if err := t.aged(ctx, Control, kind, w.cutoff, func(rows []Row) error { return w.forget(ctx, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// oldWrites drops writes from before cutoff.
type oldWrites struct {
	*trim
	cutoff time.Time
	open   *store.Periods   // of runs; nil if they were not read yet
	newest map[string]int64 // the last version, by what the keys of a sensor's history begin with
}

func (w *oldWrites) forget(ctx context.Context, rows []Row) error {
	var old []*reading
	var at []address
	for _, row := range rows {
		r, err := readingOf(row)
		if err != nil {
			return err
		}
		old, at = append(old, r), append(at, r.at())
	}
	current, err := w.rows(ctx, at)
	if err != nil {
		return err
	}
	if w.open == nil {
		if err := w.readOpen(ctx); err != nil {
			return err
		}
	}
	dropped := map[*reading]Row{}
	var gone []*reading
	for _, r := range old {
		if len(gone) == w.left {
			break
		}
		is := current[r.at()].number("version") == r.Version
		may, err := w.may(ctx, r, is)
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		if is {
			if err := w.dropReading(ctx, r); err != nil {
				return err
			}
			dropped[r] = current[r.at()]
		}
		gone = append(gone, r)
	}
	if err := w.restore(ctx, dropped); err != nil {
		return err
	}
	for _, r := range gone {
		if dropped[r] != nil || current[r.at()].number("version") != r.Version {
			w.trim.forget(historyAt(r.pipeline, r.Key, r.Version))
			w.left--
		}
	}
	return nil
}

// may reports whether a write may go. One that must stay for long is not looked at again for long.
func (w *oldWrites) may(ctx context.Context, r *reading, is bool) (bool, error) {
	if !is {
		return true, nil
	}
	if over := store.AgesFrom(r.UpdatedAt, r.Period); !over.Before(w.cutoff) {
		return false, w.keepFor(ctx, r, over)
	}
	newest, err := w.newestOf(ctx, r)
	if err != nil {
		return false, err
	}
	if r.Version == newest || r.Period.IsZero() {
		return false, w.keepFor(ctx, r, w.cutoff.Add(keptAgain))
	}
	return !w.open.Touch(r.Period), nil
}

// keepFor lists a write by when Trim looks at it again.
func (w *oldWrites) keepFor(ctx context.Context, r *reading, until time.Time) error {
	where := historyAt(r.pipeline, r.Key, r.Version)
	row := Row{}
	aged("KEPT", until, where, row)
	_, err := w.do.update(ctx, &dynamodb.UpdateItemInput{
		TableName: w.table(Control), Key: where.key(), UpdateExpression: aws.String("SET aging = :aging, agedAt = :agedAt"),
		ConditionExpression: aws.String("attribute_exists(agedAt)"), ExpressionAttributeValues: Row{":aging": row["aging"], ":agedAt": row["agedAt"]},
	})
	if unmet(err) {
		return nil
	}
	return w.fault(err)
}

// restore puts back readings that a run needs which was opened while they were dropped, and takes them out of the list.
func (w *oldWrites) restore(ctx context.Context, dropped map[*reading]Row) error {
	if len(dropped) == 0 {
		return nil
	}
	if err := w.readOpen(ctx); err != nil {
		return err
	}
	for r, row := range dropped {
		if !w.open.Touch(r.Period) {
			continue
		}
		_, err := w.do.put(ctx, &dynamodb.PutItemInput{TableName: w.table(Control), Item: row, ConditionExpression: aws.String("attribute_not_exists(PK)")})
		if err != nil && !unmet(err) {
			return w.fault(err)
		}
		delete(dropped, r)
	}
	return nil
}

// newestOf is the version of the last write of a sensor.
func (w *oldWrites) newestOf(ctx context.Context, r *reading) (int64, error) {
	at := historyAt(r.pipeline, r.Key, 0)
	prefix := at.sk[:strings.LastIndex(at.sk, "#")+1]
	name := at.pk + prefix
	if n, ok := w.newest[name]; ok {
		return n, nil
	}
	of := under(Control, at.pk, prefix)
	of.backwards = true
	rows, _, err := w.query(ctx, of, 1)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	w.newest[name] = rows[0].number("version")
	return w.newest[name], nil
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

// readOpen reads the periods of all open runs, of whatever pipeline: a gate may read another pipeline's sensors. The index it
// reads may follow a moment later.
func (w *oldWrites) readOpen(ctx context.Context) error {
	w.open = &store.Periods{}
	for _, kind := range []string{"RUN", "DRY_RUN"} {
		all, err := everyRecord[run.Run](ctx, w.Store, list{table: Control, index: pending, hash: kind})
		if err != nil {
			return err
		}
		for _, r := range all {
			w.open.Add(r.Period)
		}
	}
	return nil
}
