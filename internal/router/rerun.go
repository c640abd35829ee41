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
	old.Key = key
	o, v, err := h.decide(ctx, order{
		asks: byRerun, cause: run.CauseManual, by: q.By, reason: q.Reason, forced: q.Force, bypass: q.BypassGate,
		causedBy: "request/" + q.ID, entry: e, row: row, run: old,
	}, now)
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
	b := store.Batch{ID: fmt.Sprintf("rerun/%s/%s/v%d/%t %s", q.ID, key, o.run.Version, v.Open, v.Rejection)}
	b.SetMark("rerun/"+key.String()+"/"+q.ID, now.Add(answerMark))
	if v.Open {
		b.Emit(event.New(event.RerunAccepted, aboutRequest(key, q, now), fmt.Sprintf("rerun requested by %s: %s", q.By, v.Reason), o.detail()))
		next, _, err := h.open(&b, o, now)
		if err != nil {
			return store.Rerun{}, err
		}
		answer.Attempt = next.Attempt
	} else {
		reject(&b, key, o.run, q, v, now)
	}
	b.Reruns = append(b.Reruns, answer)
	if err := answered(ctx, &h.core, &b, q.Once, answer, now); err != nil {
		return store.Rerun{}, err
	}
	return answer, h.commit(ctx, b, now)
}

// facts collects what speaks for and against another attempt; for a forced one, only what force
// does not skip. A trigger runs no completed run again, so it needs no comparison.
func (h *requestHandler) facts(ctx context.Context, o order, now time.Time) (rerun.Facts, error) {
	facts := rerun.Facts{Run: o.run}
	if o.asks == byRerun {
		facts.Excluded = o.barred
	}
	if o.forced {
		return facts, nil
	}
	facts.JobRunning, facts.JobUnread = h.leftRuns(ctx, o.run, now)
	if o.run.Status != run.Completed {
		return facts, nil
	}
	var err error
	facts.Then, facts.Now, err = h.compared(ctx, o.entry, o.run, now)
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
