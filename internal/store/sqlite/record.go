package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Pipeline gives one pipeline.
func (s *Store) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	p, err := look(ctx, s, s.pipelines, id, "SELECT body FROM pipelines WHERE pipeline = ?", string(id))
	p.Slots = slices.Clone(p.Slots) // the caller's own
	return named(p, err)("pipeline %s", id)
}

// Pipelines gives all.
func (s *Store) Pipelines(ctx context.Context) (all []store.Pipeline, err error) {
	err = s.read(ctx, func(c *conn) error {
		n, err := c.number("SELECT count(*) FROM pipelines")
		if err != nil {
			return err
		}
		all = make([]store.Pipeline, 0, n) // there may be very many: growing as it is read, the list would take five times its size
		all, err = gather(c, all, "SELECT body FROM pipelines ORDER BY pipeline")
		return err
	})
	return named(all, err)("pipelines")
}

// Config gives one version.
func (s *Store) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	return named(find[store.Config](ctx, s, "SELECT body FROM configs WHERE pipeline = ? AND version = ?", string(id), version))(
		"version %s of pipeline %s", version, id)
}

// Configs gives all versions of a pipeline.
func (s *Store) Configs(ctx context.Context, id pipeline.ID) ([]store.Config, error) {
	found, err := list[store.Config](ctx, s, "SELECT body FROM configs WHERE pipeline = ? ORDER BY at DESC, version", string(id))
	for i := range found {
		found[i] = found[i].WithoutTexts()
	}
	return named(found, err)("versions of pipeline %s", id)
}

// Deadlines pages by instant and key.
func (s *Store) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	var w where
	if q.Pipeline != "" {
		w.and("pipeline = ?", string(q.Pipeline))
	}
	if q.Key != (run.Key{}) {
		w.and("run = ?", q.Key.String())
	}
	if q.State != "" {
		w.and("state = ?", q.State)
	}
	if !q.From.IsZero() {
		w.and("breach >= ?", nanos(q.From))
	}
	if !q.To.IsZero() {
		w.and("breach < ?", nanos(q.To))
	}
	if q.Cursor != "" {
		if err := afterDeadline(&w, q.Cursor); err != nil {
			return store.Page[store.Deadline]{}, err
		}
	}
	found, err := list[store.Deadline](ctx, s, "SELECT body FROM deadlines"+w.text+
		" ORDER BY breach, slot, pipeline, schedule, kind"+upTo, append(w.args, store.PageSize(q.Limit)+1)...)
	if err != nil {
		return store.Page[store.Deadline]{}, fmt.Errorf("list deadlines: %w", err)
	}
	return paged(found, q.Limit, store.DeadlineCursor), nil
}

// afterDeadline goes on after the deadline that a page ended with.
func afterDeadline(w *where, cursor string) error {
	d, err := store.AfterDeadline(cursor)
	if err != nil {
		return err
	}
	w.and("(breach, slot, pipeline, schedule, kind) > (?, ?, ?, ?, ?)",
		nanos(d.BreachAt), store.PeriodKey(d.Key.Period), string(d.Key.Pipeline), string(d.Key.Schedule), string(d.Kind))
	return nil
}

// JobLogs reads all entries in one go.
func (s *Store) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	found, err := listAt[store.JobEntry](ctx, s, "SELECT body FROM job_log WHERE run"+among+" ORDER BY at, id", keys)
	logs := map[run.Key][]store.JobEntry{}
	for _, e := range found {
		logs[e.Key] = append(logs[e.Key], e)
	}
	return named(logs, err)("job logs")
}

// among is a condition on a column of names: one argument stands for any number of them.
const among = " IN (SELECT value FROM json_each(?))"

// namesOf is such an argument.
func namesOf(keys []run.Key) (string, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	return encode(names)
}

// listAt reads all records of runs that are among these.
func listAt[T any](ctx context.Context, s *Store, query string, keys []run.Key) ([]T, error) {
	names, err := namesOf(keys)
	if err != nil {
		return nil, err
	}
	return list[T](ctx, s, query, names)
}

// Snapshot gives one snapshot.
func (s *Store) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	return named(find[store.Snapshot](ctx, s, "SELECT body FROM snapshots WHERE snapshot = ?", string(id)))("snapshot %s", id)
}

// PostRun gives what is remembered of one run.
func (s *Store) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return named(find[store.PostRun](ctx, s, "SELECT body FROM post_runs WHERE run = ?", key.String()))("post-run of %s", key)
}

// Reruns reads all requests in one go.
func (s *Store) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	found, err := listAt[store.Rerun](ctx, s, "SELECT body FROM reruns WHERE run"+among+" ORDER BY at, id", keys)
	requests := map[run.Key][]store.Rerun{}
	for _, r := range found {
		requests[r.Key] = append(requests[r.Key], r)
	}
	return named(requests, err)("reruns")
}

// Marked looks each mark up.
func (s *Store) Marked(ctx context.Context, ids []string) (map[string]bool, error) {
	set := map[string]bool{}
	err := s.read(ctx, func(c *conn) error {
		for _, id := range ids {
			there, err := c.number("SELECT 1 FROM marks WHERE mark = ?", id)
			if err != nil {
				return err
			}
			if there == 1 {
				set[id] = true
			}
		}
		return nil
	})
	return named(set, err)("marks")
}

// Note gives one note.
func (s *Store) Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error) {
	return named(find[store.Note](ctx, s, "SELECT body FROM notes WHERE kind = ? AND key = ?", string(kind), key))("note %s %s", kind, key)
}

// Notes gives all of a kind.
func (s *Store) Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error) {
	return named(list[store.Note](ctx, s, "SELECT body FROM notes WHERE kind = ? ORDER BY key", string(kind)))("notes of kind %s", kind)
}

// Dead reads the letters of one sink, or of all.
func (s *Store) Dead(ctx context.Context, sink string) ([]store.DeadLetter, error) {
	return named(list[store.DeadLetter](ctx, s,
		"SELECT body FROM dead_letters WHERE sink = ? OR ? = '' ORDER BY at, sink, event", sink, sink))("dead letters")
}
