// Package attention lists what needs an operator now: held starts, failed, overdue and missing
// runs, rejected files, undelivered alerts, long pauses. It is read-only.
//
// An item disappears when its problem is resolved: a run of that period completes, the file is
// corrected. A later period that completes resolves nothing; it makes older failures less urgent. A
// failure stays for Keep, a gap for a week. Package explain says why a run is in its state.
package attention

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Sources are the sources of the list's data.
type Sources struct {
	Store   store.Reader
	Catalog *catalog.Catalog
}

// Kind is the kind of problem.
type Kind string

const (
	Held        Kind = "held"          // it is not known whether a job was started
	Unread      Kind = "status-unread" // a job's status cannot be read
	Failed      Kind = "failed"        // a run failed for good
	Exhausted   Kind = "exhausted"     // the gate of a run did not open in time
	Overdue     Kind = "overdue"       // a deadline has passed, and its run has not completed
	Missing     Kind = "missing"       // a run should have opened and did not
	Rejected    Kind = "rejected"      // a file has errors, and no version of it is active
	Degraded    Kind = "degraded"      // the newest file has errors or cannot be read, and an older version is active
	Undelivered Kind = "undelivered"   // a sink rejected alerts
	Paused      Kind = "paused"        // a pause has lasted for long
)

var rank = map[event.Severity]int{event.Critical: 0, event.Warning: 1, event.Info: 2}

// Action is what to do, as a code for programs and a command for people.
type Action struct {
	Code    string
	Command string
}

// Item is one problem that needs an operator.
type Item struct {
	Pipeline pipeline.ID         // "" if it is about the server
	Schedule pipeline.ScheduleID // of the run, if any
	Period   period.Period       // of the run, if any
	Kind     Kind
	Severity event.Severity
	Reason   reason.Reason
	Since    time.Time // zero if unknown
	Action   Action
}

// Place returns a sort key that puts the most urgent items first: by severity, then oldest first.
func (i Item) Place() string {
	return fmt.Sprintf("%d %s %s %s %s %s %s", rank[i.Severity], store.Nanos(i.Since), i.Pipeline, i.Schedule, i.Period, i.Kind, i.Reason)
}

// LongPause is how long a pause may last before it needs attention.
const LongPause = 24 * time.Hour

// List lists what needs an operator, most urgent first: for one pipeline, or for all and the server
// if only is "".
func List(ctx context.Context, s Sources, only pipeline.ID, now time.Time) ([]Item, error) {
	b := newBuilder(s, only, now)
	for _, step := range []func(context.Context) error{b.read, b.standing, b.failed, b.overdue, b.missing, b.files, b.undelivered, b.pauses} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("list what needs attention: %w", err)
		}
	}
	slices.SortStableFunc(b.items, func(a, b Item) int { return cmp.Compare(a.Place(), b.Place()) })
	return b.items, nil
}

// builder is the state of building one list.
type builder struct {
	Sources
	only  pipeline.ID
	now   time.Time
	rows  []store.Pipeline
	open  map[pipeline.ID][]run.Run
	ended map[pipeline.ID]run.Run // the ended runs of the latest periods, as far as read
	named map[run.Key]bool        // runs that already have an item
	items []Item
}

func newBuilder(s Sources, only pipeline.ID, now time.Time) *builder {
	return &builder{Sources: s, only: only, now: now, open: map[pipeline.ID][]run.Run{}, ended: map[pipeline.ID]run.Run{}, named: map[run.Key]bool{}}
}

func (b *builder) add(i Item) {
	if i.Schedule != "" {
		b.named[run.Key{Pipeline: i.Pipeline, Schedule: i.Schedule, Period: i.Period}] = true
	}
	b.items = append(b.items, i)
}

// about returns an item about a run.
func about(key run.Key, kind Kind, s event.Severity, why reason.Reason, since time.Time, do Action) Item {
	return Item{Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Kind: kind, Severity: s, Reason: why, Since: since, Action: do}
}

// read reads the pipelines and their open runs.
func (b *builder) read(ctx context.Context) (err error) {
	if b.only != "" {
		row, err := b.Store.Pipeline(ctx, b.only)
		if err != nil {
			return fmt.Errorf("read pipeline %s: %w", b.only, err)
		}
		b.rows = []store.Pipeline{row}
	} else if b.rows, err = b.Store.Pipelines(ctx); err != nil {
		return fmt.Errorf("read pipelines: %w", err)
	}
	open, err := b.Store.OpenRuns(ctx, b.only)
	if err != nil {
		return fmt.Errorf("read open runs: %w", err)
	}
	for _, r := range open {
		b.open[r.Pipeline] = append(b.open[r.Pipeline], r)
	}
	return nil
}

// lastEnded returns the ended run of the latest period of a pipeline; without a Status if there is
// none.
func (b *builder) lastEnded(ctx context.Context, id pipeline.ID) (run.Run, error) {
	if r, known := b.ended[id]; known {
		return r, nil
	}
	// Among one run more than are open, at least one has ended, if any has.
	page, err := b.Store.Runs(ctx, store.RunQuery{Pipeline: id, Limit: min(len(b.open[id])+1, store.MaxPage)})
	if err != nil {
		return run.Run{}, fmt.Errorf("read runs of %s: %w", id, err)
	}
	var last run.Run
	if i := slices.IndexFunc(page.Items, func(r run.Run) bool { return r.Status.Ended() }); i >= 0 {
		last = page.Items[i]
	}
	b.ended[id] = last
	return last, nil
}

// passed reports whether a later period of the pipeline than key's has ended: earlier problems are
// then less urgent.
func (b *builder) passed(ctx context.Context, key run.Key) (bool, error) {
	last, err := b.lastEnded(ctx, key.Pipeline)
	return last.Status != "" && last.Period.Compare(key.Period) > 0, err
}
