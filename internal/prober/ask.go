package prober

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Source is the source of readings written by probes.
const Source = "probe"

// stateLife is how long the state of a probe is kept after its last use.
const stateLife = 30 * 24 * time.Hour

// maxTries is how often recording a result is retried because a result for another period was
// recorded meanwhile.
const maxTries = 10

// asked is a probe and the period to run it for.
type asked struct {
	pipeline pipeline.ID
	version  string
	file     string // file of that version
	probe    *pipeline.Probe
	period   period.Period
}

func (a asked) key() sensor.Key { return sensor.Key(a.probe.Key) }

// ask runs a probe for a period, once, unless it is backing off or has been answered meanwhile.
func (t *turn) ask(ctx context.Context) error {
	a, err := t.find(ctx)
	if err != nil {
		return err
	}
	if a.probe == nil {
		return t.finish(ctx)
	}
	_, state, err := stateOf(ctx, t.Store, a.pipeline, a.probe.Key, a.version)
	if err != nil {
		return err
	}
	if rest := period.Later(state.Rest, state.Unsure(a.period.String(), a.probe.Interval)); rest.After(t.now) {
		return t.later(ctx, a, rest)
	}
	if a.probe.Interval == 0 {
		switch known, err := t.known(ctx, a); {
		case err != nil:
			return err
		case known:
			return t.finish(ctx)
		}
	}
	answer, failure := t.Evaluator.Evaluate(ctx, probe.Request{Pipeline: a.pipeline, Version: a.version, File: a.file, Probe: *a.probe, Period: a.period, Attempt: state.Failures + 1})
	if ctx.Err() != nil {
		return ctx.Err() // cancelled, which says nothing about the probe
	}
	began := t.now
	t.now = t.clock()
	var expires time.Time
	if failure == nil {
		expires, failure = t.write(ctx, a, answer)
	}
	if failure == nil {
		return t.record(ctx, a, func(s probe.State) probe.State {
			return s.Answer(answer, a.period.String(), began, t.now, expires)
		})
	}
	if broken, ok := errors.AsType[*probe.Failure](failure); ok {
		return t.record(ctx, a, func(s probe.State) probe.State { return s.Break(broken, t.now) })
	}
	return failure
}

// find returns the probe of the task: an active one, or one of the version that an open run of the
// pipeline uses.
func (t *turn) find(ctx context.Context) (asked, error) {
	task := t.claim.Task
	a := asked{pipeline: task.Pipeline, period: task.Key.Period}
	e, _, err := t.Catalog.Active(ctx, task.Pipeline)
	if err != nil {
		return a, err
	}
	if e != nil {
		a.version, a.file, a.probe = e.Version, e.File, t.probe(e.Definition)
	}
	if a.probe != nil {
		return a, nil
	}
	attempts, err := t.attempts(ctx, task.Key)
	for _, open := range attempts {
		if a.probe == nil && open.run.Status.Open() {
			a.version, a.file, a.probe = open.run.Progress.Opening.ConfigVersion, open.def.File, t.probe(open.def)
		}
	}
	return a, err
}

// known reports whether the sensor has an unexpired value for the period.
func (t *turn) known(ctx context.Context, a asked) (bool, error) {
	latest, err := t.readings(ctx, a)
	if err != nil {
		return false, err
	}
	r := sensor.ForPeriod(a.period, latest).Reading
	return r != nil && (r.ExpiresAt.IsZero() || t.now.Before(r.ExpiresAt)), nil
}

// readings returns the latest readings of the sensor that can count for the period.
func (t *turn) readings(ctx context.Context, a asked) ([]*sensor.Reading, error) {
	answers, err := t.Store.Readings(ctx, []store.ReadingQuery{{Pipeline: a.pipeline, Key: a.key(), Period: a.period}})
	if err != nil {
		return nil, fmt.Errorf("read sensor %s of %s: %w", a.probe.Key, a.pipeline, err)
	}
	return answers[0], nil
}

// write stores an answer as a reading, for the probe's period unless its value names another, and
// returns when it expires. An Unknown answer is no reading: it deletes that of the last answer.
func (t *turn) write(ctx context.Context, a asked, answer probe.Answer) (time.Time, error) {
	if answer.Status == probe.Unknown {
		return time.Time{}, t.withdraw(ctx, a)
	}
	fields := answer.Fields()
	about, err := sensor.PeriodOf(fields, a.period)
	if err != nil {
		return time.Time{}, &probe.Failure{Category: run.Permanent, Reason: fmt.Sprintf("the value of its answer has an invalid period: %v", err)}
	}
	expires := period.Instant(t.now.Add(a.probe.TTL))
	return expires, t.put(ctx, a, sensor.Reading{Period: about, Fields: fields, ExpiresAt: expires})
}

// withdraw deletes the reading of an earlier answer that counts for the period. It leaves a reading
// that did not come from the probe.
func (t *turn) withdraw(ctx context.Context, a asked) error {
	latest, err := t.readings(ctx, a)
	if err != nil {
		return err
	}
	r := sensor.ForPeriod(a.period, latest).Reading // its value may have named another period
	if r == nil || r.Source != Source {
		return nil
	}
	return t.put(ctx, a, sensor.Reading{Period: r.Period, Deleted: true})
}

// put stores a reading of the probe. Its order is the lease token, so that a result from a worker
// that has lost the lease is ignored.
func (t *turn) put(ctx context.Context, a asked, r sensor.Reading) error {
	r.Key, r.Source = a.key(), Source
	w := store.Write{Pipeline: a.pipeline, Order: t.claim.Lease.Token, Reading: r}
	if _, err := t.Store.PutReadings(ctx, []store.Write{w}, t.now); err != nil {
		return fmt.Errorf("write the answer of probe %s of %s: %w", a.probe.Key, a.pipeline, err)
	}
	return nil
}

// record stores the probe's state, and finishes the task or, if a run waits and the probe failed,
// reschedules it.
func (t *turn) record(ctx context.Context, a asked, next func(probe.State) probe.State) error {
	var err error
	for range maxTries {
		var note store.Note
		var state probe.State
		if note, state, err = stateOf(ctx, t.Store, a.pipeline, a.probe.Key, a.version); err != nil {
			return err
		}
		state = next(state)
		data, failed := json.Marshal(state)
		if failed != nil {
			return failed
		}
		b := t.batch(fmt.Sprintf("v%d", note.Version))
		b.SwapNote(note, store.Note{Kind: store.ProbeNote, Key: NoteKey(a.pipeline, a.probe.Key), Data: data, Until: period.Instant(t.now.Add(stateLife))})
		if err = t.settle(ctx, &b, a, state.Rest); err != nil {
			return err
		}
		if err = t.Store.Commit(ctx, b, t.now); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// later skips a probe that is backing off, and reschedules it if a run waits for it.
func (t *turn) later(ctx context.Context, a asked, rest time.Time) error {
	b := t.batch("rest")
	if err := t.settle(ctx, &b, a, rest); err != nil {
		return err
	}
	return t.Store.Commit(ctx, b, t.now)
}

// settle finishes the task, or moves it to the next try.
func (t *turn) settle(ctx context.Context, b *store.Batch, a asked, rest time.Time) error {
	due, err := t.comesBack(ctx, a, rest)
	if err != nil {
		return err
	}
	if due.IsZero() {
		b.Finish(t.claim.Task.ID)
		return nil
	}
	b.Schedule(t.again(due))
	return nil
}

// NoteKey is the key under which the state of a probe is stored.
func NoteKey(id pipeline.ID, key string) string { return string(id) + "/" + key }

// notes reads probe states.
type notes interface {
	Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
}

// StateOf returns the recent results of a probe, for that version of its pipeline's file; the zero
// State if it never ran.
func StateOf(ctx context.Context, from notes, id pipeline.ID, key, version string) (probe.State, error) {
	_, state, err := stateOf(ctx, from, id, key, version)
	return state, err
}

func stateOf(ctx context.Context, from notes, id pipeline.ID, key, version string) (store.Note, probe.State, error) {
	var state probe.State
	note, err := from.Note(ctx, store.ProbeNote, NoteKey(id, key))
	if errors.Is(err, store.ErrNotFound) {
		return store.Note{}, state.For(version), nil
	}
	if err == nil {
		err = json.Unmarshal(note.Data, &state)
	}
	if err != nil {
		return note, state, fmt.Errorf("read the state of probe %s of %s: %w", key, id, err)
	}
	return note, state.For(version), nil
}

// Standing is an active probe and its recent results.
type Standing struct {
	Pipeline pipeline.ID
	Probe    pipeline.Probe
	State    probe.State
}

// Standings returns those of all probes of a pipeline, in file order.
func Standings(ctx context.Context, from notes, e *catalog.Entry) ([]Standing, error) {
	all := make([]Standing, 0, len(e.Probes))
	for _, p := range e.Probes {
		s, err := StateOf(ctx, from, e.ID, p.Key, e.Version)
		if err != nil {
			return nil, err
		}
		all = append(all, Standing{Pipeline: e.ID, Probe: p, State: s})
	}
	return all, nil
}
