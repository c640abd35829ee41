package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Run gives one run.
func (s *Store) Run(_ context.Context, key run.Key) (run.Run, error) { return s.run(s.runs, key) }

// DryRun gives one dry run.
func (s *Store) DryRun(_ context.Context, key run.Key) (run.Run, error) { return s.run(s.dryRuns, key) }

func (s *Store) run(from map[run.Key]run.Run, key run.Key) (run.Run, error) {
	if err := s.open(); err != nil {
		return run.Run{}, err
	}
	defer s.mu.Unlock()
	r, there := from[key]
	if !there {
		return run.Run{}, store.ErrNotFound
	}
	return r, nil
}

// Runs sorts what fits and pages by key.
func (s *Store) Runs(_ context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	if err := s.open(); err != nil {
		return store.Page[run.Run]{}, err
	}
	defer s.mu.Unlock()
	var found []run.Run
	for _, r := range s.runs {
		if q.Pipeline == "" || r.Pipeline == q.Pipeline {
			found = append(found, r)
		}
	}
	return q.Page(found)
}

// OpenRuns looks at all runs.
func (s *Store) OpenRuns(_ context.Context, id pipeline.ID) ([]run.Run, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []run.Run
	for _, r := range s.runs {
		if r.Status.Open() && (id == "" || r.Pipeline == id) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b run.Run) int { return compareKeys(a.Key, b.Key) })
	return found, nil
}

// RunsAt looks each key up.
func (s *Store) RunsAt(_ context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	found := map[run.Key]run.Run{}
	for _, key := range keys {
		if r, there := s.runs[key]; there {
			found[key] = r
		}
	}
	return found, nil
}

// Pipeline gives one pipeline.
func (s *Store) Pipeline(_ context.Context, id pipeline.ID) (store.Pipeline, error) {
	if err := s.open(); err != nil {
		return store.Pipeline{}, err
	}
	defer s.mu.Unlock()
	return find(s.pipelines, id)
}

// Pipelines gives all.
func (s *Store) Pipelines(context.Context) ([]store.Pipeline, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var all []store.Pipeline
	for _, id := range slices.Sorted(maps.Keys(s.pipelines)) {
		p, err := s.pipelines[id].thaw()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Config gives one version.
func (s *Store) Config(_ context.Context, id pipeline.ID, version string) (store.Config, error) {
	if err := s.open(); err != nil {
		return store.Config{}, err
	}
	defer s.mu.Unlock()
	return find(s.configs, configKey{id, version})
}

// Configs gives all versions of a pipeline.
func (s *Store) Configs(_ context.Context, id pipeline.ID) ([]store.Config, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var all []store.Config
	for key, kept := range s.configs {
		if key.pipeline != id {
			continue
		}
		c, err := kept.thaw()
		if err != nil {
			return nil, err
		}
		all = append(all, c.WithoutTexts())
	}
	slices.SortFunc(all, func(a, b store.Config) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Version, b.Version)) })
	return all, nil
}

// Deadlines sorts what fits and pages by instant and key.
func (s *Store) Deadlines(_ context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	var none store.Page[store.Deadline]
	after, err := store.AfterDeadline(q.Cursor)
	if err != nil {
		return none, err
	}
	if err := s.open(); err != nil {
		return none, err
	}
	defer s.mu.Unlock()
	var found []store.Deadline
	for _, d := range s.deadlines {
		if q.Wants(d) && (q.Cursor == "" || soonestFirst(d, after) > 0) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, soonestFirst)
	return paged(found, q.Limit, store.DeadlineCursor), nil
}

func soonestFirst(a, b store.Deadline) int {
	return cmp.Or(a.BreachAt.Compare(b.BreachAt), compareKeys(a.Key, b.Key), cmp.Compare(a.Kind, b.Kind))
}

// JobLogs sorts the log of each run.
func (s *Store) JobLogs(_ context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return told(s.log, keys, func(e store.JobEntry) time.Time { return e.At }), nil
}

// told gives the entries of runs that have any, oldest first.
func told[T any](all map[run.Key][]T, keys []run.Key, at func(T) time.Time) map[run.Key][]T {
	found := map[run.Key][]T{}
	for _, key := range keys {
		if entries := all[key]; len(entries) > 0 {
			found[key] = slices.SortedStableFunc(slices.Values(entries), func(a, b T) int { return at(a).Compare(at(b)) })
		}
	}
	return found
}

// Snapshot gives one snapshot.
func (s *Store) Snapshot(_ context.Context, id run.SnapshotID) (store.Snapshot, error) {
	if err := s.open(); err != nil {
		return store.Snapshot{}, err
	}
	defer s.mu.Unlock()
	return find(s.snapshots, id)
}

// PostRun gives what is remembered of one run.
func (s *Store) PostRun(_ context.Context, key run.Key) (store.PostRun, error) {
	if err := s.open(); err != nil {
		return store.PostRun{}, err
	}
	defer s.mu.Unlock()
	return find(s.postRuns, key)
}

// Reruns sorts the requests for each run.
func (s *Store) Reruns(_ context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return told(s.reruns, keys, func(r store.Rerun) time.Time { return r.At }), nil
}

// Marked looks each mark up.
func (s *Store) Marked(_ context.Context, ids []string) (map[string]bool, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	set := map[string]bool{}
	for _, id := range ids {
		if _, there := s.marks[id]; there {
			set[id] = true
		}
	}
	return set, nil
}

// Note gives one note.
func (s *Store) Note(_ context.Context, kind store.NoteKind, key string) (store.Note, error) {
	if err := s.open(); err != nil {
		return store.Note{}, err
	}
	defer s.mu.Unlock()
	return find(s.notes, noteKey{kind, key})
}

// Notes looks at all notes.
func (s *Store) Notes(_ context.Context, kind store.NoteKind) ([]store.Note, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []store.Note
	for key, kept := range s.notes {
		if key.kind != kind {
			continue
		}
		n, err := kept.thaw()
		if err != nil {
			return nil, err
		}
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b store.Note) int { return cmp.Compare(a.Key, b.Key) })
	return found, nil
}

// Dead looks at all letters.
func (s *Store) Dead(_ context.Context, sink string) ([]store.DeadLetter, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []store.DeadLetter
	for key, d := range s.dead {
		if sink == "" || key.sink == sink {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b store.DeadLetter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	return found, nil
}
