package router

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// RerunRequest asks for another attempt.
type RerunRequest struct {
	ID         string // unique per request: a request that is sent twice is answered once
	Once       Once[store.Rerun]
	Pipeline   pipeline.ID
	Schedule   pipeline.ScheduleID // empty: the pipeline's own
	Period     period.Period
	By, Reason string
	Force      bool
	BypassGate bool
}

// The rejections that package rerun does not have.
const (
	whilePaused rerun.Rejection = "paused"
	notActive   rerun.Rejection = "not active"
	isDryRun    rerun.Rejection = "dry run"
)

// Rerun answers a request with exactly one of RERUN_ACCEPTED and RERUN_REJECTED. A rejection is an
// answer, not an error; only an invalid request is refused, without an event.
func (h *requestHandler) Rerun(ctx context.Context, q RerunRequest, now time.Time) (store.Rerun, error) {
	if q.ID == "" || q.By == "" || strings.TrimSpace(q.Reason) == "" || q.Period.IsZero() {
		return store.Rerun{}, refuse(Invalid, "a rerun needs an id, a period, a requester and a reason")
	}
	var answer store.Rerun
	err := store.Again(func() error {
		e, row, err := h.catalog.Active(ctx, q.Pipeline)
		if err != nil {
			return err
		}
		if row.Version == 0 {
			return unknown(q.Pipeline)
		}
		answer, err = h.rerun(ctx, e, row, q, now)
		return err
	})
	return answer, err
}

// key returns the requested run.
func (q RerunRequest) key(e *catalog.Entry) run.Key {
	key := run.Key{Pipeline: q.Pipeline, Schedule: q.Schedule, Period: q.Period}
	if key.Schedule == "" && e != nil {
		key.Schedule = e.Opens
	}
	if key.Schedule == "" {
		key.Schedule = pipeline.ByHand // the schedule of a removed pipeline is unknown
	}
	return key
}

// answerMark is how long the mark of an answered request is kept. The mark only keeps two answers
// from being stored at the same time; later, the stored answer is found.
const answerMark = 24 * time.Hour

// recorded returns the stored answer to a request with that id.
func (h *requestHandler) recorded(ctx context.Context, key run.Key, id string) (store.Rerun, bool, error) {
	all, err := h.store.Reruns(ctx, []run.Key{key})
	if err != nil {
		return store.Rerun{}, false, fmt.Errorf("read the reruns of %s: %w", key, err)
	}
	for _, a := range all[key] {
		if a.ID == id {
			return a, true, nil
		}
	}
	return store.Rerun{}, false, nil
}

func (h *requestHandler) rerun(ctx context.Context, e *catalog.Entry, row store.Pipeline, q RerunRequest, now time.Time) (store.Rerun, error) {
	key := q.key(e)
	if answer, there, err := h.recorded(ctx, key, q.ID); there || err != nil {
		return answer, err
	}
	old, err := store.IfFound(h.store.Run(ctx, key))
	if err != nil {
		return store.Rerun{}, err
	}
	v, err := h.judge(ctx, e, row, old, q, now)
	if err != nil {
		return store.Rerun{}, err
	}
	answer := store.Rerun{
		ID: q.ID, Key: key, Reason: q.Reason, By: q.By, Force: q.Force, BypassGate: q.BypassGate,
		At: period.Instant(now), Accepted: v.Open, Why: v.Reason,
	}
	// The answer is part of the batch's id: another answer to the same request is another decision,
	// which conflicts on the mark. So the request is answered once even if the answers do not touch
	// the same run.
	b := store.Batch{ID: fmt.Sprintf("rerun/%s/%s/v%d/%t %s", q.ID, key, old.Version, v.Open, v.Rejection)}
	b.SetMark("rerun/"+key.String()+"/"+q.ID, now.Add(answerMark))
	if v.Open {
		b.ExpectPipeline(q.Pipeline, row)
		next, err := h.accept(&b, e, key, old, q, v, now)
		if err != nil {
			return store.Rerun{}, err
		}
		answer.Attempt = next.Attempt
	} else {
		reject(&b, key, old, q, v, now)
	}
	b.Reruns = append(b.Reruns, answer)
	if err := answered(ctx, &h.core, &b, q.Once, answer, now); err != nil {
		return store.Rerun{}, err
	}
	return answer, h.commit(ctx, b, now)
}

// judge decides on a request by the current state.
func (h *requestHandler) judge(ctx context.Context, e *catalog.Entry, row store.Pipeline, old run.Run, q RerunRequest, now time.Time) (rerun.Verdict, error) {
	switch {
	case e == nil:
		return rerun.Verdict{Rejection: notActive, Reason: "the pipeline is no longer active, so no run opens"}, nil
	case e.DryRun:
		return rerun.Verdict{Rejection: isDryRun, Reason: "the pipeline is a dry run, which starts nothing"}, nil
	case row.Paused():
		return rerun.Verdict{Rejection: whilePaused, Reason: "the pipeline is paused; " + pauseRemedy(row)}, nil
	case old.Status == "" && q.key(e).Schedule != e.Opens:
		return rerun.Verdict{Rejection: rerun.NoSuchRun, Reason: fmt.Sprintf("there is no run of schedule %s; the pipeline's own is %s", q.Schedule, e.Opens)}, nil
	}
	if err := q.Period.CheckName(e.Schedule.Zone()); err != nil && old.Status == "" {
		return rerun.Verdict{Rejection: rerun.NoSuchRun, Reason: err.Error()}, nil
	}
	facts, err := h.facts(ctx, e, q, old, now)
	if err != nil {
		return rerun.Verdict{}, err
	}
	return rerun.Decide(rerun.Request{Force: q.Force, BypassGate: q.BypassGate}, facts, rerun.BudgetOf(e.Job, old, run.CauseManual), now), nil
}

// facts collects what speaks for and against another attempt; for a forced one, only what force
// does not skip.
func (h *requestHandler) facts(ctx context.Context, e *catalog.Entry, q RerunRequest, old run.Run, now time.Time) (rerun.Facts, error) {
	facts := rerun.Facts{Run: old}
	barred, err := h.barred(ctx, e, q.key(e))
	if err != nil {
		return facts, err
	}
	facts.Excluded = barred
	if q.Force {
		return facts, nil
	}
	facts.JobRunning, facts.JobUnread = h.leftRuns(ctx, old, now)
	if old.Status != run.Completed {
		return facts, nil
	}
	facts.Then, facts.Now, err = h.compared(ctx, e, old, now)
	return facts, err
}

// leftRuns reports whether the job that an ended run left behind still runs, or that this cannot be
// read.
func (h *requestHandler) leftRuns(ctx context.Context, old run.Run, now time.Time) (running, unread bool) {
	if !old.Progress.Left.MayRun() || !old.Status.Ended() {
		return false, false
	}
	running, err := h.jobs.StillRuns(ctx, old, now)
	return running, err != nil
}

// compared returns the inputs of the gate and start condition when the latest attempt started, and
// now. Without a snapshot there is nothing to compare, and both are nil.
func (h *requestHandler) compared(ctx context.Context, e *catalog.Entry, old run.Run, now time.Time) (then, current []rerun.Seen, err error) {
	snapshot, err := h.snapshot(ctx, old.Progress.Snapshot)
	if err != nil || snapshot.ID == "" {
		return nil, nil, err
	}
	view, err := h.evaluate(ctx, e, nil, old.Period, now)
	if err != nil {
		return nil, nil, err
	}
	return gate.Compared(snapshot.Sensors), view.Seen(), nil
}

// accept adds the requested attempt and the answer to b.
func (h *requestHandler) accept(b *store.Batch, e *catalog.Entry, key run.Key, old run.Run, q RerunRequest, v rerun.Verdict, now time.Time) (run.Run, error) {
	o := order{
		cause: run.CauseManual, by: q.By, reason: q.Reason, forced: q.Force, bypass: q.BypassGate,
		from: v.At, causedBy: "request/" + q.ID, message: v.Reason,
	}
	about := aboutRequest(key, q, now)
	b.Emit(event.New(event.RerunAccepted, about, fmt.Sprintf("rerun requested by %s: %s", q.By, v.Reason), o.detail()))
	if old.Status == "" {
		return h.begin(b, e, key, o, now)
	}
	if old.Status == run.Pending {
		return h.replace(b, e, old, o, now)
	}
	return h.further(b, e, old, o, now)
}

// replace adds attempt+1 of a run whose attempt waits to b. The waiting attempt ends in the same
// commit, so that the run is never without one: its deadlines stay armed, and if the commit fails
// the attempt keeps waiting.
func (h *requestHandler) replace(b *store.Batch, e *catalog.Entry, old run.Run, o order, now time.Time) (run.Run, error) {
	ended, err := old.Cancel(o.by, o.reason, run.NothingLeft, now)
	if err != nil {
		return run.Run{}, err
	}
	o.requested = true
	next, err := ended.NextAttempt(h.opening(e, o, now))
	if err != nil {
		return run.Run{}, err
	}
	announce(b, e, old, next, o, now)
	return next, nil
}

// reject adds the answer to a rejected request to b.
func reject(b *store.Batch, key run.Key, old run.Run, q RerunRequest, v rerun.Verdict, now time.Time) {
	about := aboutRequest(key, q, now)
	about.Attempt = old.Attempt
	b.Emit(event.New(event.RerunRejected, about, fmt.Sprintf("the rerun requested by %s was rejected: %s", q.By, v.Reason),
		event.Refusal{Why: string(v.Rejection), RequestedBy: q.By, Reason: q.Reason}))
}

// aboutRequest returns the subject of an event about a request; the request's id makes it unique.
func aboutRequest(key run.Key, q RerunRequest, now time.Time) event.About {
	return event.About{
		Pipeline: key.Pipeline, Schedule: key.Schedule, Date: key.Period,
		Which: q.ID, CausedBy: "request/" + q.ID, At: now,
	}
}
