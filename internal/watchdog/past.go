package watchdog

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// The checks read the past page by page: as far back as it can matter, and never all of it at once.

// wantedWrites selects writes of a sensor: the latest page, and all earlier ones since an instant.
// If an overview lists them, only those for which counts is true are read.
type wantedWrites struct {
	source
	since  time.Time
	named  written
	counts func(at time.Time) bool
}

// eachWritten iterates over the writes of a sensor in pages, newest first. The caller may modify a
// page.
func (w *Watchdog) eachWritten(ctx context.Context, of wantedWrites) iter.Seq2[[]*sensor.Reading, error] {
	if of.named != nil {
		return w.namedWrites(ctx, of)
	}
	return func(yield func([]*sensor.Reading, error) bool) {
		q := store.HistoryQuery{Pipeline: of.owner, Key: of.key, Limit: openingsPage}
		for {
			page, err := w.Store.History(ctx, q)
			if err != nil {
				yield(nil, fmt.Errorf("read history of sensor %s of %s: %w", q.Key, q.Pipeline, err))
				return
			}
			last := page.Next == "" || page.Items[len(page.Items)-1].UpdatedAt.Before(of.since)
			if !yield(page.Items, nil) || last {
				return
			}
			q.Cursor = page.Next
		}
	}
}

func (w *Watchdog) namedWrites(ctx context.Context, of wantedWrites) iter.Seq2[[]*sensor.Reading, error] {
	return func(yield func([]*sensor.Reading, error) bool) {
		latest := true
		for names := range slices.Chunk(of.named[of.source], openingsPage) {
			if !latest && names[0].at.Before(of.since) {
				return
			}
			latest = false
			page, err := w.writesNamed(ctx, of, names)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// writesNamed reads the listed writes for which counts is true.
func (w *Watchdog) writesNamed(ctx context.Context, of wantedWrites, names []writing) ([]*sensor.Reading, error) {
	var ids []store.WriteID
	for _, one := range names {
		if of.counts(one.at) {
			ids = append(ids, store.WriteID{Pipeline: of.owner, Key: of.key, Version: one.version})
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := w.Store.Writes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read writes of sensor %s of %s: %w", of.key, of.owner, err)
	}
	var all []*sensor.Reading
	for _, id := range ids {
		if r := found[id]; r != nil {
			all = append(all, r)
		}
	}
	return all, nil
}

// wantedRuns selects completed runs of a pipeline: the latest page, and all others that ended since
// an instant. If an overview lists them, only those for which counts is true are read.
type wantedRuns struct {
	entry  *catalog.Entry
	since  time.Time
	page   int
	named  completed
	counts func(completion) bool
}

// runLate is how long after it was due a completed run is sure to be found. One that completed
// later, as in a backfill, is found only if it is on the latest page or in an overview.
const runLate = 24 * time.Hour

// eachCompleted iterates over the completed runs of a pipeline in pages, latest period first. It
// may include runs that ended before since.
func (w *Watchdog) eachCompleted(ctx context.Context, of wantedRuns) iter.Seq2[[]run.Run, error] {
	if of.named != nil {
		return w.namedRuns(ctx, of)
	}
	return func(yield func([]run.Run, error) bool) {
		q := store.RunQuery{Pipeline: of.entry.ID, Status: run.Completed, Limit: of.page}
		for {
			page, err := w.Store.Runs(ctx, q)
			if err != nil {
				yield(nil, fmt.Errorf("list completed runs of %s: %w", q.Pipeline, err))
				return
			}
			last := page.Next == "" || of.beyond(page.Items[len(page.Items)-1])
			if !yield(page.Items, nil) || last {
				return
			}
			q.Cursor = page.Next
		}
	}
}

// beyond reports whether r, and so every run after it in the list, was due too early to be wanted.
func (of wantedRuns) beyond(r run.Run) bool {
	return of.entry.Schedule.OpensFrom(r.Period).Before(of.since.Add(-runLate))
}

func (w *Watchdog) namedRuns(ctx context.Context, of wantedRuns) iter.Seq2[[]run.Run, error] {
	return func(yield func([]run.Run, error) bool) {
		for names := range slices.Chunk(of.named[of.entry.ID], of.page) {
			page, err := w.runsNamed(ctx, of, names)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// runsNamed reads the listed runs for which counts is true and which are still completed.
func (w *Watchdog) runsNamed(ctx context.Context, of wantedRuns, names []completion) ([]run.Run, error) {
	var keys []run.Key
	for _, one := range names {
		if of.counts(one) {
			keys = append(keys, one.key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := w.Store.RunsAt(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read completed runs of %s: %w", of.entry.ID, err)
	}
	var all []run.Run
	for _, key := range keys {
		if r, there := found[key]; there && r.Status == run.Completed {
			all = append(all, r)
		}
	}
	return all, nil
}

// reach records how far a check has come: in the pass at that time it checked everything up to
// settled. It is lost on restart; then the check goes back to its full look-back.
type reach struct{ at, settled time.Time }

// judged identifies an attempt that a check has finished with, for one version of the pipeline's
// file.
type judged struct {
	run     run.Key
	attempt int
	config  string
}

func judgedBy(e *catalog.Entry, key run.Key, attempt int) judged {
	return judged{key, attempt, e.Version}
}

// memory remembers the attempts that a check has finished with, so that it does not check them in
// every pass. It is lost on restart; then they are checked once more. Attempts not met during a
// whole pass are forgotten.
type memory struct {
	mu          sync.Mutex
	before, now map[judged]bool
}

// begin starts a pass.
func (m *memory) begin() { m.before, m.now = m.now, map[judged]bool{} }

// has reports whether an earlier pass finished with an attempt.
func (m *memory) has(j judged) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before[j] {
		m.now[j] = true
	}
	return m.before[j]
}

// keep records that the check has finished with an attempt.
func (m *memory) keep(j judged) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now[j] = true
}
