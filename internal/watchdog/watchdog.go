// Package watchdog detects what did not happen. It runs on its own timer and checks configuration
// and rows rather than tasks, so that a lost change, a lost task or a controller outage does not go
// unnoticed. A check that fails does not stop the others, and a pipeline that cannot be checked
// does not stop the check for other pipelines; WATCHDOG_DEGRADED names both.
//
// A check considers only settled facts: older than one interval and already passed by the feed, so
// that a lagging feed raises no false alarm. It repairs what it finds or reports it once; a mark
// stored in the same commit prevents a second report.
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
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// records is the part of the store that the watchdog uses.
type records interface {
	store.Committer
	store.Reader
	Backlog(ctx context.Context, group string) (int, time.Time, error)
	Task(ctx context.Context, id string) (store.Task, error)
}

// mender is the part of package router that the watchdog uses.
type mender interface {
	Recover(ctx context.Context, id pipeline.ID, c store.Change, now time.Time) error
	CatchUp(ctx context.Context, id pipeline.ID, now time.Time) error
	CloseStart(ctx context.Context, key run.Key, now time.Time) (bool, error)
	SettleFailed(ctx context.Context, key run.Key, now time.Time) (bool, error)
	Rewind(ctx context.Context, id pipeline.ID, clock func() time.Time) error
}

// ledger is the part of package slamonitor that the watchdog uses.
type ledger interface {
	FireOverdue(ctx context.Context, d store.Deadline, now time.Time) error
}

// Deps are the dependencies of a Watchdog.
type Deps struct {
	Store     records
	Catalog   *catalog.Catalog
	Router    mender
	Deadlines ledger
	Group     string // the router's consumer group in the feed
	Interval  time.Duration
	History   time.Duration // how long readings are kept; 0 means for ever
	// Workers is how many pipelines are checked at once, useful for a remote store. 0 and 1 mean
	// one at a time.
	Workers int
	// Overview, if set, saves queries to a remote store for pipelines in which nothing happened.
	Overview Overview
}

// Watchdog detects missing runs, fires, deadlines and readings.
type Watchdog struct {
	Deps
	degraded string // failures of the last pass, to report only changes
	followed memory // runs whose post-run sensors need no further check
	// How far the checks that read the past have come.
	unopened, missing reach
	hadSources        bool // event sources have existed since the process started
}

// New returns a watchdog. Its passes must not overlap.
func New(d Deps) *Watchdog { return &Watchdog{Deps: d} }

// check is one kind of check. run returns the number of findings.
type check struct {
	name string
	run  func(ctx context.Context, p pass) (int, error)
}

// checks lists the nine checks.
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

// pass is the data of one pass over all checks.
type pass struct {
	now     time.Time
	settled time.Time // facts up to this instant are settled
	entries []watched
}

// watched is an active pipeline with the parts of its row that the checks need. There are very many
// pipelines, and a whole row is several times as large.
type watched struct {
	*catalog.Entry
	fired    time.Time // fires up to this time have been handled
	accepted time.Time // when the active version was accepted
	latest   time.Time // the latest instant in its row
	paused   bool      // paused: nothing is expected of it
	holdsSLA bool
}

func newWatched(e *catalog.Entry, row store.Pipeline) watched {
	w := watched{Entry: e, fired: row.FiredThrough, accepted: row.AcceptedAt, paused: row.Paused(), holdsSLA: row.HoldsSLA()}
	for _, at := range []time.Time{row.FiredThrough, row.Horizon, row.AcceptedAt} {
		w.latest = period.Later(w.latest, at)
	}
	for _, a := range row.Earlier {
		w.latest = period.Later(w.latest, a.At)
	}
	return w
}

// Report is the result of a pass: findings by check, and the checks that failed, at least for some
// pipelines.
type Report struct {
	Findings map[string]int
	Failed   []string
}

// degraded is a failed check: for all pipelines, unless it lists some.
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

// firstOf lists the first few names, and how many more there are.
func firstOf(names []string) string {
	if more := len(names) - maxShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Pass runs all checks once. The error joins the errors of checks that failed; the other checks
// have run all the same.
func (w *Watchdog) Pass(ctx context.Context, clock func() time.Time) (Report, error) {
	report := Report{Findings: map[string]int{}}
	p, err := w.prepare(ctx, clock())
	if err != nil {
		return report, err
	}
	var errs []error
	var all []degraded
	if err := w.correctClock(ctx, &p, clock); err != nil {
		errs = append(errs, fmt.Errorf("clock: %w", err))
	}
	for _, c := range w.checks() {
		err := panicked.Catch(func() (err error) {
			report.Findings[c.name], err = c.run(ctx, p)
			return err
		})
		if err != nil {
			report.Failed = append(report.Failed, c.name)
			all = append(all, degraded{c.name, pipelines(err)})
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	errs = append(errs, w.emitDegraded(ctx, all, errs, p.now))
	return report, errors.Join(errs...)
}

// prepare reads the data that every check needs.
func (w *Watchdog) prepare(ctx context.Context, now time.Time) (pass, error) {
	p := pass{now: now, settled: now.Add(-w.Interval)}
	entries := w.Catalog.Current().All()
	n, oldest, err := w.Store.Backlog(ctx, w.Group)
	if err != nil {
		return p, fmt.Errorf("read the feed's backlog: %w", err)
	}
	if n > 0 && !oldest.After(p.settled) {
		p.settled = oldest.Add(-time.Nanosecond) // the oldest change is not handled yet
	}
	p.entries, err = w.together(ctx, entries)
	return p, err
}

// together joins entries with their rows; both are sorted by id.
func (w *Watchdog) together(ctx context.Context, entries []*catalog.Entry) ([]watched, error) {
	all := make([]watched, 0, len(entries))
	upTo := func(id pipeline.ID) { // entries before it have no row
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

// maxNamed bounds the pipelines listed in the detail of an event.
const maxNamed = 100

// emitDegraded emits WATCHDOG_DEGRADED if the failures, by check and pipeline, differ from those of
// the previous pass.
func (w *Watchdog) emitDegraded(ctx context.Context, all []degraded, errs []error, now time.Time) error {
	standing := fmt.Sprint(all)
	if standing == w.degraded {
		return nil
	}
	if len(all) > 0 {
		detail := event.Degraded{Checks: []string{}, Pipelines: []string{}}
		texts := make([]string, len(all))
		for i, d := range all {
			texts[i] = d.String()
			detail.Checks = append(detail.Checks, d.check)
			detail.Pipelines = append(detail.Pipelines, d.pipelines...)
		}
		slices.Sort(detail.Pipelines)
		detail.Pipelines = slices.Compact(detail.Pipelines)
		detail.Pipelines = detail.Pipelines[:min(len(detail.Pipelines), maxNamed)]
		which := strings.Join(detail.Checks, ",") + "@" + period.Exact(now)
		b := store.Batch{ID: "watchdog/" + which}
		b.Emit(event.New(event.WatchdogDegraded, event.About{Which: which, At: now},
			fmt.Sprintf("%d of %d checks failed: %s", len(all), len(w.checks()), strings.Join(texts, ", ")), detail))
		if err := w.Store.Commit(ctx, b, now); err != nil {
			return fmt.Errorf("report that the watchdog is degraded: %w", errors.Join(append(errs, err)...))
		}
	}
	w.degraded = standing
	return nil
}

// silentSources finds sources whose events are missing: they have been silent for longer than on
// any of the last days with events. Each silence is reported once; it ends with the next event or
// the removal of the source.
func (w *Watchdog) silentSources(ctx context.Context, p pass) (int, error) {
	sources := w.Catalog.Sources()
	if len(sources.All()) == 0 && !w.hadSources {
		return 0, nil
	}
	w.hadSources = true
	return ingest.CheckSilence(ctx, w.Store, sources, p.now)
}
