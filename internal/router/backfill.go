package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// BackfillRequest asks to run all periods in a range.
type BackfillRequest struct {
	ID          string // identifies the request
	Once        Once[[]Backfilled]
	Pipeline    pipeline.ID
	From, To    period.Period // both included; of any size
	By, Reason  string
	OnlyMissing bool // skip existing runs, whatever their state
	DryRun      bool // only report what would be done
}

// Backfilled is what a backfill did, or would do, with one period.
type Backfilled struct {
	Period period.Period
	Action BackfillAction
	Reason string // why it is skipped
}

// BackfillAction is the action for one period.
type BackfillAction string

// A period is opened, rerun, or skipped.
const (
	BackfillOpen  BackfillAction = "open"
	BackfillRerun BackfillAction = "rerun"
	BackfillSkip  BackfillAction = "skip"
)

// MaxBackfill is the most periods of one request.
const MaxBackfill = 10000

// Backfill opens the runs of all expected periods in a range, oldest first; maxActive limits how
// many of their jobs run at once. It reruns existing runs by the rules of a rerun, unless
// OnlyMissing is set. Each period is its own commit. Repeated after an error, with the same key and
// id, it continues where it stopped.
func (h *requestHandler) Backfill(ctx context.Context, q BackfillRequest, now time.Time) ([]Backfilled, error) {
	if q.From.IsZero() || q.To.IsZero() || q.From.Compare(q.To) > 0 && !q.To.Holds(q.From) {
		return nil, refuse(Invalid, "the first period must not be after the last; got %s to %s", q.From, q.To)
	}
	if !q.DryRun && (q.ID == "" || q.By == "" || q.Reason == "") {
		return nil, refuse(Invalid, "a backfill needs an id, a requester and a reason")
	}
	e, row, err := h.catalog.Active(ctx, q.Pipeline)
	switch {
	case err != nil:
		return nil, err
	case e == nil:
		return nil, unknown(q.Pipeline)
	case row.Paused() && !q.DryRun:
		return nil, paused(e.ID, row)
	}
	periods, err := stretch(e, q)
	if err != nil {
		return nil, err
	}
	plan := make([]Backfilled, 0, len(periods))
	for _, p := range periods {
		item, err := h.backfill(ctx, e, q, p, now)
		if err != nil {
			return plan, err
		}
		plan = append(plan, item)
	}
	return plan, h.backfilled(ctx, q, plan, now)
}

// backfilled stores the response to a finished backfill.
func (h *requestHandler) backfilled(ctx context.Context, q BackfillRequest, plan []Backfilled, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("backfill/%s/%s/%d", q.Pipeline, q.ID, now.UnixNano())}
	if err := answered(ctx, &h.core, &b, q.Once, plan, now); err != nil {
		return err
	}
	return h.commit(ctx, b, now)
}

// item returns the idempotency key for opening the run of one period, so that a repeated backfill
// recognises the runs it has opened, whatever their state by then.
func (q BackfillRequest) item(p period.Period) Once[run.Run] {
	if q.Once.Key == "" {
		return Once[run.Run]{}
	}
	return Once[run.Run]{
		Key: q.Once.Key + "/" + p.String(), Request: q.Once.Request,
		Answer: func(run.Run) ([]byte, error) { return []byte(BackfillOpen), nil },
	}
}

// opened reports whether this backfill has opened the run of a period.
func (h *requestHandler) opened(ctx context.Context, q BackfillRequest, p period.Period, now time.Time) (bool, error) {
	if q.Once.Key == "" || q.DryRun {
		return false, nil
	}
	_, opened, err := h.Answered(ctx, q.item(p).Key, now)
	return opened, err
}

// stretch lists the expected periods in the range, in the pipeline's period size.
func stretch(e *catalog.Entry, q BackfillRequest) ([]period.Period, error) {
	on := e.Schedule
	zone := on.Zone()
	end := q.To.End(zone)
	p := period.At(q.From.Start(zone), on.Size(), zone)
	var all []period.Period
	for n := 0; !p.IsZero() && p.Start(zone).Before(end); n++ {
		if n == MaxBackfill {
			return nil, refuse(Invalid, "from %s to %s there are more than %d periods; request fewer at a time", q.From, q.To, MaxBackfill)
		}
		if e.Opens != pipeline.ByCron || !on.FireFor(p).IsZero() || on.Excluded(p) != "" {
			all = append(all, p)
		}
		p = p.Add(1, zone)
	}
	return all, nil
}

func (h *requestHandler) backfill(ctx context.Context, e *catalog.Entry, q BackfillRequest, p period.Period, now time.Time) (Backfilled, error) {
	key := e.Key(p)
	old, err := h.row(ctx, e, key)
	if err != nil {
		return Backfilled{}, err
	}
	if old.Status != "" {
		if opened, err := h.opened(ctx, q, p, now); opened || err != nil {
			return Backfilled{Period: p, Action: BackfillOpen}, err
		}
	}
	barred, err := h.barred(ctx, e, key)
	switch {
	case err != nil:
		return Backfilled{}, err
	case barred != "":
		return skipped(p, "the calendar excludes it: %s", barred), nil
	case old.Status.Open():
		return skipped(p, "attempt %d is %s", old.Attempt, old.Status), nil
	case old.Status != "" && q.OnlyMissing:
		return skipped(p, "it has a run: %s", old.Status), nil
	case q.DryRun && old.Status == "":
		return Backfilled{Period: p, Action: BackfillOpen}, nil
	case q.DryRun:
		return Backfilled{Period: p, Action: BackfillRerun, Reason: fmt.Sprintf("subject to the rules of rerun; it is %s", old.Status)}, nil
	case old.Status == "":
		return h.backfillOpen(ctx, q, p, now)
	}
	return h.backfillRerun(ctx, q, key, now)
}

func skipped(p period.Period, format string, args ...any) Backfilled {
	return Backfilled{Period: p, Action: BackfillSkip, Reason: fmt.Sprintf(format, args...)}
}

func (h *requestHandler) backfillOpen(ctx context.Context, q BackfillRequest, p period.Period, now time.Time) (Backfilled, error) {
	_, err := h.Trigger(ctx, TriggerRequest{ID: q.ID, Once: q.item(p), Pipeline: q.Pipeline, Period: p, By: q.By, Reason: q.Reason}, now)
	done := Backfilled{Period: p, Action: BackfillOpen}
	if err == nil {
		return done, nil
	}
	// The same backfill may have been sent twice, and the other one may have opened the run
	// meanwhile.
	if opened, failed := h.opened(ctx, q, p, now); opened || failed != nil {
		return done, failed
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return skipped(p, "%s", refusal.Reason), nil
	}
	return Backfilled{}, err
}

func (h *requestHandler) backfillRerun(ctx context.Context, q BackfillRequest, key run.Key, now time.Time) (Backfilled, error) {
	answer, err := h.Rerun(ctx, RerunRequest{
		ID: q.ID, Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, By: q.By, Reason: q.Reason,
	}, now)
	if err != nil {
		return Backfilled{}, err
	}
	if !answer.Accepted {
		return skipped(key.Period, "%s", answer.Why), nil
	}
	return Backfilled{Period: key.Period, Action: BackfillRerun}, nil
}
