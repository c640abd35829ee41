package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// find reads a record that is kept with its version.
func find[T any](ctx context.Context, s *Store, parts ...string) (T, error) {
	return one[T](s, func() *redis.StringCmd { return s.client.HGet(ctx, s.key(parts...), "json") })
}

// one reads a record that one command gives.
func one[T any](s *Store, ask func() *redis.StringCmd) (none T, err error) {
	if err := s.open(); err != nil {
		return none, err
	}
	text, err := ask().Result()
	if isNothing(err) {
		return none, store.ErrNotFound
	}
	if err != nil {
		return none, s.fault(err)
	}
	return decode[T](text)
}

// list reads records that one command gives.
func list[T any](s *Store, ask func() *redis.StringSliceCmd) ([]T, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	texts, err := ask().Result()
	if err != nil {
		return nil, s.fault(err)
	}
	var all []T
	for _, text := range texts {
		item, err := decode[T](text)
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// named says what could not be read.
func named[T any](v T, err error) func(format string, args ...any) (T, error) {
	return func(format string, args ...any) (T, error) {
		if err != nil {
			var none T
			return none, fmt.Errorf("read "+format+": %w", append(args, err)...)
		}
		return v, nil
	}
}

// Pipeline gives one pipeline.
func (s *Store) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return named(find[store.Pipeline](ctx, s, "pipeline", string(id)))("pipeline %s", id)
}

// Pipelines gives all.
func (s *Store) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	ids, err := s.client.SMembers(ctx, s.key("pipelines")).Result()
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", s.fault(err))
	}
	slices.Sort(ids)
	for i, id := range ids {
		ids[i] = "pipeline:" + id
	}
	return named(records[store.Pipeline](ctx, s, ids))("pipelines")
}

// records reads those with these names, all in one go; those that are not there are left out.
func records[T any](ctx context.Context, s *Store, names []string) ([]T, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	answers := make([]*redis.StringCmd, len(names))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			answers[i] = p.HGet(ctx, s.key(name), "json")
		}
		return nil
	})
	if err != nil && !isNothing(err) {
		return nil, s.fault(err)
	}
	var all []T
	for _, answer := range answers {
		item, err := one[T](s, func() *redis.StringCmd { return answer })
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// Config gives one version.
func (s *Store) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	return named(one[store.Config](s, func() *redis.StringCmd {
		return s.client.HGet(ctx, s.key("config", string(id)), version)
	}))("version %s of pipeline %s", version, id)
}

// Configs gives all versions of a pipeline.
func (s *Store) Configs(ctx context.Context, id pipeline.ID) ([]store.Config, error) {
	all, err := list[store.Config](s, func() *redis.StringSliceCmd { return s.client.HVals(ctx, s.key("config", string(id))) })
	for i := range all {
		all[i] = all[i].WithoutTexts()
	}
	slices.SortFunc(all, func(a, b store.Config) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Version, b.Version)) })
	return named(all, err)("versions of pipeline %s", id)
}

// Deadlines pages by instant and key.
func (s *Store) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	last, err := store.AfterDeadline(q.Cursor)
	if err != nil {
		return store.Page[store.Deadline]{}, err
	}
	after, before := "", ""
	if q.Cursor != "" {
		after = listedDeadline(last)
	}
	if !q.From.IsZero() {
		after = max(after, store.Nanos(q.From))
	}
	if !q.To.IsZero() {
		before = store.Nanos(q.To)
	}
	set := "deadlines"
	if id := cmp.Or(q.Pipeline, q.Key.Pipeline); id != "" {
		set += ":" + string(id)
	}
	read := listPiece[store.Deadline](ctx, s, sorted{set: set, wide: 2 * store.Width, records: "deadline:", before: before})
	page, err := store.PageOf(q.Limit, after, read, q.Wants, store.DeadlineCursor)
	return named(page, err)("deadlines")
}

// JobLogs reads all logs in one go.
func (s *Store) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	return named(told(ctx, s, keys, runLog, func(e store.JobEntry) time.Time { return e.At }))("job logs")
}

// Reruns reads all requests in one go.
func (s *Store) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	hash := func(key run.Key) string { return "reruns:" + key.String() }
	return named(told(ctx, s, keys, hash, func(r store.Rerun) time.Time { return r.At }))("reruns")
}

// told reads the entries of runs, each of which has a hash of them.
func told[T any](ctx context.Context, s *Store, keys []run.Key, hash func(run.Key) string, at func(T) time.Time) (map[run.Key][]T, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	answers := make([]*redis.StringSliceCmd, len(keys))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			answers[i] = p.HVals(ctx, s.key(hash(key)))
		}
		return nil
	})
	if err != nil {
		return nil, s.fault(err)
	}
	found := map[run.Key][]T{}
	for i, answer := range answers {
		entries, err := oldestFirst(answer.Val(), at)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			found[keys[i]] = entries
		}
	}
	return found, nil
}

// oldestFirst reads the entries of a run, each of which begins with its number in the order of appending.
func oldestFirst[T any](texts []string, at func(T) time.Time) ([]T, error) {
	type entry struct {
		number int
		item   T
	}
	var all []entry
	for _, text := range texts {
		number, body, _ := strings.Cut(text, "\n")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("read stored entry: %w", err)
		}
		item, err := decode[T](body)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{n, item})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(at(a.item).Compare(at(b.item)), cmp.Compare(a.number, b.number)) })
	var out []T
	for _, e := range all {
		out = append(out, e.item)
	}
	return out, nil
}

// Snapshot gives one snapshot.
func (s *Store) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	return named(one[store.Snapshot](s, func() *redis.StringCmd { return s.client.Get(ctx, s.key("snapshot", string(id))) }))("snapshot %s", id)
}

// PostRun gives what is remembered of one run.
func (s *Store) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return named(find[store.PostRun](ctx, s, "baseline", key.String()))("post-run of %s", key)
}

// Marked looks each mark up.
func (s *Store) Marked(ctx context.Context, ids []string) (map[string]bool, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	set := map[string]bool{}
	if len(ids) == 0 {
		return set, nil
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.key("mark", id)
	}
	values, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, fmt.Errorf("read marks: %w", s.fault(err))
	}
	for i, value := range values {
		if value != nil {
			set[ids[i]] = true
		}
	}
	return set, nil
}

// Note gives one note.
func (s *Store) Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error) {
	return named(find[store.Note](ctx, s, noteName(kind, key)))("note %s %s", kind, key)
}

// Notes gives all of a kind.
func (s *Store) Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error) {
	keys, err := s.client.ZRange(ctx, s.key("notes", escape(string(kind))), 0, -1).Result() // in the order of their texts
	if err != nil {
		return nil, fmt.Errorf("read notes of kind %s: %w", kind, s.fault(err))
	}
	for i, key := range keys {
		keys[i] = noteName(kind, key)
	}
	return named(records[store.Note](ctx, s, keys))("notes of kind %s", kind)
}

// Dead reads the letters of one sink, or of all.
func (s *Store) Dead(ctx context.Context, sink string) ([]store.DeadLetter, error) {
	sinks := []string{sink}
	if sink == "" {
		var err error
		if sinks, err = s.client.SMembers(ctx, s.key("dead")).Result(); err != nil {
			return nil, fmt.Errorf("read dead letters: %w", s.fault(err))
		}
	}
	var all []store.DeadLetter
	for _, sink := range sinks {
		some, err := list[store.DeadLetter](s, func() *redis.StringSliceCmd { return s.client.HVals(ctx, s.key("dead", sink)) })
		if err != nil {
			return nil, fmt.Errorf("read dead letters of %s: %w", sink, err)
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b store.DeadLetter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Event.ID, b.Event.ID))
	})
	return all, nil
}
