package watchdog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// missingLookBack is how long after its timeout a missing reading is still reported.
	missingLookBack = 7 * 24 * time.Hour
	// missingAgain is how long a run is checked again, in case a pass saw it late.
	missingAgain = time.Hour
	// missingPage is how many runs are read per page.
	missingPage = 100
)

// missingSensors finds completed runs whose post-run sensor was not written in time
// (POST_RUN_SENSOR_MISSING, once per run, attempt and key).
func (w *Watchdog) missingSensors(ctx context.Context, p pass) (int, error) {
	w.followed.begin()
	var concerned []watched
	var longest time.Duration
	first := p.now // earliest time that may have to be checked
	for _, e := range p.entries {
		if e.PostRun == nil || e.DryRun {
			continue
		}
		concerned = append(concerned, e)
		longest = max(longest, e.PostRun.SensorTimeout)
		first = period.Earlier(first, w.unjudged(e, p))
	}
	if len(concerned) == 0 {
		return 0, nil
	}
	var names happened
	var err error
	if names.runs, err = w.overlookRuns(ctx, first.Add(-longest)); err != nil {
		return 0, err
	}
	if names.writes, err = w.overlookWrites(ctx, w.unseenDue(p).Add(-longest)); err != nil {
		return 0, err
	}
	found, err := w.eachPipeline(ctx, concerned, func(e watched) (int, error) { return w.missingOf(ctx, e, p, names) })
	if err == nil {
		w.missing = reach{p.now, p.settled}
	}
	return found, err
}

// unseenDue returns the time since which sensors may have become due without a pass having checked
// them.
func (w *Watchdog) unseenDue(p pass) time.Time {
	return period.Later(p.now.Add(-missingLookBack), w.missing.settled.Add(-missingAgain))
}

// unjudged is unseenDue for one pipeline: a new version of its file may require other sensors than
// earlier passes checked.
func (w *Watchdog) unjudged(e watched, p pass) time.Time {
	if e.accepted.After(w.missing.at) {
		return p.now.Add(-missingLookBack)
	}
	return w.unseenDue(p)
}

// readable returns the time from which a sensor is due for runs whose readings have not been trimmed
// yet. A timeout longer than the history is judged all the same, by what is left.
func (w *Watchdog) readable(e watched, p pass) time.Time {
	if w.History <= e.PostRun.SensorTimeout {
		return time.Time{}
	}
	return p.now.Add(e.PostRun.SensorTimeout - w.History)
}

// missingOf checks the completed runs of one pipeline.
func (w *Watchdog) missingOf(ctx context.Context, e watched, p pass, names happened) (int, error) {
	since, found := period.Later(w.unjudged(e, p), w.readable(e, p)), 0
	wanted := wantedRuns{e.Entry, since.Add(-e.PostRun.SensorTimeout), missingPage, names.runs, func(c completion) bool {
		return !w.followed.has(judgedBy(e.Entry, c.key, c.attempt))
	}}
	// Runs that the next pass will not read need no memory. It reads every run that an overview
	// lists.
	keep := func(r run.Run) {
		if names.runs != nil || !r.EndedAt.Add(e.PostRun.SensorTimeout).Before(p.settled.Add(-missingAgain)) {
			w.followed.keep(judgedBy(e.Entry, r.Key, r.Attempt))
		}
	}
	for page, err := range w.eachCompleted(ctx, wanted) {
		if err != nil {
			return found, err
		}
		var due []run.Run
		for _, r := range page {
			switch at := r.EndedAt.Add(e.PostRun.SensorTimeout); {
			case at.After(p.settled) || w.followed.has(judgedBy(e.Entry, r.Key, r.Attempt)):
			case at.Before(since):
				keep(r)
			default:
				due = append(due, r)
			}
		}
		n, err := w.missingAfter(ctx, e.Entry, due, p.now, names.writes)
		found += n
		if err != nil {
			return found, err
		}
		for _, r := range due {
			keep(r)
		}
	}
	return found, nil
}

// expected is a sensor that should have been written after a run.
type expected struct {
	after run.Run
	ref   rule.Ref
}

func (x expected) source() source {
	q := x.query()
	return source{q.Pipeline, q.Key}
}

func (x expected) query() store.ReadingQuery {
	return store.ReadingQuery{Pipeline: cmp.Or(pipeline.ID(x.ref.From), x.after.Pipeline), Key: x.ref.Key, Period: x.after.Period}
}

// missingAfter reports the sensors that were not written after the runs completed.
func (w *Watchdog) missingAfter(ctx context.Context, e *catalog.Entry, runs []run.Run, now time.Time, named written) (int, error) {
	var all []expected
	for _, r := range runs {
		for _, ref := range e.PostRun.Gate.Refs() {
			all = append(all, expected{r, ref})
		}
	}
	all, err := w.unnamed(ctx, all, named)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	queries := make([]store.ReadingQuery, len(all))
	for i, x := range all {
		queries[i] = x.query()
	}
	answers, err := w.Store.Readings(ctx, queries)
	if err != nil {
		return 0, fmt.Errorf("read the post-run sensors of %s: %w", e.ID, err)
	}
	found := 0
	for i, x := range all {
		came, err := w.came(ctx, x, sensor.ForPeriod(x.after.Period, answers[i]).Reading, now)
		if err != nil {
			return found, err
		}
		if came {
			continue
		}
		emitted, err := w.emitMissing(ctx, e, x, now)
		if err != nil {
			return found, err
		}
		if emitted {
			found++
		}
	}
	return found, nil
}

// mostAfter is how many listed writes after a run are read to find one for its own period.
const mostAfter = 3

// unnamed drops the sensors for which an overview lists a write that came after the run, is for
// exactly its period, and was not deleted: rules prefer it over any other reading.
func (w *Watchdog) unnamed(ctx context.Context, all []expected, named written) ([]expected, error) {
	var ids []store.WriteID
	for _, x := range all {
		ids = append(ids, x.named(named)...)
	}
	if len(ids) == 0 {
		return all, nil
	}
	found, err := w.Store.Writes(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the post-run sensors of %s: %w", all[0].after.Pipeline, err)
	}
	return slices.DeleteFunc(all, func(x expected) bool {
		for _, id := range x.named(named) { // newest first
			if r := found[id]; r != nil && r.Period == x.after.Period {
				return !r.Deleted
			}
		}
		return false
	}), nil
}

// named lists the writes after the run that an overview contains, newest first; nil if there are
// too many.
func (x expected) named(named written) []store.WriteID {
	of := x.source()
	all := named[of]
	end := slices.IndexFunc(all, func(one writing) bool { return !one.at.After(x.after.EndedAt) })
	if end < 0 {
		end = len(all)
	}
	if end > mostAfter {
		return nil
	}
	var ids []store.WriteID
	for _, one := range all[:end] {
		ids = append(ids, store.WriteID{Pipeline: of.owner, Key: of.key, Version: one.version})
	}
	return ids
}

// came reports whether a reading was written after the run completed. A slow clock may have dated
// it before the end of the run: then the snapshot taken at completion did not contain it.
func (w *Watchdog) came(ctx context.Context, x expected, r *sensor.Reading, now time.Time) (bool, error) {
	if r != nil && r.UpdatedAt.After(x.after.EndedAt) {
		return true, nil
	}
	if r == nil && w.History > 0 && x.after.EndedAt.Before(now.Add(-w.History)) {
		post, err := store.IfFound(w.Store.PostRun(ctx, x.after.Key))
		return post.Attempt == x.after.Attempt && post.Outcome != "", err // it has been judged, and trimmed since
	}
	if r == nil {
		return false, nil
	}
	end, err := store.IfFound(w.Store.Snapshot(ctx, x.after.EndSnapshot()))
	if err != nil || end.ID == "" {
		return false, err
	}
	q := x.query()
	return end.Missed(store.ReadVersion{Pipeline: q.Pipeline, Key: q.Key, Period: r.Period, Version: r.Version}), nil
}

// emitMissing reports one sensor under the name the rules use: pipelines may share a key.
func (w *Watchdog) emitMissing(ctx context.Context, e *catalog.Entry, x expected, now time.Time) (bool, error) {
	r, of := x.after, x.source()
	name := gate.RuleKey(e.ID, of.owner, of.key)
	mark := fmt.Sprintf("post-run-missing/%s/%d/%s", r.Key, r.Attempt, name)
	about := event.Of(r, now)
	about.Which, about.Critical = name, e.SLA.Critical
	message := fmt.Sprintf("sensor %s has not been written since the run completed at %s", name, period.Stamp(r.EndedAt))
	return store.EmitOnce(ctx, w.Store, mark, now.Add(2*missingLookBack),
		event.New(event.PostRunSensorMissing, about, message, event.Sensors{Sensors: []string{name}}), now)
}
