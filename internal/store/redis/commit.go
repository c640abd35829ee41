package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// commitLife is how long Redis remembers that a Batch was taken: a little longer than promised, since its clock is another.
const commitLife = store.CommitLife + 5*time.Minute

// Commit hands the whole Batch to one script.
func (s *Store) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	a, err := s.batch(b, now)
	if err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	answer, err := s.texts(ctx, commitScript, a)
	if err != nil {
		return fmt.Errorf("commit %s: %w", b.ID, err)
	}
	if answer[0] == "conflict" {
		return fmt.Errorf("commit %s: %s: %w", b.ID, answer[1], store.ErrConflict)
	}
	s.raise(wakes(b))
	if b.Hold == nil {
		return nil
	}
	b.Hold.Given = store.Lease{}
	if len(answer) == 1 {
		return nil // it was taken before, and its lease is lost
	}
	token, err := strconv.ParseInt(answer[1], 10, 64)
	if err != nil {
		return fmt.Errorf("commit %s: the token of its lease: %w", b.ID, err)
	}
	b.Hold.Given = store.Lease{Task: b.Hold.Task, Token: token}
	return nil
}

// wakes is what may have changed. Redis tells everybody, but a moment later: this process knows at once.
func wakes(b store.Batch) (what string) {
	if len(b.Runs)+len(b.Pipelines) > 0 {
		what += "c"
	}
	if len(b.Events) > 0 {
		what += "e"
	}
	if len(b.Tasks)+len(b.Finished) > 0 {
		what += "t"
	}
	return what
}

// batch writes a Batch in the order in which the script reads it.
func (s *Store) batch(b store.Batch, now time.Time) (arguments, error) {
	w := writer{}
	s.leaseholder(&w.arguments, now)
	w.add(store.Nanos(now), b.Identity(), strconv.FormatInt(commitLife.Milliseconds(), 10), strconv.FormatInt(s.o.Readiness.Milliseconds(), 10))
	if b.Lease != nil {
		w.add(b.Lease.Task, strconv.FormatInt(b.Lease.Token, 10))
	} else {
		w.add("", "")
	}
	if b.Hold != nil {
		at, micros := s.leaseEnd(now, b.Hold.For)
		w.add(b.Hold.Task, at, micros)
	} else {
		w.add("", "", "")
	}
	w.swaps(b)
	w.records(b)
	w.number(len(b.Events))
	for _, e := range b.Events {
		w.add(e.ID, string(e.Detail.Pipeline), store.Nanos(e.Time), w.json(e))
	}
	w.number(len(b.Tasks))
	for _, t := range b.Tasks {
		t.Due = t.Due.Round(0).UTC()
		w.add(t.ID, w.json(t), store.Nanos(t.Ready()), t.Replica, lockName(t))
	}
	w.number(len(b.Finished))
	w.add(b.Finished...)
	return w.arguments, w.err
}

// writer writes arguments and remembers the first record that has no JSON form.
type writer struct {
	arguments
	err error
}

func (w *writer) json(v any) string {
	text, err := encode(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	return text
}

// swap writes what is common to all records that are swapped by version, and then what that kind has further.
func (w *writer) swap(kind, name string, read, version int64, next any, further ...string) {
	w.add(kind, name, strconv.FormatInt(read, 10), strconv.FormatInt(version, 10), w.json(next))
	w.add(further...)
}

func (w *writer) swaps(b store.Batch) {
	w.number(len(b.Runs) + len(b.DryRuns) + len(b.Pipelines) + len(b.Expected) + len(b.Deadlines) + len(b.PostRuns) + len(b.Notes))
	for _, v := range b.Runs {
		r := v.Next
		w.swap("run", "run:"+r.Key.String(), v.Read, r.Version, r, r.Key.String(), string(r.Pipeline), string(r.Status), strconv.Itoa(r.Attempt),
			flag(r.Status.Open()), string(r.Progress.Snapshot), listedRun(r.Key), openedRun(r.Key), verdict(r), apart(r))
	}
	for _, v := range b.DryRuns {
		r := v.Next
		w.swap("dry", "dry:"+r.Key.String(), v.Read, r.Version, r, r.Key.String(), flag(r.Status.Open()), store.Nanos(r.UpdatedAt))
	}
	for _, v := range b.Pipelines {
		w.swap("pipeline", "pipeline:"+string(v.Next.ID), v.Read, v.Next.Version, v.Next, string(v.Next.ID))
	}
	for _, e := range b.Expected {
		w.swap("expected", "pipeline:"+string(e.ID), e.Version, e.Version, nil)
	}
	for _, v := range b.Deadlines {
		d := v.Next
		w.swap("deadline", "deadline:"+d.Key.String()+"/"+string(d.Kind), v.Read, d.Version, d, string(d.Key.Pipeline), listedDeadline(d))
	}
	for _, v := range b.PostRuns {
		w.swap("baseline", "baseline:"+v.Next.Key.String(), v.Read, v.Next.Version, v.Next)
	}
	for _, v := range b.Notes {
		n := v.Next
		w.swap("note", noteName(n.Kind, n.Key), v.Read, n.Version, n, escape(string(n.Kind)), n.Key, until(n.Until))
	}
}

// apart is the status under which a run is listed beside the list of all; "" if it is not.
func apart(r run.Run) string {
	if store.Apart(r.Status) {
		return string(r.Status)
	}
	return ""
}

// verdict is what was found when the gate was looked at; "" if it was not.
func verdict(r run.Run) string {
	open, looked := r.Verdict()
	switch {
	case !looked:
		return ""
	case open:
		return "open " + r.UpdatedAt.Format(time.RFC3339Nano)
	default:
		return "closed " + r.UpdatedAt.Format(time.RFC3339Nano)
	}
}

// until is when something may be forgotten; "" for never.
func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return store.Nanos(t)
}

// records writes what is not swapped.
func (w *writer) records(b store.Batch) {
	w.number(len(b.Configs) + len(b.Log) + len(b.Snapshots) + len(b.Reruns) + len(b.Marks) + len(b.Dead) + len(b.Buried))
	for _, c := range b.Configs {
		w.add("config", string(c.Pipeline), c.Version, w.json(c))
	}
	for _, e := range b.Log {
		field := strconv.Itoa(e.Attempt) + ":" + string(e.Event) + ":" + strconv.Itoa(e.Try)
		w.told(e.Key, "l", e.At, runLog(e.Key), field, w.json(e))
	}
	for _, r := range b.Reruns {
		w.told(r.Key, "r", r.At, "reruns:"+r.Key.String(), r.ID, w.json(r))
	}
	for _, v := range b.Snapshots {
		w.add("snapshot", string(v.ID), w.json(v), string(v.Key.Pipeline), listedTold(v.Key, "s", v.At, "", string(v.ID)), v.Key.String())
	}
	for _, m := range b.Marks {
		w.add("mark", m.ID, until(m.Until))
	}
	for _, d := range b.Dead {
		w.add("dead", d.Sink, d.Event.ID, w.json(d))
	}
	for _, d := range b.Buried {
		w.add("buried", d.Sink, d.Event.ID)
	}
}

// told writes an entry of the hash of a run, of which the first of a name stays.
func (w *writer) told(key run.Key, kind string, at time.Time, hash, field, json string) {
	w.add("told", hash, field, json, string(key.Pipeline), listedTold(key, kind, at, hash, field))
}

// The members of sorted sets, which are sorted as texts.

// listedRun is the place of a run among all: latest period first, then by pipeline and schedule.
func listedRun(key run.Key) string { return store.LatestFirst(key.Period) + names(key) }

// openedRun is its place among the open ones: oldest period first.
func openedRun(key run.Key) string { return store.Place(key.Period) + names(key) }

// listedDeadline is soonest first, then by period, pipeline, schedule and kind.
func listedDeadline(d store.Deadline) string {
	return store.Nanos(d.BreachAt) + store.Place(d.Key.Period) + names(d.Key, string(d.Kind))
}

// listedTold is by age: what Trim goes by.
func listedTold(key run.Key, kind string, at time.Time, hash, field string) string {
	return store.Nanos(at) + kind + key.String() + "\x00" + hash + "\x00" + field
}
