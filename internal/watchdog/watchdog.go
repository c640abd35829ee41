// Package watchdog notices what did not happen. It looks on its own tick and with its own eyes, at configuration and rows
// rather than at tasks, so that a lost change, a lost task or a controller that was away leaves no silence. Each of its
// nine checks has a file. A check that fails does not stop the others, nor does a pipeline that cannot be checked stop the
// check for the others; WATCHDOG_DEGRADED names both.
//
// A check reacts only to facts that have settled: older than one interval, and passed by the feed, so that a feed that
// lags raises no false alarm. What it finds it mends or tells once; what was told is stored with it.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// records is what the watchdog needs of a store.
type records interface {
	store.Committer
	store.Reader
	Backlog(ctx context.Context, group string) (int, time.Time, error)
	Task(ctx context.Context, id string) (store.Task, error)
}

// mender is what the watchdog asks of package router.
type mender interface {
	Recover(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error
	CatchUp(ctx context.Context, id pipeline.ID, now time.Time) error
	CloseStart(ctx context.Context, key run.Key, now time.Time) (bool, error)
	Rewind(ctx context.Context, id pipeline.ID, now time.Time) error
}

// ledger is what the watchdog asks of package slamonitor.
type ledger interface {
	Look(ctx context.Context, key run.Key, now time.Time) error
}

// Deps is what a Watchdog works with.
type Deps struct {
	Store     records
	Catalog   *catalog.Catalog
	Router    mender
	Deadlines ledger
	Group     string // the router's place in the feed
	Interval  time.Duration
	// Workers is how many pipelines are looked at at once, where each look waits for a distant store; one after the other
	// unless it is more than 1.
	Workers int
	// Overview, where there is one, spares asking a distant store about each pipeline in which nothing happened.
	Overview Overview
}

// Watchdog looks for what is missing.
type Watchdog struct {
	Deps
	degraded string // what failed in the last pass, so that a change is reported
	followed memory // what needs no further look for post-run sensors
	// How far the checks have come that go through what happened.
	unopened, missing reach
	hadSources        bool // there were sources of events since it began
}

// New is a watchdog over d. Its passes must not overlap.
func New(d Deps) *Watchdog { return &Watchdog{Deps: d} }

// check is one thing that is looked for. It gives the number of findings.
type check struct {
	name string
	look func(ctx context.Context, p pass) (int, error)
}

// checks lists the nine.
func (w *Watchdog) checks() []check {
	return []check{
		{"stale-runs", w.staleRuns},
		{"missed-fires", w.missedFires},
		{"missed-include-dates", w.missedIncludeDates},
		{"unopened-runs", w.unopenedRuns},
		{"unarmed-deadlines", w.unarmedDeadlines},
		{"start-deadlines", w.startDeadlines},
		{"missing-post-run-sensors", w.missingSensors},
		{"unfired-deadlines", w.unfiredDeadlines},
		{"silent-sources", w.silentSources},
	}
}

// Checks returns the names of the checks.
func Checks() []string {
	var names []string
	for _, c := range new(Watchdog).checks() {
		names = append(names, c.name)
	}
	return names
}

// pass is one look at everything.
type pass struct {
	now     time.Time
	settled time.Time // facts up to this instant can be judged
	entries []watched
}

// watched is a pipeline in force and what the checks need of its row. There are very many, and the rows are several times
// as large.
type watched struct {
	*catalog.Entry
	fired    time.Time // up to when fires have been dealt with
	accepted time.Time // its version in force
	latest   time.Time // the last instant that its schedule has been moved to
	paused   bool      // nothing is expected of it now
	holdsSLA bool
}

func newWatched(e *catalog.Entry, row store.Pipeline) watched {
	w := watched{Entry: e, fired: row.FiredThrough, accepted: row.AcceptedAt, paused: row.Paused(), holdsSLA: row.HoldsSLA()}
	for _, at := range []time.Time{row.FiredThrough, row.Horizon, row.AcceptedAt} {
		if at.After(w.latest) {
			w.latest = at
		}
	}
	return w
}

// Report is what one pass found, by check, and which checks failed, at least for some pipelines.
type Report struct {
	Findings map[string]int
	Failed   []string
}

// degraded is a check that failed: for all pipelines, unless it names some.
type degraded struct {
	check     string
	pipelines []string
}

func (d degraded) String() string {
	if len(d.pipelines) == 0 {
		return d.check
	}
	return fmt.Sprintf("%s (%s)", d.check, firstOf(d.pipelines))
}

// firstOf lists the first of names, and how many more there are.
func firstOf(names []string) string {
	if more := len(names) - maxShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Pass looks at everything once. The error joins what kept checks from looking; the others have looked all the same.
func (w *Watchdog) Pass(ctx context.Context, now time.Time) (Report, error) {
	report := Report{Findings: map[string]int{}}
	p, err := w.prepare(ctx, now)
	if err != nil {
		return report, err
	}
	var errs []error
	var all []degraded
	if err := w.correctClock(ctx, &p); err != nil {
		errs = append(errs, fmt.Errorf("clock: %w", err))
	}
	for _, c := range w.checks() {
		err := panicked.Catch(func() (err error) {
			report.Findings[c.name], err = c.look(ctx, p)
			return err
		})
		if err != nil {
			report.Failed = append(report.Failed, c.name)
			all = append(all, degraded{c.name, pipelines(err)})
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	errs = append(errs, w.tellDegraded(ctx, all, errs, now))
	return report, errors.Join(errs...)
}

// prepare reads what every check needs, once.
func (w *Watchdog) prepare(ctx context.Context, now time.Time) (pass, error) {
	p := pass{now: now, settled: now.Add(-w.Interval)}
	entries := w.Catalog.Current().All()
	n, oldest, err := w.Store.Backlog(ctx, w.Group)
	if err != nil {
		return p, fmt.Errorf("read the feed's backlog: %w", err)
	}
	if n > 0 && !oldest.After(p.settled) {
		p.settled = oldest.Add(-time.Nanosecond) // the oldest itself is still to come
	}
	p.entries, err = w.together(ctx, entries)
	return p, err
}

// together puts entries and their rows together; both come by id.
func (w *Watchdog) together(ctx context.Context, entries []*catalog.Entry) ([]watched, error) {
	all := make([]watched, 0, len(entries))
	upTo := func(id pipeline.ID) { // those before it have no row
		for len(all) < len(entries) && entries[len(all)].ID < id {
			all = append(all, newWatched(entries[len(all)], store.Pipeline{}))
		}
	}
	err := w.Store.EachPipeline(ctx, func(row store.Pipeline) error {
		if upTo(row.ID); len(all) < len(entries) && entries[len(all)].ID == row.ID {
			all = append(all, newWatched(entries[len(all)], row))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list pipelines: %w", err)
	}
	for _, e := range entries[len(all):] {
		all = append(all, newWatched(e, store.Pipeline{}))
	}
	return all, nil
}

// maxNamed bounds the pipelines in the detail of an event.
const maxNamed = 100

// tellDegraded emits WATCHDOG_DEGRADED when other checks, or the same for other pipelines, fail than in the pass before.
func (w *Watchdog) tellDegraded(ctx context.Context, all []degraded, errs []error, now time.Time) error {
	standing := fmt.Sprint(all)
	if standing == w.degraded {
		return nil
	}
	if len(all) > 0 {
		told := event.Degraded{Checks: []string{}, Pipelines: []string{}}
		texts := make([]string, len(all))
		for i, d := range all {
			texts[i] = d.String()
			told.Checks = append(told.Checks, d.check)
			told.Pipelines = append(told.Pipelines, d.pipelines...)
		}
		slices.Sort(told.Pipelines)
		told.Pipelines = slices.Compact(told.Pipelines)
		told.Pipelines = told.Pipelines[:min(len(told.Pipelines), maxNamed)]
		which := strings.Join(told.Checks, ",") + "@" + now.UTC().Format(time.RFC3339Nano)
		b := store.Batch{ID: "watchdog/" + which}
		b.Emit(event.New(event.WatchdogDegraded, event.About{Which: which, At: now},
			fmt.Sprintf("%d of %d checks failed: %s", len(all), len(w.checks()), strings.Join(texts, ", ")), told))
		if err := w.Store.Commit(ctx, b, now); err != nil {
			return fmt.Errorf("report that the watchdog is degraded: %w", errors.Join(append(errs, err)...))
		}
	}
	w.degraded = standing
	return nil
}

// once commits a finding that its mark tells only once. It says whether it was news.
func (w *Watchdog) once(ctx context.Context, mark string, forget time.Time, now time.Time, fill func(b *store.Batch)) (bool, error) {
	told, err := w.Store.Marked(ctx, []string{mark})
	if err != nil || told[mark] {
		return false, err
	}
	b := store.Batch{ID: mark}
	b.SetMark(mark, forget)
	fill(&b)
	err = w.Store.Commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		return false, nil // somebody else was first
	}
	return err == nil, err
}
