package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Requests are answered at once: with the result, or with a *Refusal that says why not. After any other error it is
// unknown whether the request took effect; repeating it with the same key (Once) is safe.

// requestHandler carries out operators' requests: triggers, reruns and backfills.
type requestHandler struct {
	opener
	jobs jobs
}

// TriggerRequest asks to open the run of a period.
type TriggerRequest struct {
	ID         string // identifies the request
	Once       Once[run.Run]
	Pipeline   pipeline.ID
	Period     period.Period // zero: the period of a fire now
	By, Reason string
	Force      bool // ignore the calendar, the budget and a job that still runs
	BypassGate bool
}

// Trigger opens the pipeline's own run of a period. It refuses a run that is open or COMPLETED: that needs a rerun.
func (h *requestHandler) Trigger(ctx context.Context, q TriggerRequest, now time.Time) (run.Run, error) {
	if err := signed(q.By, q.Reason, q.Force, q.BypassGate); err != nil {
		return run.Run{}, err
	}
	var opened run.Run
	err := store.Again(func() error {
		e, row, err := h.catalog.InForce(ctx, q.Pipeline)
		switch {
		case err != nil:
			return err
		case e == nil:
			return unknown(q.Pipeline)
		case row.Paused():
			return refuse(Conflict, "pipeline %s is paused; %s", e.ID, pauseRemedy(row))
		}
		if q.Period.IsZero() {
			q.Period = e.Schedule.PeriodAt(now)
		}
		if err := q.Period.CheckName(e.Schedule.Zone()); err != nil {
			return refuse(Invalid, "%s", err)
		}
		opened, err = h.trigger(ctx, e, row, q, now)
		return err
	})
	return opened, err
}

// signed refuses a request that skips a safeguard without who and why.
func signed(by, reason string, force, bypass bool) error {
	if (force || bypass) && (by == "" || strings.TrimSpace(reason) == "") {
		return refuse(Invalid, "skipping a safeguard needs who and why; give a reason")
	}
	return nil
}

func (h *requestHandler) trigger(ctx context.Context, e *catalog.Entry, row store.Pipeline, q TriggerRequest, now time.Time) (run.Run, error) {
	key := e.Key(q.Period)
	old, err := h.row(ctx, e, key)
	if err != nil {
		return run.Run{}, err
	}
	if old.Status.Open() || old.Status == run.Completed {
		return run.Run{}, refuse(Conflict, "%s", notTriggered(old, e.DryRun))
	}
	o := order{
		cause: run.CauseManual, by: q.By, reason: q.Reason, forced: q.Force, bypass: q.BypassGate,
		causedBy: "request/" + q.ID, message: "triggered by " + q.By,
	}
	barred, err := h.barred(ctx, e, key)
	if err != nil {
		return run.Run{}, err
	}
	if barred.why != "" && !q.Force {
		return run.Run{}, refuse(Conflict, "the calendar excludes %s (%s); --force runs it nevertheless", q.Period, barred.why)
	}
	b := store.Batch{ID: nameOf("trigger", e.DryRun, key, old) + "/" + q.ID}
	b.ExpectPipeline(e.ID, row)
	next, err := h.triggered(ctx, &b, e, key, old, o, now)
	if err != nil {
		return run.Run{}, err
	}
	if err := answered(ctx, &h.core, &b, q.Once, next, now); err != nil {
		return run.Run{}, err
	}
	return next, h.commit(ctx, b, now)
}

// notTriggered says why a run that is open or COMPLETED is not triggered, and which command to use instead.
func notTriggered(r run.Run, dry bool) string {
	is := fmt.Sprintf("run %s is %s in attempt %d", r.Key, r.Status, r.Attempt)
	explain := fmt.Sprintf("`interlock explain %s --date %s`", r.Pipeline, r.Period)
	switch {
	case dry && r.Status == run.Completed:
		return fmt.Sprintf("dry run %s has ended; %s shows its result", r.Key, explain)
	case dry:
		return fmt.Sprintf("dry run %s is open; %s shows what it waits for", r.Key, explain)
	case r.Status == run.Completed:
		return fmt.Sprintf("%s; `interlock rerun %s --date %s --reason WHY` runs it again, with --force if no input has changed", is, r.Pipeline, r.Period)
	case r.Status == run.Pending:
		return fmt.Sprintf("%s; %s shows what it waits for", is, explain)
	case r.Progress.Held.Reason != "":
		return fmt.Sprintf("%s and held; `interlock job complete %s success|fail` or `interlock cancel %s` ends that", is, r.Key, r.Key)
	}
	return fmt.Sprintf("%s; wait for it to end, or cancel it with `interlock cancel %s`", is, r.Key)
}

// triggered adds the first attempt to b, or another one of a run that ended without success, if its budget allows it
// and its left job has ended.
func (h *requestHandler) triggered(ctx context.Context, b *store.Batch, e *catalog.Entry, key run.Key, old run.Run, o order, now time.Time) (run.Run, error) {
	if old.Status == "" {
		return h.begin(b, e, key, o, now)
	}
	facts := rerun.Facts{Run: old}
	if !o.forced {
		facts.JobRunning, facts.JobUnread = h.leftRuns(ctx, old, now)
	}
	v := rerun.Decide(rerun.Request{Force: o.forced}, facts, rerun.BudgetsOf(e.Job).For(old, run.CauseManual), now)
	if !v.Open {
		return run.Run{}, refuse(Conflict, "%s", v.Reason)
	}
	return h.further(b, e, old, o, now)
}

// Refusal is a rejected request. Nothing has changed.
type Refusal struct {
	Kind   RefusalKind
	Reason string
}

// RefusalKind is the kind of a refusal.
type RefusalKind string

// The kinds of refusals.
const (
	NotFound RefusalKind = "not found" // there is no such pipeline or run
	Invalid  RefusalKind = "invalid"   // the request itself is wrong
	Conflict RefusalKind = "conflict"  // it conflicts with the current state
)

func (r *Refusal) Error() string { return r.Reason }

func refuse(kind RefusalKind, format string, args ...any) error {
	return &Refusal{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

func unknown(id pipeline.ID) error {
	return refuse(NotFound, "pipeline %q is not active", id)
}
