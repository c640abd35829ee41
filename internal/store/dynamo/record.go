package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// Pipeline gives one pipeline.
func (s *Store) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return find[store.Pipeline](ctx, s, pipelineAt(id), "pipeline "+string(id))
}

// Pipelines gives all.
func (s *Store) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	all, err := everyRecord[store.Pipeline](ctx, s, list{table: Control, index: listed, hash: "PIPELINE"})
	if err != nil {
		return nil, fmt.Errorf("list pipelines: %w", err)
	}
	return all, nil
}

// Config gives one version.
func (s *Store) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	return find[store.Config](ctx, s, configAt(id, version), fmt.Sprintf("version %s of pipeline %s", version, id))
}

// Configs gives all versions of a pipeline.
func (s *Store) Configs(ctx context.Context, id pipeline.ID) ([]store.Config, error) {
	all, err := recordsUnder[store.Config](ctx, s, under(Control, partition(id), "CONFIG#"))
	if err != nil {
		return nil, fmt.Errorf("list versions of pipeline %s: %w", id, err)
	}
	for i := range all {
		all[i] = all[i].WithoutTexts()
	}
	slices.SortFunc(all, func(a, b store.Config) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Version, b.Version)) })
	return all, nil
}

func recordsUnder[T any](ctx context.Context, s *Store, of span) ([]T, error) {
	rows, err := s.all(ctx, of)
	if err != nil {
		return nil, err
	}
	return decodeAll[T](rows)
}

// Deadlines pages by instant and key. Those that are armed have lists of their own, which closed ones do not make longer.
func (s *Store) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	last, err := store.AfterDeadline(q.Cursor)
	if err != nil {
		return store.Page[store.Deadline]{}, err
	}
	after := ""
	if q.Cursor != "" {
		after = deadlinePlace(last)
	}
	l := list{table: Control, index: listed, hash: "DEADLINE"}
	armed := q.State == string(sla.Armed)
	switch {
	case q.Pipeline != "" && armed:
		l = list{table: Control, index: unfinished, hash: partition(q.Pipeline), prefix: "DEADLINE#"}
	case q.Pipeline != "":
		l = list{table: Control, index: ordered, hash: partition(q.Pipeline), prefix: "DEADLINE#"}
	case armed:
		l.index = pending
	}
	if !q.From.IsZero() {
		l.from = join("DEADLINE", store.Nanos(q.From))
	}
	if !q.To.IsZero() {
		l.before = join("DEADLINE", store.Nanos(q.To))
	}
	read := records[store.Deadline](ctx, s, l)
	if q.Key != (run.Key{}) {
		read = s.deadlinesOf(ctx, q.Key)
	}
	page, err := store.PageOf(q.Limit, after, read, q.Wants, store.DeadlineCursor)
	if err != nil {
		return page, fmt.Errorf("list deadlines: %w", err)
	}
	return page, nil
}

// deadlinesOf reads the deadlines of a run by their names.
func (s *Store) deadlinesOf(ctx context.Context, key run.Key) store.Piece[store.Deadline] {
	return func(after string, limit int) ([]store.Deadline, string, error) {
		rows, err := s.rows(ctx, []address{deadlineAt(key, store.Absolute), deadlineAt(key, store.Relative)})
		if err != nil {
			return nil, "", err
		}
		all, err := decodeAll[store.Deadline](slices.Collect(maps.Values(rows)))
		slices.SortFunc(all, func(a, b store.Deadline) int { return cmp.Compare(deadlinePlace(a), deadlinePlace(b)) })
		all = slices.DeleteFunc(all, func(d store.Deadline) bool { return deadlinePlace(d) <= after })
		if all = all[:min(limit, len(all))]; len(all) > 0 {
			after = deadlinePlace(all[len(all)-1])
		}
		return all, after, err
	}
}

// Snapshot gives one snapshot.
func (s *Store) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	return find[store.Snapshot](ctx, s, snapshotAt(id), "snapshot "+string(id))
}

// PostRun gives what is remembered of one run.
func (s *Store) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return find[store.PostRun](ctx, s, baselineAt(key), "post-run of "+key.String())
}

// Marked looks each mark up.
func (s *Store) Marked(ctx context.Context, ids []string) (map[string]bool, error) {
	var at []address
	for _, id := range ids {
		at = append(at, markAt(id))
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read marks: %w", err)
	}
	set := map[string]bool{}
	for _, id := range ids {
		if rows[markAt(id)] != nil {
			set[id] = true
		}
	}
	return set, nil
}

// Note gives one note.
func (s *Store) Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error) {
	return find[store.Note](ctx, s, noteAt(kind, key), fmt.Sprintf("note %s %s", kind, key))
}

// Notes gives all of a kind.
func (s *Store) Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error) {
	of := span{table: Events, hash: noteAt(kind, "").pk, low: " ", high: last}
	all, err := recordsUnder[store.Note](ctx, s, of)
	if err != nil {
		return nil, fmt.Errorf("list notes of kind %s: %w", kind, err)
	}
	return all, nil
}

// Dead reads the letters of one sink, or of all.
func (s *Store) Dead(ctx context.Context, sink string) ([]store.DeadLetter, error) {
	of := span{table: Control, hash: "DEAD", low: " ", high: last}
	if sink != "" {
		of.low, of.high = sink+"#", sink+"#"+last
	}
	all, err := recordsUnder[store.DeadLetter](ctx, s, of)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	slices.SortFunc(all, func(a, b store.DeadLetter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	return all, nil
}
