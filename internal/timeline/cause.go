package timeline

import (
	"context"
	"slices"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// How many slots of a lane are examined for causes: the newest of each kind. Older ones show only
// the cause stored in the run.
const (
	maxGates = 5  // gates evaluated
	maxLogs  = 50 // job logs read
	maxRules = 50 // exhausted windows read
)

// causes sets the cause of each slot's state.
func (b *builder) causes(ctx context.Context) error {
	logs, err := b.logs(ctx)
	if err != nil {
		return err
	}
	closed, err := b.closed(ctx)
	if err != nil {
		return err
	}
	gates := 0
	for i := len(b.lane.Slots) - 1; i >= 0; i-- {
		s := &b.lane.Slots[i]
		if s.Run.Status == "" {
			s.Cause = b.absence(*s)
			continue
		}
		e := explain.Evidence{Log: logs[s.Key], Closed: closed[s.Key], DryRun: s.DryRun, Now: b.reader.now}
		if s.Phase == Phase(run.Waiting) && gates < maxGates {
			gates++
			if e.Closed, err = b.live(ctx, s.Run); err != nil {
				return err
			}
		}
		s.Cause = explain.Cause(s.Run, e)
	}
	return nil
}

// absence says why a period has no run.
func (b *builder) absence(s Slot) reason.Reason {
	switch s.Phase {
	case Missing:
		if !s.FireAt.IsZero() {
			return reason.New(explain.CauseMissing, "its fire at {at} opened no run", reason.At("at", s.FireAt))
		}
		return reason.New(explain.CauseMissing, "it ended {at}, and nothing opened a run", reason.At("at", s.End))
	case Paused:
		return explain.PausedSince(b.row)
	case Excluded:
		return reason.New("excluded", "the calendar excludes it: {rule}", reason.Str("rule", s.Excluded))
	default:
		return reason.Reason{}
	}
}

// logs reads the job logs of the newest runs that failed.
func (b *builder) logs(ctx context.Context) (map[run.Key][]store.JobEntry, error) {
	var keys []run.Key
	for i := len(b.lane.Slots) - 1; i >= 0 && len(keys) < maxLogs; i-- {
		switch s := b.lane.Slots[i]; run.Phase(s.Phase) {
		case run.FailedForGood, run.Backoff, run.Settling, run.StartRefused:
			keys = append(keys, s.Key)
		default:
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return b.reader.Store.JobLogs(ctx, keys)
}

// closed reads the first rule that kept each of the newest exhausted gates closed.
func (b *builder) closed(ctx context.Context) (map[run.Key]*store.SeenLeaf, error) {
	found := map[run.Key]*store.SeenLeaf{}
	if !slices.ContainsFunc(b.lane.Slots, func(s Slot) bool { return s.Phase == Phase(run.GateClosed) }) {
		return found, nil
	}
	page, err := b.reader.Store.Events(ctx, store.EventQuery{Pipeline: b.e.ID, Type: event.ValidationExhausted, Limit: maxRules})
	if err != nil {
		return nil, err
	}
	for _, e := range page.Items {
		key := keyOf(e)
		if g, ok := e.Detail.Extra.(event.Gate); ok && found[key] == nil {
			found[key] = explain.FirstClosedIn(g)
		}
	}
	return found, nil
}

// live returns the first rule that keeps the gate of a waiting run closed now; nil if none does.
func (b *builder) live(ctx context.Context, r run.Run) (*store.SeenLeaf, error) {
	def, _, err := b.reader.Catalog.Shown(ctx, r, b.e.Definition)
	if err != nil {
		return nil, err
	}
	view, err := gate.Evaluate(ctx, b.reader.Store, gate.Question{Definition: def, Upstream: b.reader.Catalog.Current().Definition, Period: r.Period, Opened: r.Progress.WindowStart}, b.reader.now)
	if err != nil || view.Verdict.Outcome == rule.Pass {
		return nil, err
	}
	return explain.FirstClosed(view.Leaves()), nil
}
