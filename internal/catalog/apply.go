package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// namedKinds are the kinds of files that pipelines refer to by name.
var namedKinds = []pipeline.FileKind{pipeline.CalendarFile, pipeline.ArchetypeFile}

// maxTries is how often a commit is retried because another replica committed first.
const maxTries = 5

// Apply judges all files and stores the results, one commit per pipeline: a version that differs
// from the stored one is accepted; a file with problems is rejected (the last good version stays
// active, and each distinct problem is reported once); a pipeline without a file is removed, unless
// its folder lost too many files at once. Applying the same files again changes nothing. With
// several replicas, each stores only the changes it saw: see Share. A pipeline that cannot be
// stored is left for the next call and does not affect the others.
func (c *Catalog) Apply(ctx context.Context, files Files, now time.Time) (Report, error) {
	c.lock()
	defer c.change.Unlock()
	gone, err := c.remembered(ctx, files)
	if err != nil {
		return Report{}, err
	}
	files.Pipelines = append(slices.Clip(files.Pipelines), gone...)
	set := pipeline.Load(files.Pipelines, pipeline.Options{
		Jobs: c.kinds, Calendars: files.Calendars, Archetypes: files.Archetypes, Whole: true, Shared: true, Known: c.unchanged(files), Active: c.active,
		Platform: c.place.platform, TimeLimit: c.place.timeLimit, NoPrograms: c.place.noPrograms, Offers: c.place.offers,
	})
	rows, err := c.rows(ctx)
	if err != nil {
		return Report{Problems: set.Problems}, err
	}
	if err := c.readLedger(ctx); err != nil {
		return Report{Problems: set.Problems}, err
	}
	// Files that pipelines refer to come first, because a change of one changes pipelines.
	failed := c.storeFiles(ctx, namedKinds, c.named(set), files, now)
	verdicts, orphans := c.judge(files.Pipelines, set, rows)
	failed = errors.Join(failed, c.storeFiles(ctx, []pipeline.FileKind{pipeline.PipelineFile}, orphans, files, now))
	for i := range verdicts {
		verdicts[i].since = files.Since
	}
	lost := c.holdLost(verdicts, files, now)
	verdicts, seen := c.ours(verdicts, rows, files)
	report, changed, err := c.storeVerdicts(ctx, verdicts, rows, now)
	report.Problems = set.Problems
	err = errors.Join(err, failed, c.setLost(ctx, lost, now))
	if err == nil && c.shared {
		c.seen.Store(&seen)
	}
	c.beside, c.refused = beside(files), refusedFiles(files.Pipelines, set)
	if changed {
		rows, err = c.again(ctx, rows, err)
	}
	err = errors.Join(err, c.load(ctx, rows, c.fresh(verdicts)))
	err = errors.Join(err, c.applySources(ctx, files, now))
	if c.loadedSources != nil {
		report.Problems = append(slices.Clip(report.Problems), c.loadedSources.Problems...)
	}
	c.note(files, set)
	return report, err
}

// again lists the pipelines after a change, or returns the earlier list if that fails.
func (c *Catalog) again(ctx context.Context, before []store.Pipeline, err error) ([]store.Pipeline, error) {
	rows, failed := c.rows(ctx)
	if failed != nil {
		return before, errors.Join(err, failed)
	}
	return rows, err
}

// fresh returns the definitions just read from files, so that they need not be compiled again.
func (c *Catalog) fresh(verdicts []verdict) map[shelved]*pipeline.Definition {
	known := map[shelved]*pipeline.Definition{}
	for _, v := range verdicts {
		if v.definition != nil && v.definition != c.Current().Definition(v.id) {
			known[shelved{v.id, v.config.Version}] = v.definition
		}
	}
	return known
}

// storeVerdicts stores the verdicts, in order; if very many change something, concurrently. It
// reports whether there was anything to store.
func (c *Catalog) storeVerdicts(ctx context.Context, verdicts []verdict, rows []store.Pipeline, now time.Time) (Report, bool, error) {
	byID := rowsByID(rows)
	var todo []int
	for i, v := range verdicts {
		if b, _ := c.against(v, byID[v.id], byID[store.AllPipelines], now); !b.Empty() {
			todo = append(todo, i)
		}
	}
	workers := 1
	if len(todo) > many {
		workers = atOnce
	}
	stored := c.progress.begin(len(verdicts), "files stored")
	stored.done.Store(int64(len(verdicts) - len(todo)))
	done, did := make([]bool, len(verdicts)), make([]bool, len(verdicts))
	err := together(workers, len(todo), func(n int) (err error) {
		i := todo[n]
		did[i], err = c.storeVerdict(ctx, verdicts[i], byID[verdicts[i].id], byID[store.AllPipelines], now)
		done[i] = err == nil
		stored.done.Add(1)
		return err
	})
	var report Report
	for i, v := range verdicts {
		if done[i] || v.problems != nil {
			report.note(v, did[i])
		}
	}
	return report, len(todo) > 0, err
}

func rowsByID(rows []store.Pipeline) map[pipeline.ID]store.Pipeline {
	byID := make(map[pipeline.ID]store.Pipeline, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	return byID
}

func (r *Report) note(v verdict, did bool) {
	switch {
	case v.problems != nil:
		r.Rejected = append(r.Rejected, v.id)
	case !did:
	case v.definition != nil:
		r.Accepted = append(r.Accepted, v.id)
	default:
		r.Removed = append(r.Removed, v.id)
	}
}

// storeVerdict stores a verdict, and reports whether it is a new version or a removal.
func (c *Catalog) storeVerdict(ctx context.Context, v verdict, row, all store.Pipeline, now time.Time) (bool, error) {
	var err error
	for range maxTries {
		if v.change, err = c.changeBy(ctx, v, row); err != nil {
			break
		}
		b, did := c.against(v, row, all, now)
		if b.Empty() {
			return false, nil
		}
		if len(b.Events) > 0 {
			if err = c.record(ctx, &b, v.change, now); err != nil {
				break
			}
		}
		if err = c.store.Commit(ctx, b, now); err == nil {
			return did, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			break
		}
		if row, err = c.store.Pipeline(ctx, v.id); err != nil && !errors.Is(err, store.ErrNotFound) {
			break
		}
		if all, err = c.store.Pipeline(ctx, store.AllPipelines); err != nil && !errors.Is(err, store.ErrNotFound) {
			break
		}
	}
	return false, fmt.Errorf("store the verdict on pipeline %q: %w", v.id, err)
}

// changeBy returns the change of a pipeline's file that a verdict is about.
func (c *Catalog) changeBy(ctx context.Context, v verdict, row store.Pipeline) (change, error) {
	var before pipeline.Source
	if row.Config != "" {
		active, err := c.store.Config(ctx, row.ID, row.Config)
		if err != nil {
			return change{}, fmt.Errorf("read version %s: %w", row.Config, err)
		}
		before = active.File
	}
	after := v.rejected
	if v.definition != nil {
		after = v.config.File
	}
	ch := c.changeOf(fileKey{pipeline.PipelineFile, string(v.id)}, before, after)
	ch.problems = v.problems
	return ch, nil
}

// pendingFire reports whether the active version, or an earlier one, has a fire that has not been
// handled yet.
func (c *Catalog) pendingFire(row store.Pipeline, now time.Time) bool {
	if len(row.Earlier) > 0 {
		return true
	}
	e := c.Current().Get(row.ID)
	if e == nil || row.Config == "" {
		return false
	}
	for slot := range e.Schedule.Slots(row.FiredThrough.Add(time.Nanosecond)) {
		return !slot.FireAt.IsZero() && !slot.FireAt.After(now)
	}
	return false
}

// judge returns the verdict on each pipeline's files, sorted by id, and the rejected files whose
// pipeline is unknown.
func (c *Catalog) judge(files []pipeline.Source, set *pipeline.Set, rows []store.Pipeline) (all []verdict, orphans []judged) {
	texts := make(map[string]pipeline.Source, len(files))
	for _, f := range files {
		texts[f.File] = f
	}
	byID := make(map[pipeline.ID]*verdict, len(set.Definitions))
	for _, d := range set.Definitions {
		byID[d.ID] = accepted(d, texts[d.File])
	}
	for _, refused := range set.Refused {
		id := c.ownerOf(refused)
		v := byID[id]
		switch {
		case id == "" || v != nil && v.definition != nil:
			orphans = append(orphans, judged{fileKey{kind: pipeline.PipelineFile}, texts[refused.File], errorTexts(set.Problems, refused.File)})
			continue
		case v == nil:
			v = &verdict{id: id}
			byID[id] = v
		}
		v.reject(texts[refused.File], set.Problems)
	}
	for _, row := range rows {
		if byID[row.ID] == nil && (row.Config != "" || row.Problem != "") {
			byID[row.ID] = &verdict{id: row.ID}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		all = append(all, *byID[id])
	}
	return all, orphans
}

// ownerOf returns the pipeline that a rejected file belongs to: the one it names or, if that cannot
// be read, the one last read from the file. It returns "" if there is none.
func (c *Catalog) ownerOf(r pipeline.Refused) pipeline.ID {
	if r.ID != "" {
		return r.ID
	}
	if d := c.active(r.File); d != nil {
		return d.ID
	}
	return ""
}

// active returns the active definition that was read from a file, or nil.
func (c *Catalog) active(file string) *pipeline.Definition {
	for _, e := range c.Current().All() {
		if e.File == file {
			return e.Definition
		}
	}
	return nil
}

const (
	// many is how many commits are made one at a time, so that their events have a defined order.
	// If there are more (the first files of a large installation), they run concurrently and share
	// fsyncs.
	many = 64
	// atOnce is how many then run at once, and how many versions are read at a time.
	atOnce = 32
)

// together calls f for 0..n-1 with that many workers, in order if there is one, and joins the
// errors. A failing call does not stop the others, unless the store is down. It returns when all
// calls have returned.
func together(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for range min(workers, n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				err := f(int(i))
				if err == nil {
					continue
				}
				if errors.Is(err, store.ErrAway) || errors.Is(err, context.Canceled) {
					next.Store(int64(n))
				}
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(errs...)
}

// maxErrors is how many errors together lists.
const maxErrors = 5
