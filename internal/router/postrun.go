package router

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// postRunHandler checks the post-run sensors of a run after its end.
type postRunHandler struct{ opener }

// postRunWritten handles a reading of a post-run sensor, for the runs of its period. An undated
// reading is about one run.
func (h *postRunHandler) postRunWritten(ctx context.Context, sw sensorWrite, runs []run.Run, now time.Time) error {
	if sw.Period.IsZero() {
		key, there, err := h.subject(ctx, sw, runs)
		if err != nil || !there {
			return err
		}
		return h.postRun(ctx, sw, key, now)
	}
	var errs []error
	for _, old := range runs {
		if old.Status != "" {
			errs = append(errs, h.postRun(ctx, sw, old.Key, now))
		}
	}
	return errors.Join(errs...)
}

// postRun compares the current reading of a post-run sensor with its baseline. It does not depend
// on which write triggered it.
func (h *postRunHandler) postRun(ctx context.Context, sw sensorWrite, key run.Key, now time.Time) error {
	return store.Again(func() error {
		e := sw.entry
		old, err := h.row(ctx, e, key)
		if err != nil {
			return err
		}
		open := old.Status.Open()
		if !open && old.Status != run.Completed {
			return nil
		}
		view, err := h.evaluate(ctx, e, e.PostRun.Gate, key.Period, now)
		if err != nil {
			return err
		}
		seen, there := shown(view, sw)
		if !there {
			return nil
		}
		post, err := store.IfFound(h.store.PostRun(ctx, key))
		if err != nil {
			return err
		}
		if open {
			if err := h.inflight(ctx, sw, old, post, seen, now); err != nil {
				return err
			}
			if old.Status == run.Triggering || old.Status == run.Running {
				return h.wake(ctx, old, now) // a completion being decided then includes the reading in its baseline
			}
			return nil
		}
		if follows, err := h.follows(ctx, e, old, seen); err != nil || !follows {
			return err
		}
		return h.compare(ctx, comparison{sensorWrite: sw, run: old, stored: post, view: view, now: now}, seen)
	})
}

// ruleKey returns the name of the written sensor in the pipeline's rules.
func (sw sensorWrite) ruleKey() string { return gate.RuleKey(sw.entry.ID, sw.Pipeline, sw.Sensor) }

// shown returns the current reading of the written sensor for the run's period.
func shown(view gate.View, sw sensorWrite) (store.SeenSensor, bool) {
	for _, s := range view.Sensors {
		if s.Pipeline == sw.Pipeline && s.Key == sw.Sensor && s.Version != 0 {
			return s, true
		}
	}
	return store.SeenSensor{}, false
}

// follows reports whether a reading came after the run completed, and within its post-run window.
// If the completion read the sensor, it compares versions; otherwise, because the file was edited
// since, times.
func (h *postRunHandler) follows(ctx context.Context, e *catalog.Entry, old run.Run, seen store.SeenSensor) (bool, error) {
	if seen.UpdatedAt.After(old.EndedAt.Add(e.PostRun.Window)) {
		return false, nil
	}
	end, err := h.ending(ctx, e, old)
	if err != nil {
		return false, err
	}
	reading := store.ReadVersion{Pipeline: seen.Pipeline, Key: seen.Key, Period: seen.Period, Version: seen.Version}
	return end.Missed(reading) || !end.HasRead(reading) && !seen.UpdatedAt.Before(old.EndedAt), nil
}

// comparison is a reading of a post-run sensor after the completion of a run, and what it is
// compared with.
type comparison struct {
	sensorWrite
	run    run.Run
	stored store.PostRun
	next   store.PostRun // replaces stored
	view   gate.View     // of the rules
	now    time.Time
}

// compare compares a reading after completion with its baseline, and judges the rules. Drift opens
// another attempt if it can. The outcome of the rules is reported when it changes; beside a rerun,
// only that they fail: its completion is checked anew. A sensor without a reading at completion
// gets its first one afterwards as baseline.
func (h *postRunHandler) compare(ctx context.Context, c comparison, seen store.SeenSensor) error {
	e, key := c.entry, c.ruleKey()
	c.next = after(c.run, c.stored)
	was, there := c.next.Baseline[key]
	if !there {
		c.next.Baseline[key] = seen.Fields
	}
	var drifts []moved
	if there {
		drifts = movements(e, c.sensorWrite, was, seen.Fields)
	}
	if e.DryRun {
		return h.reportDry(ctx, c, seen, drifts)
	}
	drifted := slices.IndexFunc(drifts, func(m moved) bool { return m.Drifted })
	if drifted >= 0 && !c.row.Paused() { // the end of a pause handles the reading again
		if reruns, err := h.drifted(ctx, c, drifts[drifted]); err != nil || reruns {
			return err
		}
	}
	var b store.Batch
	for _, m := range drifts {
		if !m.Known {
			b.Emit(incomparable(c.run, m, c.cause(), c.now))
		}
	}
	reportRules(&b, c.run, &c.next, c.view, c.cause(), c.now)
	b.ID = fmt.Sprintf("%s/v%d/%s/%s/%s", name("post-run", c.run), c.stored.Version, key, seen.Content, c.next.Outcome)
	if !there || c.next.Outcome != c.stored.Outcome {
		b.SwapPostRun(c.stored, c.next)
	}
	return h.commit(ctx, b, c.now)
}

// after returns the post-run record of the completed attempt, for modification.
func after(old run.Run, post store.PostRun) store.PostRun {
	if post.Version == 0 || post.Attempt != old.Attempt {
		return store.PostRun{Key: old.Key, Version: post.Version, Attempt: old.Attempt, CompletedAt: old.EndedAt, Baseline: map[string]sensor.Fields{}}
	}
	baseline := map[string]sensor.Fields{}
	maps.Copy(baseline, post.Baseline)
	post.Baseline = baseline
	return post
}

// drifted opens another attempt for a value that moved, and reports whether it did. If the calendar
// excludes the period, or the budget is used up, it reports the drift once.
func (h *postRunHandler) drifted(ctx context.Context, c comparison, m moved) (bool, error) {
	o := order{asks: byDrift, cause: run.CauseDrift, causedBy: c.cause(), entry: c.entry, run: c.run}
	var err error
	if o.barred, err = h.barred(ctx, o.entry, o.run.Key); err != nil {
		return false, err
	}
	v, err := h.permit(ctx, &o, c.now)
	if err != nil {
		return false, err
	}
	if !v.Open {
		return false, h.reportDrift(ctx, c, m, v.Reason)
	}
	b := store.Batch{ID: name("drift", o.run) + "/" + m.sensor}
	b.Emit(c.drift(m, m.sensor, v.Reason))
	if outcomeOf(c.view) == event.PostRunFailed && c.next.Outcome != string(event.PostRunFailed) {
		reportRules(&b, o.run, &c.next, c.view, c.cause(), c.now)
		b.SwapPostRun(c.stored, c.next)
	}
	return true, h.carryOut(ctx, b, o, c.now)
}

// reportDrift reports, once per attempt, drift that opens no other attempt, and why.
func (h *postRunHandler) reportDrift(ctx context.Context, c comparison, m moved, why string) error {
	e := c.drift(m, budgetSpent, fmt.Sprintf("no rerun follows (%s)", why))
	return h.emitOnce(ctx, fmt.Sprintf("drift-spent/%s/%d", c.run.Key, c.run.Attempt), e, c.now)
}

// drift returns the event of a value that moved, and of what follows.
func (c comparison) drift(m moved, which, follows string) event.Event {
	about := event.Of(c.run, c.now)
	about.Which, about.CausedBy = which, c.cause()
	return event.New(event.PostRunDrift, about, fmt.Sprintf("%s of sensor %s %s; %s", m.field, m.sensor, m.Reason, follows), m.detail())
}

// incomparable reports, once per attempt and field, a value that cannot be compared with its
// baseline.
func incomparable(old run.Run, m moved, causedBy string, now time.Time) event.Event {
	about := event.Of(old, now)
	about.Which, about.CausedBy = m.sensor+" "+m.field+" incomparable", causedBy
	message := fmt.Sprintf("%s of sensor %s cannot be compared with its baseline: %s", m.field, m.sensor, m.Reason)
	return event.New(event.PostRunDrift, about, message, m.detail())
}

// inflight reports a post-run sensor that moved while the run is open: from the last baseline, or
// from its value when the open attempt started.
func (h *postRunHandler) inflight(ctx context.Context, sw sensorWrite, old run.Run, post store.PostRun, seen store.SeenSensor, now time.Time) error {
	if sw.entry.DryRun {
		return nil
	}
	before, err := h.before(ctx, sw, old, post)
	if err != nil {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("%s/v%d/%s/%s", name("inflight", old), post.Version, sw.ruleKey(), seen.Content)}
	for _, was := range before {
		for _, m := range movements(sw.entry, sw, was, seen.Fields) {
			if !m.Drifted {
				continue
			}
			about := event.Of(old, now)
			about.Which, about.CausedBy = m.sensor+" "+m.field+" "+seen.Content, sw.cause()
			message := fmt.Sprintf("%s of sensor %s %s, while attempt %d is %s", m.field, m.sensor, m.Reason, old.Attempt, old.Status)
			b.Emit(event.New(event.PostRunDriftInflight, about, message, m.detail())) // a second event for the same field has the same id, and is dropped
		}
	}
	return h.commit(ctx, b, now)
}

// before returns the earlier values of a post-run sensor: at the last completion, and when the open
// attempt started.
func (h *postRunHandler) before(ctx context.Context, sw sensorWrite, old run.Run, post store.PostRun) ([]sensor.Fields, error) {
	var all []sensor.Fields
	if was, there := post.Baseline[sw.ruleKey()]; there {
		all = append(all, was)
	}
	snapshot, err := h.snapshot(ctx, old.Progress.Snapshot)
	if err != nil {
		return nil, err
	}
	for _, s := range snapshot.PostRun {
		if s.Pipeline == sw.Pipeline && s.Key == sw.Sensor && s.Version != 0 {
			all = append(all, s.Fields)
		}
	}
	return all, nil
}

// reportRules emits the outcome of the post-run rules if it differs from the last one. While a
// sensor has no reading there is no outcome.
func reportRules(b *store.Batch, old run.Run, next *store.PostRun, view gate.View, causedBy string, now time.Time) {
	outcome := outcomeOf(view)
	if outcome == "" || string(outcome) == next.Outcome {
		return
	}
	next.Outcome = string(outcome)
	message := "the post-run rules pass"
	if outcome == event.PostRunFailed {
		message = "the post-run rules do not pass" + view.Unmet(now)
	}
	about := event.Of(old, now)
	about.Which, about.CausedBy = fmt.Sprintf("v%d", next.Version), causedBy // each event changes the row's version
	b.Emit(event.New(outcome, about, message, event.Gate{Rules: view.Rules()}))
}

// outcomeOf returns the outcome of the post-run rules.
func outcomeOf(view gate.View) event.Type {
	missing := slices.ContainsFunc(view.Sensors, func(s store.SeenSensor) bool { return s.Version == 0 })
	switch {
	case view.Open():
		return event.PostRunPassed
	case view.Verdict.Outcome == rule.Fail || !missing:
		return event.PostRunFailed
	}
	return ""
}

// planPostRun schedules the evaluation of a completed run's post-run rules each interval, if its
// file sets one.
func (h *postRunHandler) planPostRun(ctx context.Context, e *catalog.Entry, current run.Run, now time.Time) error {
	if e.PostRun == nil || e.PostRun.Interval == 0 || now.After(current.EndedAt.Add(e.PostRun.Window)) {
		return nil
	}
	b := store.Batch{ID: fmt.Sprintf("%s/%d", name("plan-post-run", current), now.UnixNano())}
	b.Schedule(store.Task{
		ID: postRunTask(current.Key), Kind: store.CheckPostRun, Pipeline: e.ID, Key: current.Key,
		Due: period.Instant(current.EndedAt.Add(e.PostRun.Interval)),
	})
	return h.commit(ctx, b, now)
}

// postRunTask returns the id of the task that evaluates the post-run rules of a run.
func postRunTask(key run.Key) string { return "post-run/" + key.String() }

// CheckPostRun handles CheckPostRun tasks: it evaluates the post-run rules of a completed run. The
// task repeats each interval until the window is over, or another attempt has begun.
func (h *postRunHandler) CheckPostRun(ctx context.Context, claim store.Claim, now time.Time) error {
	return store.Again(func() error {
		key := claim.Task.Key
		b := store.Batch{ID: fmt.Sprintf("%s/%d", claim.Task.ID, claim.Lease.Token), Lease: &claim.Lease}
		e, _, err := h.catalog.Active(ctx, key.Pipeline)
		if err != nil {
			return err
		}
		old, err := store.IfFound(h.store.Run(ctx, key))
		if err != nil {
			return err
		}
		if e == nil || e.PostRun == nil || e.PostRun.Interval == 0 || old.Status != run.Completed || now.After(old.EndedAt.Add(e.PostRun.Window)) {
			b.Finish(claim.Task.ID)
			return h.commit(ctx, b, now)
		}
		if err := h.checkRules(ctx, &b, e, old, now); err != nil {
			return err
		}
		task := claim.Task
		task.Due = period.Instant(now.Add(e.PostRun.Interval))
		b.Schedule(task)
		return h.commit(ctx, b, now)
	})
}

// checkRules adds a changed outcome of the post-run rules to b.
func (h *postRunHandler) checkRules(ctx context.Context, b *store.Batch, e *catalog.Entry, old run.Run, now time.Time) error {
	view, err := h.evaluate(ctx, e, e.PostRun.Gate, old.Period, now)
	if err != nil {
		return err
	}
	post, err := store.IfFound(h.store.PostRun(ctx, old.Key))
	if err != nil {
		return err
	}
	prober.Need(b, h.catalog.Current(), e.Definition, view, old.Key, now)
	next := after(old, post)
	reportRules(b, old, &next, view, postRunTask(old.Key), now)
	if next.Outcome != post.Outcome {
		b.SwapPostRun(post, next)
	}
	return nil
}
