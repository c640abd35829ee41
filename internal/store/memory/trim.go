package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Trim takes one kind after the other, each in a fixed order, until the call's share is used up.
func (s *Store) Trim(_ context.Context, keep store.Retention, now time.Time) (int, error) {
	if err := s.open(); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	t := trimmer{Store: s, now: now, left: store.MaxTrim}
	t.changes()
	t.events(keep.Events)
	t.history(keep.History)
	t.jobLog(keep.JobLog)
	t.dryRuns()
	t.expired()
	return store.MaxTrim - t.left, nil
}

type trimmer struct {
	*Store
	now  time.Time
	left int
}

// old says whether something of that instant is beyond its retention, where there is one.
func (t *trimmer) old(at time.Time, keep time.Duration) bool {
	return keep > 0 && at.Before(t.now.Add(-keep))
}

// take says whether one more row may go, and counts it.
func (t *trimmer) take() bool {
	if t.left == 0 {
		return false
	}
	t.left--
	return true
}

// changes drops what every group has passed.
func (t *trimmer) changes() {
	if len(t.groups) == 0 {
		return
	}
	place := t.lastChange
	for _, g := range t.groups {
		place = min(place, g.place)
	}
	t.Store.changes = slices.DeleteFunc(t.Store.changes, func(c store.Change) bool {
		return c.Position <= place && t.take()
	})
}

// events drops old events that every cursor has passed.
func (t *trimmer) events(keep time.Duration) {
	place := t.lastEvent
	for _, at := range t.cursors {
		place = min(place, at)
	}
	t.Store.events = slices.DeleteFunc(t.Store.events, func(e store.StoredEvent) bool {
		if e.Position > place || !t.old(e.Event.Time, keep) || !t.take() {
			return false
		}
		delete(t.announced, e.Event.ID)
		return true
	})
}

// history drops old writes, unless they are what a gate may still look at.
func (t *trimmer) history(keep time.Duration) {
	open := t.openPeriods()
	for _, key := range slices.SortedFunc(maps.Keys(t.sensors), compareSensors) {
		of := t.sensors[key]
		last := of.last()
		of.history = slices.DeleteFunc(of.history, func(r *reading) bool {
			current := of.current[r.Period] == r
			needed := r == last || current && (r.Period.IsZero() || open.Touch(r.Period))
			if needed || !t.old(store.AgesFrom(r.UpdatedAt, r.Period), keep) || !t.take() {
				return false
			}
			if current {
				delete(of.current, r.Period)
			}
			return true
		})
	}
}

func compareSensors(a, b sensorKey) int {
	return cmp.Or(cmp.Compare(a.pipeline, b.pipeline), cmp.Compare(a.key, b.key))
}

// openPeriods are the periods of all open runs, of whatever pipeline: a gate may read another pipeline's sensors.
func (t *trimmer) openPeriods() (open store.Periods) {
	for _, runs := range []map[run.Key]run.Run{t.runs, t.Store.dryRuns} {
		for _, r := range runs {
			if r.Status.Open() {
				open.Add(r.Period)
			}
		}
	}
	return open
}

// jobLog drops what is told of old attempts: log, rerun requests, and the snapshots that no run refers to.
func (t *trimmer) jobLog(keep time.Duration) {
	for _, key := range sortedKeys(t.log) {
		t.log[key] = slices.DeleteFunc(t.log[key], func(e store.JobEntry) bool {
			return !t.runs[key].Status.Open() && t.old(e.At, keep) && t.take()
		})
	}
	for _, key := range sortedKeys(t.reruns) {
		t.reruns[key] = slices.DeleteFunc(t.reruns[key], func(r store.Rerun) bool {
			return !t.runs[key].Status.Open() && t.old(r.At, keep) && t.take()
		})
	}
	for _, id := range slices.Sorted(maps.Keys(t.snapshots)) {
		snapshot, err := t.snapshots[id].thaw()
		if err != nil {
			continue // it cannot be told whether it may go, so it stays
		}
		used := t.runs[snapshot.Key].Progress.Snapshot == id || t.runs[snapshot.Key].Status.Open()
		if !used && t.old(snapshot.At, keep) && t.take() {
			delete(t.snapshots, id)
		}
	}
}

// dryRuns drops the markers of dry runs that ended long enough ago.
func (t *trimmer) dryRuns() {
	for _, key := range sortedKeys(t.Store.dryRuns) {
		r := t.Store.dryRuns[key]
		if r.Status.Ended() && t.old(r.UpdatedAt, store.DryRunLife) && t.take() {
			delete(t.Store.dryRuns, key)
		}
	}
}

// expired drops marks and notes that may be forgotten, and the ids of batches that nobody sends again.
func (t *trimmer) expired() {
	for _, id := range slices.Sorted(maps.Keys(t.marks)) {
		if until := t.marks[id]; !until.IsZero() && t.now.After(until) && t.take() {
			delete(t.marks, id)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.notes), compareNotes) {
		note, err := t.notes[key].thaw()
		if err != nil {
			continue // it cannot be told whether it may go, so it stays
		}
		if !note.Until.IsZero() && t.now.After(note.Until) && t.take() {
			delete(t.notes, key)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.commits)) {
		if t.old(t.commits[id], store.CommitLife) && t.take() {
			delete(t.commits, id)
		}
	}
}

func compareNotes(a, b noteKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
}

func sortedKeys[V any](m map[run.Key]V) []run.Key {
	return slices.SortedFunc(maps.Keys(m), compareKeys)
}
