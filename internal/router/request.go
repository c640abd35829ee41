package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Requests are answered at once: with the result, or with a *Refusal that says why not. After any
// other error it is unknown whether the request took effect; repeating it with the same key (Once)
// is safe.

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
	Period     period.Period // zero: the current period
	By, Reason string
	Force      bool // ignore the calendar, the budget and a job that still runs
	BypassGate bool
}

// Trigger opens the pipeline's own run of a period. It refuses a run that is open or COMPLETED:
// that needs a rerun.
func (h *requestHandler) Trigger(ctx context.Context, q TriggerRequest, now time.Time) (run.Run, error) {
	if err := signed(q.By, q.Reason, q.Force, q.BypassGate); err != nil {
		return run.Run{}, err
	}
	var opened run.Run
	err := store.Again(func() error {
		e, row, err := h.catalog.Active(ctx, q.Pipeline)
		if err != nil {
			return err
		}
		if e == nil {
			return unknown(q.Pipeline)
		}
		if q.Period.IsZero() {
			q.Period = e.Schedule.Current(now)
		}
		old, err := h.row(ctx, e, e.Key(q.Period))
		if err != nil {
			return err
		}
		opened, err = h.trigger(ctx, q, order{
			asks: byTrigger, cause: run.CauseManual, by: q.By, reason: q.Reason, forced: q.Force, bypass: q.BypassGate,
			causedBy: "request/" + q.ID, message: "triggered by " + q.By, entry: e, row: row, run: old,
		}, now)
		return err
	})
	return opened, err
}

// signed refuses a request that skips a safeguard without who and why.
func signed(by, reason string, force, bypass bool) error {
	if (force || bypass) && (by == "" || strings.TrimSpace(reason) == "") {
		return refuse(Invalid, "skipping a safeguard needs a requester and a reason; add a reason")
	}
	return nil
}

// trigger opens the first attempt, or another one of a run that ended without success, if its budget
// allows it and its left job has ended.
func (h *requestHandler) trigger(ctx context.Context, q TriggerRequest, o order, now time.Time) (run.Run, error) {
	o, v, err := h.decide(ctx, o, now)
	if err == nil && !v.Open {
		err = o.refusal(v)
	}
	if err != nil {
		return run.Run{}, err
	}
	b := store.Batch{ID: name("trigger", o.run) + "/" + q.ID}
	next, _, err := h.open(&b, o, now)
	if err != nil {
		return run.Run{}, err
	}
	if err := answered(ctx, &h.core, &b, q.Once, next, now); err != nil {
		return run.Run{}, err
	}
	return next, h.commit(ctx, b, now)
}

// decide decides on a person's order. It reads the calendar, and asks a job's target, only if nothing
// else speaks against the order.
func (h *requestHandler) decide(ctx context.Context, o order, now time.Time) (order, rerun.Verdict, error) {
	v := o.against()
	if v.Rejection != "" {
		return o, v, nil
	}
	var err error
	if o.barred, err = h.barred(ctx, o.entry, o.run.Key); err != nil {
		return o, v, err
	}
	if v = o.against(); v.Rejection != "" {
		return o, v, nil
	}
	if o.facts, err = h.facts(ctx, o, now); err != nil {
		return o, v, err
	}
	return o, o.allowed(now), nil
}

// refusal returns what a rejection means for a trigger.
func (o order) refusal(v rerun.Verdict) error {
	switch v.Rejection {
	case whilePaused:
		return paused(o.entry.ID, o.row)
	case rerun.NoSuchRun:
		return refuse(Invalid, "%s", v.Reason)
	}
	return refuse(Conflict, "%s", v.Reason)
}

// notTriggered says why a run that is open or COMPLETED is not triggered, and which command to use
// instead.
func notTriggered(r run.Run) string {
	is := fmt.Sprintf("run %s is %s in attempt %d", r.Key, r.Status, r.Attempt)
	explain := fmt.Sprintf("`interlock explain %s --date %s`", r.Pipeline, r.Period)
	switch {
	case r.DryRun && r.Status == run.Completed:
		return fmt.Sprintf("dry run %s has ended; %s shows its result", r.Key, explain)
	case r.DryRun:
		return fmt.Sprintf("dry run %s is open; %s shows what it waits for", r.Key, explain)
	case r.Status == run.Completed:
		return fmt.Sprintf("%s; `interlock rerun %s --date %s --reason WHY` runs it again, with --force if no input has changed", is, r.Pipeline, r.Period)
	case r.Status == run.Pending:
		return fmt.Sprintf("%s; %s shows what it waits for", is, explain)
	case r.Progress.Held.Reason != "":
		return fmt.Sprintf("%s and held; end it with `interlock job complete %s success|fail` or `interlock cancel %s`", is, r.Key, r.Key)
	}
	return fmt.Sprintf("%s; wait for it to end, or cancel it with `interlock cancel %s`", is, r.Key)
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

func paused(id pipeline.ID, row store.Pipeline) error {
	return refuse(Conflict, "pipeline %s is paused; %s", id, pauseRemedy(row))
}

// Once makes a request idempotent: it may arrive more than once because a response was lost, or
// from two clients at the same time. The commit that carries out the request stores the response
// under Key. Every replica answers a repeat with that response, and a repeat changes nothing. The
// zero Once stores nothing: each request takes effect.
type Once[T any] struct {
	Key     string                  // identifies the request among those of all clients
	Request string                  // a digest of the request's content
	Answer  func(T) ([]byte, error) // encodes the response to a result
}

// Answer is the stored response to a request.
type Answer struct {
	Request string `json:"request"`
	Data    []byte `json:"data"`
}

// answerLife is how long a response is stored: a day, plus more than the clocks of replicas differ.
const answerLife = 25 * time.Hour

// errAnswered is returned if the request already has a response.
var errAnswered = errors.New("the request has already been answered")

// Answered returns the stored response to a request, and whether there is one.
func (h *requestHandler) Answered(ctx context.Context, key string, now time.Time) (Answer, bool, error) {
	note, err := h.answerNote(ctx, key)
	if err != nil || !answers(note, now) {
		return Answer{}, false, err
	}
	var a Answer
	if err := json.Unmarshal(note.Data, &a); err != nil {
		return Answer{}, false, fmt.Errorf("read the answer to request %s: %w", key, err)
	}
	return a, true, nil
}

// KeepAnswer stores the response to a request that changed nothing else. It does nothing if there
// is one already.
func (h *requestHandler) KeepAnswer(ctx context.Context, key string, a Answer, now time.Time) error {
	read, err := h.answerNote(ctx, key)
	if err != nil || answers(read, now) {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("answer/%s/%d/%d", key, read.Version, now.UnixNano())}
	if err := putAnswer(&b, read, key, a, now.Add(answerLife)); err != nil {
		return err
	}
	if err := h.commit(ctx, b, now); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that there is a response by now
}

// answered adds the response to the commit that produces the result. It returns errAnswered if
// there is one already.
func answered[T any](ctx context.Context, c *core, b *store.Batch, o Once[T], result T, now time.Time) error {
	if o.Key == "" {
		return nil
	}
	read, err := c.answerNote(ctx, o.Key)
	if err != nil {
		return err
	}
	if answers(read, now) {
		return errAnswered
	}
	data, err := o.Answer(result)
	if err != nil {
		return fmt.Errorf("write the answer to request %s: %w", o.Key, err)
	}
	return putAnswer(b, read, o.Key, Answer{o.Request, data}, now.Add(answerLife))
}

func putAnswer(b *store.Batch, read store.Note, key string, a Answer, until time.Time) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write the answer to request %s: %w", key, err)
	}
	b.SwapNote(read, store.Note{Kind: store.AnswerNote, Key: key, Data: data, Until: period.Instant(until)})
	return nil
}

// answers reports whether a note is a response that has not expired.
func answers(note store.Note, now time.Time) bool { return note.Version > 0 && now.Before(note.Until) }

// answerNote returns the note of a request, even if it has expired; the zero Note if there is none.
func (c *core) answerNote(ctx context.Context, key string) (store.Note, error) {
	return store.IfFound(c.store.Note(ctx, store.AnswerNote, key))
}
