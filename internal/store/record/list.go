package record

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Run returns one run.
func (s *Store) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return find[run.Run](ctx, s, refOf(Runs, key), "run %s", key)
}

// DryRun returns one dry run.
func (s *Store) DryRun(ctx context.Context, key run.Key) (run.Run, error) {
	return find[run.Run](ctx, s, refOf(DryRuns, key), "dry run %s", key)
}

// RunsAt reads all of them in one call.
func (s *Store) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	found, err := getAll(ctx, s, keys, func(key run.Key) row.Ref { return refOf(Runs, key) }, decode[run.Run])
	return found, wrap(err, "read runs")
}

// Runs reads the list of the status, or of all runs, within the periods of the query.
func (s *Store) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	if q.Status.Open() {
		open, err := s.OpenRuns(ctx, q.Pipeline)
		if err != nil {
			return store.Page[run.Run]{}, err
		}
		return q.Page(open)
	}
	last, err := store.AfterRun(q.Cursor)
	if err != nil {
		return store.Page[run.Run]{}, err
	}
	r := row.Range{Kind: Runs, Part: string(q.Pipeline), Index: row.Ordered, List: listRuns}
	if store.Apart(q.Status) {
		r.Index, r.List = row.Pending, listEnded+string(q.Status)
	}
	if latest := q.Latest(); !latest.IsZero() {
		r.From = store.LatestFirst(latest)
	}
	if q.Cursor != "" {
		r.From = max(r.From, next(latestPlace(last)))
	}
	if earliest := q.Earliest(); !earliest.IsZero() {
		r.To = bound(store.LatestFirst(earliest))
	}
	page, err := list(ctx, s, r, q.Limit, decode[run.Run], q.Wants, store.RunCursor)
	return page, wrap(err, "list runs")
}

// OpenRuns reads the list of open runs.
func (s *Store) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	all, err := readAll[run.Run](ctx, s, row.Range{Kind: Runs, Part: string(id), Index: row.Pending, List: listOpen})
	return all, wrap(err, "list open runs")
}

// Pipeline returns one pipeline.
func (s *Store) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return find[store.Pipeline](ctx, s, refPipeline(id), "pipeline %s", id)
}

var allPipelines = row.Range{Kind: Pipelines, Index: row.Ordered, List: listPipelines}

// EachPipeline reads all of them, a page at a time.
func (s *Store) EachPipeline(ctx context.Context, do func(store.Pipeline) error) error {
	err := readPages(ctx, s, allPipelines, func(page []store.Pipeline) error {
		for _, p := range page {
			if err := do(p); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "list pipelines")
}

// Pipelines reads all of them.
func (s *Store) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	all, err := readAll[store.Pipeline](ctx, s, allPipelines)
	return all, wrap(err, "list pipelines")
}

// Config returns one version.
func (s *Store) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	return find[store.Config](ctx, s, refConfig(id, version), "version %s of pipeline %s", version, id)
}

// Configs sorts all versions of a pipeline.
func (s *Store) Configs(ctx context.Context, id pipeline.ID) ([]store.Config, error) {
	all, err := readAll[store.Config](ctx, s, row.Range{Kind: Configs, Part: string(id)})
	if err != nil {
		return nil, fmt.Errorf("list versions of pipeline %s: %w", id, err)
	}
	for i := range all {
		all[i] = all[i].WithoutTexts()
	}
	slices.SortFunc(all, func(a, b store.Config) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Version, b.Version))
	})
	return all, nil
}

// Deadlines reads the deadlines of a run by key, and all others from the list of armed or of all
// deadlines.
func (s *Store) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	last, err := store.AfterDeadline(q.Cursor)
	if err != nil {
		return store.Page[store.Deadline]{}, err
	}
	r := row.Range{Kind: Deadlines, Part: string(q.Pipeline), Index: row.Ordered, List: listDeadlines}
	if q.State == string(sla.Armed) {
		r.Index, r.List = row.Pending, listArmed
	}
	if q.Cursor != "" {
		r.From = next(deadlinePlace(last))
	}
	if q.Key != (run.Key{}) {
		return s.deadlinesOf(ctx, q, r.From)
	}
	if !q.From.IsZero() {
		r.From = max(r.From, store.Nanos(q.From))
	}
	if !q.To.IsZero() {
		r.To = store.Nanos(q.To)
	}
	page, err := list(ctx, s, r, q.Limit, decode[store.Deadline], q.Wants, store.DeadlineCursor)
	return page, wrap(err, "list deadlines")
}

// deadlinesOf reads the two deadlines of a run.
func (s *Store) deadlinesOf(ctx context.Context, q store.DeadlineQuery, from string) (page store.Page[store.Deadline], err error) {
	rows, err := s.engine.Get(ctx, []row.Ref{
		refOf(Deadlines, q.Key, string(store.Absolute)), refOf(Deadlines, q.Key, string(store.Relative)),
	})
	if err != nil {
		return page, fmt.Errorf("read deadlines of %s: %w", q.Key, err)
	}
	rows = slices.DeleteFunc(rows, func(r row.Row) bool { return r.Version == 0 })
	all, err := decodeAll[store.Deadline](rows)
	all = slices.DeleteFunc(all, func(d store.Deadline) bool { return deadlinePlace(d) < from || !q.Wants(d) })
	slices.SortFunc(all, func(a, b store.Deadline) int { return cmp.Compare(deadlinePlace(a), deadlinePlace(b)) })
	return store.FirstPage(all, q.Limit, store.DeadlineCursor), err
}

// entry is an entry in a run's log. Ticket orders entries with the same time.
type entry[T any] struct {
	Ticket int64 `json:"ticket"`
	Entry  T     `json:"entry"`
}

// JobLogs reads the entries of each run.
func (s *Store) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	return entries(ctx, s, RunLog, keys, func(e store.JobEntry) time.Time { return e.At })
}

// Reruns reads the requests for each run.
func (s *Store) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	return entries(ctx, s, Reruns, keys, func(r store.Rerun) time.Time { return r.At })
}

func entries[T any](ctx context.Context, s *Store, kind row.Kind, keys []run.Key, at func(T) time.Time) (map[run.Key][]T, error) {
	ranges := make([]row.Range, len(keys))
	for i, key := range keys {
		of := inRun(key) + "/"
		ranges[i] = row.Range{Kind: kind, Part: string(key.Pipeline), From: of, To: of[:len(of)-1] + "0"}
	}
	rows, err := s.scanAll(ctx, ranges)
	if err != nil {
		return nil, fmt.Errorf("read the %s of runs: %w", kind, err)
	}
	found := map[run.Key][]T{}
	for i, key := range keys {
		all, err := decodeAll[entry[T]](rows[i])
		if err != nil {
			return nil, err
		}
		slices.SortFunc(all, func(a, b entry[T]) int {
			return cmp.Or(at(a.Entry).Compare(at(b.Entry)), cmp.Compare(a.Ticket, b.Ticket))
		})
		if found[key] != nil {
			continue // duplicate key
		}
		for _, e := range all {
			found[key] = append(found[key], e.Entry)
		}
	}
	return found, nil
}

// Snapshot returns one snapshot.
func (s *Store) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	return find[store.Snapshot](ctx, s, refSnapshot(id), "snapshot %s", id)
}

// PostRun returns the baseline of one run.
func (s *Store) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return find[store.PostRun](ctx, s, refOf(Baselines, key), "post-run of %s", key)
}

// Marked reads all of them in one call.
func (s *Store) Marked(ctx context.Context, ids []string) (map[string]bool, error) {
	set, err := getAll(ctx, s, ids, refMark, func(row.Row) (bool, error) { return true, nil })
	return set, wrap(err, "read marks")
}

// Note returns one note.
func (s *Store) Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error) {
	return find[store.Note](ctx, s, refNote(kind, key), "note %s %s", kind, key)
}

// Notes reads all of a kind.
func (s *Store) Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error) {
	all, err := readAll[store.Note](ctx, s, row.Range{Kind: Notes, Part: string(kind)})
	return all, wrap(err, "list notes of kind %s", kind)
}

// Dead reads the letters of one sink, or of all.
func (s *Store) Dead(ctx context.Context, sink string) ([]store.DeadLetter, error) {
	all, err := readAll[store.DeadLetter](ctx, s, row.Range{Kind: Dead, Part: sink, Index: row.Ordered, List: listDead})
	return all, wrap(err, "list dead letters")
}

// Cursor returns a position.
func (s *Store) Cursor(ctx context.Context, name string) (store.Position, error) {
	r, err := s.get(ctx, refCursor(name))
	if err == nil && r.Version > 0 {
		var at int64
		at, err = strconv.ParseInt(string(r.Body), 10, 64)
		return store.Position(at), err
	}
	if err != nil {
		return 0, fmt.Errorf("read cursor %s: %w", name, err)
	}
	return 0, nil
}

// SetCursor stores a position.
func (s *Store) SetCursor(ctx context.Context, name string, at store.Position) error {
	set := row.Row{Ref: refCursor(name), Version: 1, Body: strconv.AppendInt(nil, int64(at), 10)}
	tx := row.Tx{Ops: []row.Op{{If: row.Any, Row: set}}}
	return wrap(s.engine.Apply(ctx, tx, time.Time{}), "set cursor %s", name)
}

// DropCursor deletes a position.
func (s *Store) DropCursor(ctx context.Context, name string) error {
	tx := row.Tx{Ops: []row.Op{{Do: row.Delete, If: row.Any, Row: row.Row{Ref: refCursor(name)}}}}
	return wrap(s.engine.Apply(ctx, tx, time.Time{}), "drop cursor %s", name)
}
