package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
)

// ended stores a result that the controller observed itself: by polling, or because the start call
// was the job.
func (w *work) ended(ctx context.Context, h run.Handle, s job.Status) (lifecycle.Step, error) {
	b := w.batch("ended")
	r := w.run
	if r.Status == run.Triggering || r.Status == run.Pending {
		w.emitStarted(&b, h, "")
		since := r.Progress.AskedAt // it ran from the moment of the start call
		if since.IsZero() {
			since = w.now
		}
		var err error
		if r, err = r.Started(h, since); err != nil {
			return lifecycle.Step{}, err
		}
	}
	r, err := r.Reported(run.Outcome{Key: r.Key, Attempt: r.Attempt, Report: w.report(s)}, w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.complete(ctx, b, r, s.Output)
}

// settleResult ends an attempt whose result is already stored, or whose poll window has ended.
func (w *work) settleResult(ctx context.Context, step lifecycle.Step) (lifecycle.Step, error) {
	if w.run.Status != run.JobPollExhausted {
		b := w.batch("complete")
		if w.run.Progress.StartedAt.IsZero() && w.run.MayHaveStarted() && w.def.Job != nil {
			w.emitStarted(&b, "", "reported by its own result")
		}
		output, err := w.output(ctx)
		if err != nil {
			return lifecycle.Step{}, err
		}
		return w.complete(ctx, b, w.run, output)
	}
	next, err := w.run.GiveUp(withUnread(step.Reason, w.run), w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	return w.commit(ctx, w.batch("given-up"), next)
}

// complete moves a run with a result to COMPLETED or FAILED: state, job log, slot, deadlines,
// baseline and events in one commit. A success also stores the inputs as they were, to distinguish
// a change during the job from a later one. The run ends after the inputs are read, so no reading
// among them is dated after the end.
func (w *work) complete(ctx context.Context, b store.Batch, reported run.Run, output string) (lifecycle.Step, error) {
	var inputs gate.View
	if reported.Progress.Report.Result == run.ResultSuccess {
		var err error
		if inputs, err = w.evaluateGate(ctx); err != nil {
			return lifecycle.Step{}, err
		}
		w.now = w.clock()
	}
	next, err := reported.Complete(w.now)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.logResult(&b, next, output)
	if err := w.vacate(ctx, &b, false); err != nil {
		return lifecycle.Step{}, err
	}
	if next.Status != run.Completed {
		again, err := w.nextAttempt(ctx, next)
		if err != nil {
			return lifecycle.Step{}, err
		}
		w.emitResult(&b, next, again, "")
		return w.commitEnd(ctx, b, next)
	}
	closings, err := w.closings(ctx, &b, next)
	if err != nil {
		return lifecycle.Step{}, err
	}
	w.emitResult(&b, next, time.Time{}, closings.Lateness())
	closings.Put(&b)
	b.Snapshots = append(b.Snapshots, ending(next, inputs))
	if err := w.capture(ctx, &b, next, inputs.PostRun); err != nil {
		return lifecycle.Step{}, err
	}
	closings.FinishTasks(&b, endRows)
	return w.commitEnd(ctx, b, next)
}

// closings returns the effects of the completion on the run's deadlines. A late one is a breach
// only if no removal, pause or edit that was acknowledged before has ended the deadline, so b then
// depends on the pipeline's row.
func (w *work) closings(ctx context.Context, b *store.Batch, next run.Run) (slamonitor.Closings, error) {
	page, err := w.o.Store.Deadlines(ctx, store.DeadlineQuery{Key: next.Key})
	if err != nil {
		return nil, fmt.Errorf("read its deadlines: %w", err)
	}
	var on slamonitor.Basis
	if slamonitor.Late(page.Items, next) {
		if on.Entry, on.Row, err = w.o.Catalog.Active(ctx, next.Pipeline); err != nil {
			return nil, err
		}
		if len(b.Pipelines) == 0 { // otherwise b swaps the row
			b.ExpectPipeline(next.Pipeline, on.Row)
		}
	}
	return slamonitor.Close(page.Items, next, on), nil
}

func (w *work) logResult(b *store.Batch, next run.Run, output string) {
	rep := next.Progress.Report
	e := w.entry(jobEvents[rep.Result], next.Progress.Handle, rep.Message)
	e.Category, e.Output, e.By = rep.Category, output, rep.By
	b.Append(e)
}

var jobEvents = map[run.Result]store.JobEvent{
	run.ResultSuccess: store.JobSuccess, run.ResultFail: store.JobFail, run.ResultTimeout: store.JobTimeout,
}

// emitResult emits the event for the job's end, with the time of the next attempt, if any, and a
// note, if any.
func (w *work) emitResult(b *store.Batch, next run.Run, again time.Time, note string) {
	rep := next.Progress.Report
	extra := event.Finished{Category: rep.Category, DurationSeconds: int64(took(next).Seconds()), NextAttemptAt: again}
	if rep.Exited {
		extra.ExitCode = &rep.ExitCode
	}
	t, message := event.JobCompleted, "the job succeeded"
	switch {
	case rep.Result == run.ResultSuccess:
	case next.Progress.Offer.Worker != "" && rep.Category == run.Timeout && rep.Result == run.ResultFail:
		t, message = event.JobTimeout, "the job failed"
	case rep.Result == run.ResultTimeout || rep.Category == run.Timeout:
		t, message = event.JobTimeout, "the job exceeded its timeout"
	default:
		t, message = event.JobFailed, "the job failed"
	}
	if rep.Message != "" {
		message += ": " + rep.Message
	}
	message += note
	b.Emit(event.New(t, w.about(), message, extra))
}

// took returns how long the job ran, as far as known.
func took(r run.Run) time.Duration {
	if r.Progress.StartedAt.IsZero() {
		return 0
	}
	return max(0, r.UpdatedAt.Sub(r.Progress.StartedAt))
}

// nextAttempt returns when the router will retry a failed attempt, as far as known now; zero if it
// will not.
func (w *work) nextAttempt(ctx context.Context, failed run.Run) (time.Time, error) {
	e, row, err := w.o.Catalog.Active(ctx, failed.Pipeline)
	if err != nil || e == nil || row.Paused() {
		return time.Time{}, err
	}
	v, _ := rerun.Retry(failed, e.Definition, w.now)
	return period.Instant(v.At), nil
}

// output returns the end of the job's output, as far as its worker has sent it.
func (w *work) output(ctx context.Context) (string, error) {
	if w.run.Progress.Offer.Worker == "" {
		return "", nil
	}
	note, err := store.IfFound(w.o.Store.Note(ctx, store.OutputNote, string(w.run.ID())))
	return string(note.Data), err
}

// endRows is how many rows commitEnd adds: the note, the run and its task.
const endRows = 3

// commitEnd commits the end of an attempt. The output that a worker has sent expires, because the job
// log now has it. If the batch has no room for that, the note expires at its own time.
func (w *work) commitEnd(ctx context.Context, b store.Batch, next run.Run) (lifecycle.Step, error) {
	if w.run.Progress.Offer.Worker != "" && b.Rows()+endRows <= store.MaxRows {
		note, err := store.IfFound(w.o.Store.Note(ctx, store.OutputNote, string(w.run.ID())))
		if err != nil {
			return lifecycle.Step{}, err
		}
		if note.Version > 0 {
			b.SwapNote(note, store.Note{Kind: note.Kind, Key: note.Key, Until: period.Instant(w.now)})
		}
	}
	return w.commit(ctx, b, next)
}

// maxBaseline is how many bytes of readings are stored per run: more does not fit into a row of
// every store.
const maxBaseline = 256 << 10

// capture stores the post-run sensors' values at completion, by rule key, so that later drift can
// be detected. A key without a reading is left out: its first reading becomes its baseline.
func (w *work) capture(ctx context.Context, b *store.Batch, next run.Run, sensors []store.SeenSensor) error {
	if w.def.PostRun == nil {
		return nil
	}
	read, err := store.IfFound(w.o.Store.PostRun(ctx, w.run.Key))
	if err != nil {
		return err
	}
	baseline, kept, dropped := w.baseline(sensors)
	b.SwapPostRun(read, store.PostRun{Key: next.Key, Attempt: next.Attempt, CompletedAt: next.EndedAt, Baseline: baseline})
	if w.run.DryRun {
		return nil
	}
	if len(kept) > 0 {
		b.Emit(event.New(event.PostRunBaselineCaptured, w.about(), "stored the values of "+strings.Join(kept, ", ")+" at completion", event.Sensors{Sensors: kept}))
	}
	if len(dropped) > 0 {
		message := fmt.Sprintf("the values of %s at completion are too large to store", strings.Join(dropped, ", "))
		b.Emit(event.New(event.BaselineCaptureFailed, w.about(), message, event.Sensors{Sensors: dropped}))
	}
	return nil
}

// baseline returns the sensors' values as far as there is room, with the keys that were kept and
// those that were dropped.
func (w *work) baseline(sensors []store.SeenSensor) (baseline map[string]sensor.Fields, kept, dropped []string) {
	baseline = map[string]sensor.Fields{}
	room := maxBaseline
	for _, s := range sensors {
		if s.Version == 0 {
			continue
		}
		key := gate.RuleKey(w.def.ID, s.Pipeline, s.Key)
		text, err := json.Marshal(s.Fields)
		if err != nil || len(text) > room {
			dropped = append(dropped, key)
			continue
		}
		room -= len(text)
		baseline[key] = s.Fields
		kept = append(kept, key)
	}
	slices.Sort(kept)
	slices.Sort(dropped)
	return baseline, kept, dropped
}
