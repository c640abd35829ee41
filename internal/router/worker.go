package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// workerHandler serves external workers, which run the jobs of type external: they claim an offered
// attempt and send heartbeats. They report the result like any client, see Report.
//
// The compare-and-swap of the run decides which of several workers gets an attempt: all decide on
// the same version, and the store accepts one commit.
type workerHandler struct {
	core
	claims *store.Unique
}

// ClaimRequest is a worker's request to run the job of a run's open attempt.
type ClaimRequest struct {
	Once   string // identifies the execution among those of all clients; "" if it has no key
	Key    run.Key
	Worker string
	By     string // the client's name, if it has one
}

// ClaimCode is why a claim was refused.
type ClaimCode string

// The reasons to refuse a claim.
const (
	ClaimHeld       ClaimCode = "held"        // another worker holds it
	ClaimDone       ClaimCode = "done"        // the run has ended, or has its result
	ClaimLost       ClaimCode = "lost"        // the worker's attempt was given up, or another one was opened
	ClaimNotOffered ClaimCode = "not-offered" // its gate is closed, it waits for its turn, or its offer has expired
	ClaimPaused     ClaimCode = "paused"      // an operator paused the pipeline
)

// ClaimRefused is returned for a claim that was not granted. Nothing has changed.
type ClaimRefused struct {
	Code   ClaimCode
	Reason string
	Run    run.Run
	Gate   *gate.Answer // the state of the gate, if that is why
}

func (e *ClaimRefused) Error() string { return e.Reason }

// Claim assigns the open attempt of a run to a worker, after evaluating its gate. Exactly one claim
// of an attempt is granted, and granted again to the same execution as long as it holds the attempt:
// then it is a heartbeat. Any other returns a *ClaimRefused, or a *Refusal if there is no such run or
// workers do not run its job.
func (h *workerHandler) Claim(ctx context.Context, q ClaimRequest, now time.Time) (run.Run, error) {
	if q.Worker == "" {
		return run.Run{}, refuse(Invalid, "a claim needs the worker's name")
	}
	var claimed run.Run
	err := store.Again(func() error {
		old, err := h.found(ctx, q.Key)
		if err != nil {
			return err
		}
		before, err := h.claimedBefore(ctx, q, now)
		if err != nil {
			return err
		}
		if before != 0 {
			claimed, err = h.beat(ctx, old, before, repeated(old, now), now)
			return err
		}
		ctx, err := h.inTraceOf(ctx, q.Key)
		if err != nil {
			return err
		}
		claimed, err = h.claim(ctx, q, old, now)
		return err
	})
	return claimed, err
}

// A claim's key is stored with the attempt that it was granted, so that its execution gets this
// attempt again and never a later one.

// claimLife is how long that is stored after the attempt's deadline.
const claimLife = 7 * 24 * time.Hour

// ErrKeyReused is returned for a claim whose key was used for another request.
var ErrKeyReused = errors.New("the key of the claim was used for another request")

// claimedBefore returns the attempt that an execution was granted; 0 if there is none.
func (h *workerHandler) claimedBefore(ctx context.Context, q ClaimRequest, now time.Time) (int, error) {
	if q.Once == "" {
		return 0, nil
	}
	note, err := h.answerNote(ctx, q.Once)
	if err != nil || !answers(note, now) {
		return 0, err
	}
	var a Answer
	if err := json.Unmarshal(note.Data, &a); err != nil {
		return 0, fmt.Errorf("read the claim of %s: %w", q.Key, err)
	}
	if a.Request != q.request() {
		return 0, ErrKeyReused
	}
	return strconv.Atoi(string(a.Data))
}

// request returns what a repeat of the claim has in common with it. The worker is not part of it.
func (q ClaimRequest) request() string { return "claim " + q.Key.String() }

// putClaim adds the attempt that an execution is granted to b.
func (h *workerHandler) putClaim(ctx context.Context, b *store.Batch, q ClaimRequest, granted run.Run) error {
	if q.Once == "" {
		return nil
	}
	read, err := h.answerNote(ctx, q.Once)
	if err != nil {
		return err
	}
	a := Answer{q.request(), []byte(strconv.Itoa(granted.Attempt))}
	return putAnswer(b, read, q.Once, a, granted.Progress.Deadline().Add(claimLife))
}

// Trace returns the trace of a run's open attempt, as a traceparent, so that the worker's job
// continues it; "" without tracing.
func (h *workerHandler) Trace(ctx context.Context, key run.Key) (string, error) {
	return h.traceOf(ctx, key)
}

func (h *workerHandler) claim(ctx context.Context, q ClaimRequest, old run.Run, now time.Time) (run.Run, error) {
	if no := unclaimable(old); no != nil {
		return run.Run{}, no
	}
	ask, row, err := h.ask(ctx, old, now)
	if err != nil {
		return run.Run{}, err
	}
	if !ask.Allowed() {
		if err := h.reconsider(ctx, old, now); err != nil {
			return run.Run{}, err
		}
		return run.Run{}, notClaimed(old, ask)
	}
	def, err := h.catalog.Of(ctx, old)
	if err != nil {
		return run.Run{}, err
	}
	snapshot := ask.Snapshot(old, period.Instant(now))
	snapshot.Files = h.catalog.Used(def, snapshot.Sensors)
	next, err := old.Claim(q.Worker, run.Start{Snapshot: snapshot.ID, Degraded: ask.Lacking()}, now)
	if err != nil {
		return run.Run{}, err
	}
	b := store.Batch{ID: name("claim", old) + "/" + q.Worker + "/" + h.unique(q)}
	b.ExpectPipeline(old.Pipeline, row)
	b.Swap(old, next)
	b.Snapshots = append(b.Snapshots, snapshot)
	b.Schedule(store.AdvanceTask(next, lifecycle.Next(next, now).Due))
	recordClaim(&b, next, q, now)
	if err := h.putClaim(ctx, &b, q, next); err != nil {
		return run.Run{}, err
	}
	return next, h.commit(ctx, b, now)
}

// repeated returns the heartbeat that a repeated claim is. It ends no announced silence: the repeat may
// be a delayed copy.
func repeated(old run.Run, now time.Time) Heartbeat {
	return Heartbeat{Heartbeat: run.Heartbeat{Within: old.Progress.Offer.Announced.Sub(now)}}
}

// unique returns what distinguishes a claim from every other one. Only an equal idempotency key
// makes a claim a repeat.
func (h *workerHandler) unique(q ClaimRequest) string {
	if q.Once != "" {
		return "key " + q.Once
	}
	return "without a key" + h.claims.Suffix()
}

// unclaimable returns why a run cannot be claimed; nil if it is offered or waits for its gate.
func unclaimable(old run.Run) error {
	o := old.Progress.Offer
	switch {
	case (old.Offered() || old.Claimed()) && old.Progress.Report.Result != "":
		return &ClaimRefused{Code: ClaimDone, Run: old, Reason: fmt.Sprintf(
			"attempt %d of run %s already has its result: %s", old.Attempt, old.Key, old.Progress.Report.Result)}
	case old.Status == run.Pending, old.Offered():
		return nil
	case old.Claimed():
		return &ClaimRefused{Code: ClaimHeld, Run: old, Reason: fmt.Sprintf(
			"worker %s has held attempt %d of run %s since %s", o.Worker, old.Attempt, old.Key, period.Stamp(old.Progress.StartedAt))}
	case old.Status == run.Running || old.Status == run.Triggering:
		return refuse(Conflict, "run %s is %s, and its job is not for workers; write job: {type: external} in the pipeline file", old.Key, old.Status)
	default:
		reason := fmt.Sprintf("run %s is %s in attempt %d", old.Key, old.Status, old.Attempt)
		if old.Reason != "" {
			reason += ": " + old.Reason
		}
		return &ClaimRefused{Code: ClaimDone, Run: old, Reason: reason}
	}
}

// ask evaluates the gate of an attempt, by the version of the file that it opened with.
func (h *workerHandler) ask(ctx context.Context, old run.Run, now time.Time) (gate.Answer, store.Pipeline, error) {
	row, err := h.pipelineRow(ctx, old.Pipeline)
	if err != nil {
		return gate.Answer{}, row, err
	}
	def, err := h.catalog.Of(ctx, old)
	if err != nil {
		return gate.Answer{}, row, err
	}
	if _, external := job.Offers(def.Job); !external {
		return gate.Answer{}, row, refuse(Conflict, "the job of pipeline %s is not for workers; write job: {type: external} in its file", old.Pipeline)
	}
	ask, err := gate.Ask(ctx, h.store, gate.Situation{
		Question: gate.Question{Definition: def, Upstream: h.catalog.Current().Definition, Period: old.Period, Opened: old.Progress.WindowStart, PostRun: true},
		Row:      row, Run: old,
	}, now)
	return ask, row, err
}

// notClaimed returns the refusal for a closed gate.
func notClaimed(old run.Run, ask gate.Answer) *ClaimRefused {
	first := ask.Blocks[0]
	code := ClaimNotOffered
	if first.Code == gate.Paused {
		code = ClaimPaused
	}
	return &ClaimRefused{
		Code: code, Run: old, Gate: &ask, Reason: fmt.Sprintf("attempt %d of run %s is not offered: %s", old.Attempt, old.Key, first.Reason),
	}
}

// reconsider makes an offer whose gate was found closed evaluate it at once, which withdraws the
// offer.
func (h *workerHandler) reconsider(ctx context.Context, old run.Run, now time.Time) error {
	if !old.Offered() || old.Progress.NextEvaluation.Before(now) {
		return nil
	}
	if err := h.wake(ctx, old, now); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that the attempt has changed and was evaluated again
}

func recordClaim(b *store.Batch, claimed run.Run, q ClaimRequest, now time.Time) {
	p := claimed.Progress
	b.Append(store.JobEntry{
		Key: claimed.Key, Attempt: claimed.Attempt, At: period.Instant(now), Event: store.JobStarted, Try: p.StartTries,
		Handle: p.Handle, Message: "claimed by worker " + q.Worker, By: q.By,
	})
	about := event.Of(claimed, now)
	about.CausedBy = lifecycle.TaskID(claimed.Key)
	b.Emit(event.New(event.JobTriggered, about, fmt.Sprintf("claimed by worker %s", q.Worker),
		event.Started{JobType: "external", Handle: p.Handle, Snapshot: p.Snapshot}))
}

// MaxOutput is how much of a job's output is stored.
const MaxOutput = 64 << 10

// Heartbeat is a heartbeat of a worker, with the end of its job's output, if it sends one.
type Heartbeat struct {
	run.Heartbeat
	Output string
}

// Heartbeat records a heartbeat of an attempt's worker. It returns a *ClaimRefused if the worker no
// longer holds the attempt: it was given up, was cancelled, or has its result.
func (h *workerHandler) Heartbeat(ctx context.Context, key run.Key, attempt int, beat Heartbeat, now time.Time) (run.Run, error) {
	var beaten run.Run
	err := store.Again(func() error {
		old, err := h.found(ctx, key)
		if err != nil {
			return err
		}
		beaten, err = h.beat(ctx, old, attempt, beat, now)
		return err
	})
	return beaten, err
}

func (h *workerHandler) beat(ctx context.Context, old run.Run, attempt int, beat Heartbeat, now time.Time) (run.Run, error) {
	if no := NotHeld(old, attempt); no != nil {
		return run.Run{}, no
	}
	next, err := old.Beat(beat.Heartbeat, now)
	if err != nil || next == old {
		return next, err
	}
	b := store.Batch{ID: fmt.Sprintf("%s/%d/%d", name("heartbeat", old), now.UnixNano(), beat.Seq)}
	b.Swap(old, next)
	if err := h.putOutput(ctx, &b, old, beat.Output); err != nil {
		return run.Run{}, err
	}
	return next, h.commit(ctx, b, now)
}

// NotHeld returns why the worker that claimed an attempt of r no longer holds it; nil if it does.
func NotHeld(r run.Run, attempt int) *ClaimRefused {
	if r.Attempt == attempt && r.Claimed() && r.Progress.Report.Result == "" {
		return nil
	}
	code := ClaimDone
	if r.Attempt != attempt || r.GivenUp() {
		code = ClaimLost
	}
	reason := fmt.Sprintf("attempt %d of run %s has ended: the run is %s in attempt %d", attempt, r.Key, r.Status, r.Attempt)
	if r.Reason != "" {
		reason += ", " + r.Reason
	}
	return &ClaimRefused{Code: code, Run: r, Reason: reason}
}

// outputLife is how long the end of a job's output is stored after its time limit, unless the job
// log has it before.
const outputLife = 24 * time.Hour

// putOutput adds the end of a job's output to b.
func (c *core) putOutput(ctx context.Context, b *store.Batch, of run.Run, output string) error {
	if output == "" {
		return nil
	}
	id := string(of.ID())
	read, err := store.IfFound(c.store.Note(ctx, store.OutputNote, id))
	if err != nil {
		return err
	}
	b.SwapNote(read, store.Note{
		Kind: store.OutputNote, Key: id, Data: []byte(lastBytes(output, MaxOutput)), Until: period.Instant(of.Progress.LimitAt.Add(outputLife)),
	})
	return nil
}

// lastBytes returns the end of a text, starting at a whole character.
func lastBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	for len(text) > 0 && text[0]&0xC0 == 0x80 {
		text = text[1:]
	}
	return text
}
