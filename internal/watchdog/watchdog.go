// Package watchdog notices what did not happen. It looks on its own tick and with its own eyes, at configuration and rows
// rather than at tasks, so that a lost change, a lost task or a controller that was away leaves no silence. Each of its
// eight checks has a file. One that fails does not stop the others and is named in WATCHDOG_DEGRADED.
//
// A check reacts only to facts that have settled: older than one interval, and passed by the feed, so that a feed that
// lags raises no false alarm. What it finds it mends or tells once; what was told is stored with it.
package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
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
	degraded string // the checks that failed in the last pass, so that it is told when that changes
	followed memory // what needs no further look for post-run sensors
	// How far the checks have come that go through what happened.
	unopened, missing reach
}

// New is a watchdog over d. Its passes must not overlap.
func New(d Deps) *Watchdog { return &Watchdog{Deps: d} }

// check is one thing that is looked for. It gives the number of findings.
type check struct {
	name string
	look func(ctx context.Context, p pass) (int, error)
}

// checks lists the eight.
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
	}
}

// pass is one look at everything.
type pass struct {
	now     time.Time
	settled time.Time // facts up to this instant can be judged
	entries []watched
}

// watched is a pipeline in force and its row.
type watched struct {
	*catalog.Entry
	row *store.Pipeline
}

// paused says that nothing is expected of the pipeline now.
func (e watched) paused() bool { return !e.row.Pause.Since.IsZero() }

// Report is what one pass found, by check, and which checks could not look.
type Report struct {
	Findings map[string]int
	Failed   []string
}

// Pass looks at everything once. The error joins what kept checks from looking; the others have looked all the same.
func (w *Watchdog) Pass(ctx context.Context, now time.Time) (Report, error) {
	report := Report{Findings: map[string]int{}}
	p, err := w.prepare(ctx, now)
	if err != nil {
		return report, err
	}
	var errs []error
	for _, c := range w.checks() {
		n, err := c.look(ctx, p)
		report.Findings[c.name] = n
		if err != nil {
			report.Failed = append(report.Failed, c.name)
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	errs = append(errs, w.tellDegraded(ctx, report.Failed, errs, now))
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
	rows, err := w.Store.Pipelines(ctx)
	if err != nil {
		return p, fmt.Errorf("list pipelines: %w", err)
	}
	p.entries = together(entries, rows)
	return p, nil
}

// together puts entries and rows together; both come by id.
func together(entries []*catalog.Entry, rows []store.Pipeline) []watched {
	all := make([]watched, len(entries))
	var none store.Pipeline
	for i, e := range entries {
		for len(rows) > 0 && rows[0].ID < e.ID {
			rows = rows[1:]
		}
		all[i] = watched{e, &none}
		if len(rows) > 0 && rows[0].ID == e.ID {
			all[i].row = &rows[0]
		}
	}
	return all
}

// tellDegraded tells when the set of checks that cannot look changes for the worse or the other.
func (w *Watchdog) tellDegraded(ctx context.Context, failed []string, errs []error, now time.Time) error {
	names := strings.Join(failed, ",")
	if names == w.degraded {
		return nil
	}
	if names != "" {
		which := names + "@" + now.UTC().Format(time.RFC3339Nano)
		b := store.Batch{ID: "watchdog/" + which}
		b.Emit(event.New(event.WatchdogDegraded, event.About{Which: which, At: now},
			fmt.Sprintf("%d of 8 checks could not look: %s", len(failed), names), event.Degraded{Checks: failed}))
		if err := w.Store.Commit(ctx, b, now); err != nil {
			return fmt.Errorf("tell that the watchdog is degraded: %w", errors.Join(append(errs, err)...))
		}
	}
	w.degraded = names
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
