package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// upstream is the runs of another pipeline that a gate waits for.
type upstream struct {
	id   pipeline.ID
	note string // why there are none to wait for
	keys []run.Key
	own  run.Key // run of exactly our period, if the upstream's periods are larger: a dated reading opens runs of any size
	runs map[run.Key]run.Run
	need int // how many must be COMPLETED; 0 means all
}

// upstreamOf returns the upstream that ref refers to, if any.
func (q Question) upstreamOf(ref rule.Ref) (pipeline.ID, bool) {
	name, ok := ref.Key.Upstream()
	if !ok || ref.From != "" || ref.Start || !slices.Contains(q.Definition.After, pipeline.ID(name)) {
		return "", false
	}
	return pipeline.ID(name), true
}

// upstream finds the runs that must be COMPLETED: those of every expected period inside ours, or
// the one that contains it. If the calendar leaves none inside it, the gate stays closed: nothing
// would ever have produced the data.
func (q Question) upstream(id pipeline.ID) *upstream {
	up := &upstream{id: id}
	var def *pipeline.Definition
	if q.Upstream != nil {
		def = q.Upstream(id)
	}
	if def == nil {
		up.note = fmt.Sprintf("pipeline %s is not active", id)
		return up
	}
	key := func(p period.Period) run.Key { return run.Key{Pipeline: id, Schedule: def.Opens, Period: p} }
	for _, p := range q.Definition.Awaited(def, q.Period) {
		up.keys = append(up.keys, key(p))
	}
	switch size := def.Schedule.Size(); {
	case size > q.Period.Size():
		up.own = key(q.Period)
	case size < q.Period.Size():
		up.need = q.Definition.AtLeast[id]
	}
	if len(up.keys) == 0 {
		up.note = fmt.Sprintf("%s has no period inside %s according to its schedule and calendar", id, q.Period)
	}
	return up
}

// readRuns reads the runs of all upstreams in one call.
func readRuns(ctx context.Context, r reader, upstreams map[int]*upstream) error {
	var keys []run.Key
	for _, up := range upstreams {
		keys = append(keys, up.keys...)
		if up.own != (run.Key{}) {
			keys = append(keys, up.own)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, func(a, b run.Key) int { return strings.Compare(a.String(), b.String()) })
	runs, err := r.RunsAt(ctx, keys)
	if err != nil {
		return fmt.Errorf("read upstream runs: %w", err)
	}
	for _, up := range upstreams {
		up.runs = runs
		if _, there := runs[up.own]; there {
			up.keys = []run.Key{up.own}
		}
	}
	return nil
}

// seen returns the state of the upstream: COMPLETED only if all of its runs are, otherwise that of
// the first that is not.
func (u *upstream) seen(p period.Period) sensor.Seen {
	seen, total := sensor.Seen{For: p, Note: u.note}, len(u.keys)
	if total == 0 {
		return seen
	}
	done, first := u.progress()
	enough, of := total, ""
	if total > 1 {
		enough = cmp.Or(u.need, total)
		of = fmt.Sprintf("%d of %d runs of %s are COMPLETED", done, total, u.id)
	}
	if enough < total {
		of += fmt.Sprintf(" (needs %d)", enough)
	}
	r, there := u.runs[first]
	switch {
	case done >= enough:
		seen.Reading = u.completed(p)
		if done < total {
			seen.Note = of
		}
		return seen
	case done == total:
		seen.Note = fmt.Sprintf("all %d runs of %s are COMPLETED, but atLeast requires %d", done, u.id, enough)
	case there && of != "":
		seen.Note = fmt.Sprintf("%s, %s is not", of, first.Period)
	case there:
	case of != "":
		seen.Note = fmt.Sprintf("%s, there is no run for %s", of, first.Period)
	default:
		seen.Note = fmt.Sprintf("no run of %s for %s", u.id, first.Period)
	}
	if there {
		seen.Reading = u.reading(first.Period, r)
	}
	return seen
}

// progress counts the runs that are COMPLETED, and returns the first that is not.
func (u *upstream) progress() (done int, first run.Key) {
	for _, key := range u.keys {
		switch {
		case u.runs[key].Status == run.Completed:
			done++
		case first == run.Key{}:
			first = key
		}
	}
	return done, first
}

// completed returns the reading of a completed upstream, from the latest of its runs.
func (u *upstream) completed(p period.Period) *sensor.Reading {
	var last run.Run
	version := int64(0)
	for _, key := range u.keys {
		r := u.runs[key]
		if r.Status != run.Completed {
			continue
		}
		version += r.Version
		if r.EndedAt.After(last.EndedAt) {
			last = r
		}
	}
	if len(u.keys) == 1 {
		p = u.keys[0].Period
	}
	reading := u.reading(p, last)
	reading.Version = version
	return reading
}

// reading converts a run to a reading of the engine's own sensor.
func (u *upstream) reading(p period.Period, r run.Run) *sensor.Reading {
	reading := RunReading(u.id, p, r.Status, r.Attempt, r.EndedAt)
	reading.UpdatedAt, reading.Version = r.UpdatedAt, r.Version
	return &reading
}

// RunReading returns the reading that announces a run of a pipeline; ended is when it completed.
func RunReading(id pipeline.ID, p period.Period, status run.Status, attempt int, ended time.Time) sensor.Reading {
	fields := sensor.Fields{"status": string(status), "date": p.String(), "attempt": int64(attempt)}
	if status == run.Completed {
		fields["completedAt"] = period.Exact(ended)
	}
	return sensor.Reading{Key: sensor.UpstreamKey(string(id)), Period: p, Fields: fields, Source: "interlock"}
}
