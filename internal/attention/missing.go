package attention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// missing lists the pipelines with periods that have no run although their fires were reported as
// missed. An item stays until each of these periods has a run, unless a later run makes up for it.
func (b *builder) missing(ctx context.Context) error {
	gaps := map[pipeline.ID]*gap{}
	for _, t := range []event.Type{event.ScheduleMissed, event.IrregularScheduleMissed} {
		page, err := b.Store.Events(ctx, store.EventQuery{Pipeline: b.only, Type: t, Since: b.now.Add(-missedFor), Limit: maxMissed})
		if err != nil {
			return fmt.Errorf("read missed fires: %w", err)
		}
		for _, e := range page.Items {
			entry := b.Catalog.Current().Get(e.Detail.Pipeline)
			if entry == nil {
				continue
			}
			if gaps[entry.ID] == nil {
				gaps[entry.ID] = &gap{entry: entry}
			}
			gaps[entry.ID].add(e)
		}
	}
	for _, g := range gaps {
		if err := b.addMissing(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxMissed = 500                // maximum reports of missed fires read
	missedFor = 7 * 24 * time.Hour // how long a report counts
)

// gap is the missed periods of one pipeline.
type gap struct {
	entry  *catalog.Entry
	keys   []run.Key
	latest event.Event // the latest report
}

func (g *gap) add(e event.Event) {
	if e.Time.After(g.latest.Time) {
		g.latest = e
	}
	dates := []string{e.Detail.Date.String()}
	if m, ok := e.Detail.Extra.(event.Missed); ok && len(m.Dates) > 0 {
		dates = m.Dates
	}
	for _, date := range dates {
		if p, err := period.Parse(date); err == nil && !p.IsZero() {
			g.keys = append(g.keys, g.entry.Key(p))
		}
	}
}

// without lists the periods of g that still need a run, oldest first. If the file opens only the
// latest of several missed fires, a run of a later period is enough.
func (b *builder) without(ctx context.Context, g *gap) ([]run.Key, error) {
	runs, err := b.Store.RunsAt(ctx, g.keys)
	if err != nil {
		return nil, fmt.Errorf("read missed runs of %s: %w", g.entry.ID, err)
	}
	var left []run.Key
	for _, key := range g.keys {
		_, there := runs[key]
		if there || b.named[key] || g.entry.Schedule.Excluded(key.Period) != "" || slices.Contains(left, key) {
			continue
		}
		passed, err := b.passed(ctx, key)
		if err != nil {
			return nil, err
		}
		if !passed || g.entry.CatchUp != pipeline.CatchUpLatest {
			left = append(left, key)
		}
	}
	slices.SortFunc(left, func(a, b run.Key) int { return a.Period.Compare(b.Period) })
	return left, nil
}

// addMissing adds one item for the periods of g, about the newest. Once a later period has ended it
// is less urgent.
func (b *builder) addMissing(ctx context.Context, g *gap) error {
	left, err := b.without(ctx, g)
	if err != nil || len(left) == 0 {
		return err
	}
	first, last := left[0], left[len(left)-1]
	severity := b.severity(last.Pipeline, event.Warning)
	passed, err := b.passed(ctx, last)
	if err != nil {
		return err
	}
	if passed {
		severity = event.Info
	}
	since := g.entry.Schedule.FireFor(last.Period)
	if since.IsZero() {
		since = g.latest.Time
	}
	if len(left) == 1 {
		why := reason.New(explain.CauseMissing, "its fire at {at} opened no run", reason.At("at", since), reason.Int("count", 1))
		b.add(about(last, Missing, severity, why, since, trigger(last)))
		return nil
	}
	why := reason.New(explain.CauseMissing, "{count} periods from {first} to {last} have no run, because their fires were missed",
		reason.Int("count", len(left)), reason.Str("first", first.Period.String()), reason.Str("last", last.Period.String()))
	b.add(about(last, Missing, severity, why, since,
		Action{"backfill", fmt.Sprintf("interlock backfill %s --from %s --to %s --only-missing", last.Pipeline, first.Period, last.Period)}))
	return nil
}
