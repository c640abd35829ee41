package router

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Reported is the response to a client's result.
type Reported struct {
	Run  run.Run
	Late bool // the attempt no longer waited for a result: it is logged, and the run is unchanged
}

// Report records the result of a job from outside the controller: a callback, an operator, a row
// that another process wrote. The first result of an attempt counts and is acted on at once;
// repeating it is fine. Attempt 0 means the latest attempt at the time o.At.
func (h *jobHandler) Report(ctx context.Context, o run.Outcome, now time.Time) (Reported, error) {
	var done Reported
	err := store.Again(func() error {
		old, err := h.found(ctx, o.Key)
		if err != nil {
			return err
		}
		if o.Attempt == 0 {
			o.Attempt = meant(old, o.At)
		}
		if o.Attempt > old.Attempt || o.Attempt < 1 {
			return refuse(NotFound, "run %s has no attempt %d; the latest is %d", o.Key, o.Attempt, old.Attempt)
		}
		done, err = h.report(ctx, old, o, now)
		return err
	})
	return done, err
}

// meant returns the attempt that a result without an attempt number is about: the latest, or the
// one before if the latest opened after the result was written. So a row that is handled twice, or
// late, never affects a later attempt. Rows record times in seconds.
func meant(r run.Run, written time.Time) int {
	if r.Attempt > 1 && !written.IsZero() && written.Add(time.Second).Before(r.Progress.Opening.At) {
		return r.Attempt - 1
	}
	return r.Attempt
}

func (h *jobHandler) report(ctx context.Context, old run.Run, o run.Outcome, now time.Time) (Reported, error) {
	waits := old.Status == run.Triggering || old.Status == run.Running || old.Status == run.Pending && old.MayHaveJob()
	switch before := old.Progress.Report; {
	case o.Attempt == old.Attempt && before.Result == o.Result && before.Message == o.Message && before.By == o.By:
		return Reported{Run: old}, nil // reported before
	case o.Attempt == old.Attempt && old.Status == run.Pending && !waits:
		return Reported{}, refuse(Conflict, "attempt %d of run %s has not started, so it has no result yet", o.Attempt, o.Key)
	case o.Attempt != old.Attempt || !waits || before.Result != "":
		return h.logLate(ctx, old, o, now)
	}
	category, err := h.classified(ctx, old, o)
	if err != nil {
		return Reported{}, err
	}
	o.Category = category
	next, err := old.Reported(o, now)
	if err != nil {
		return Reported{}, refuse(Invalid, "%s", err)
	}
	b := store.Batch{ID: name("report", old) + "/" + resultID(o)}
	b.Swap(old, next)
	b.Schedule(reportedTask(old, now))
	if err := h.putOutput(ctx, &b, old, o.Output); err != nil {
		return Reported{}, err
	}
	return Reported{Run: next}, h.commit(ctx, b, now)
}

// resultID identifies a result by all of its fields, so that two different results are two
// decisions: of two at the same time, one counts and the other is late.
func resultID(o run.Outcome) string {
	code := "none"
	if o.Exited {
		code = strconv.Itoa(o.ExitCode)
	}
	return fmt.Sprintf("%s/%q/%q/%s/%q", o.Result, o.By, o.Category, code, o.Message)
}

// reportedTask schedules the completion now. If the job belongs to one replica, that replica
// completes it.
func reportedTask(old run.Run, now time.Time) store.Task {
	t := store.AdvanceTask(old, now)
	t.Replica = old.Progress.Replica
	return t
}

// classified returns the category of a failure by the classes of the version that the attempt
// opened with.
func (h *jobHandler) classified(ctx context.Context, old run.Run, o run.Outcome) (run.Category, error) {
	if o.Result == run.ResultSuccess {
		return run.Unknown, nil
	}
	d, err := catalog.IfKnown(h.catalog.Of(ctx, old))
	if err != nil || d == nil || d.Job == nil {
		return o.Category, err
	}
	return rerun.Classify(d.Job.Classes, o.Report, o.Output), nil
}

// logLate logs a result that is no longer awaited. It only updates the state of the job: a left job
// has ended, so a rerun need not check it.
func (h *jobHandler) logLate(ctx context.Context, old run.Run, o run.Outcome, now time.Time) (Reported, error) {
	b := store.Batch{ID: fmt.Sprintf("%s/%d/%s", name("late-result", old), o.Attempt, resultID(o))}
	message := fmt.Sprintf("%s, while the run is %s in attempt %d", o.Result, old.Status, old.Attempt)
	if o.Message != "" {
		message += ": " + o.Message
	}
	b.Append(store.JobEntry{
		Key: o.Key, Attempt: o.Attempt, At: period.Instant(now), Event: store.JobLate, Category: o.Category, By: o.By, Message: message,
	})
	current := old
	if ended, err := old.SettleLeft(run.NothingLeft, now); err == nil && o.Attempt == old.Attempt && o.Result.Valid() {
		current = ended
		b.Swap(old, current)
		if waitsForItsJob(old) {
			b.Schedule(store.LeftTask(old, now))
		}
		def, err := catalog.IfKnown(h.catalog.Of(ctx, old))
		if err != nil {
			return Reported{}, err
		}
		if err := h.freeSlot(ctx, &b, old, def, false); err != nil {
			return Reported{}, err
		}
	}
	return Reported{Run: current, Late: true}, h.commit(ctx, b, now)
}
