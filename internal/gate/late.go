package gate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// Late is an input of a completed run whose data is no longer that on which its job started.
type Late struct {
	Pipeline pipeline.ID
	Key      sensor.Key
	Period   period.Period // of the reading; zero if it is undated
	Start    bool          // it is the sensor of the start condition
	First    bool          // it had no reading at the start
	Was, Now sensor.Fields // the fields that changed
	Used     int64         // version of the reading that the start used; 0 if that period had none
	Version  int64         // version of the reading now
	Content  string        // a hash of the data now
	// Passes means that the start would have been allowed on the data of now. Unmet means that the
	// data of now does not meet the start condition.
	Passes, Unmet bool
}

// Sensor returns the full name of the sensor.
func (l Late) Sensor() string { return string(l.Pipeline) + "/" + string(l.Key) }

// Inputs returns what the sensors of a gate and of its start condition show now, in the order in
// which a snapshot lists them. Those that are not wanted are left zero.
func Inputs(ctx context.Context, r reader, q Question, wanted func(pipeline.ID, sensor.Key) bool) ([]store.SeenSensor, error) {
	refs := q.Definition.Gate.Refs()
	refs = append(refs, q.startBeside(refs)...)
	var at []int
	var some []rule.Ref
	for i, ref := range refs {
		if wanted(owner(q.Definition.ID, ref), ref.Key) {
			at, some = append(at, i), append(some, ref)
		}
	}
	sensors := make([]store.SeenSensor, len(refs))
	if len(some) == 0 {
		return sensors, nil
	}
	seen, _, err := q.read(ctx, r, some)
	if err != nil {
		return nil, fmt.Errorf("read the inputs of %s for %s: %w", q.Definition.ID, q.Period, err)
	}
	for i, ref := range some {
		one := noted(q.Definition.ID, ref, seen[i])
		prune(one.Slices, q.Definition.Gate.Fields(at[i]))
		sensors[at[i]] = one
	}
	return sensors, nil
}

// LateInputs compares the inputs of a completed run with those on which its job started, and
// returns each sensor whose data differs, once. d is the version of the file that the attempt ran
// with, now what Inputs returned for it.
//
// For the start condition all fields count, for a rule those that it reads; a rule that only checks
// whether the reading exists reads all of them. Undated standing facts never count, nor sensors that
// only advisory rules read, nor sensors without a reading now.
func LateInputs(d *pipeline.Definition, start store.Snapshot, now []store.SeenSensor) []Late {
	var all []Late
	for i, s := range now {
		then, there := thenOf(start.Sensors, i, identityOf(s))
		if s.Version == 0 || there && older(s, then) {
			continue
		}
		l, changed := differs(d.ID, start, then, s)
		if !changed {
			continue
		}
		if n := slices.IndexFunc(all, func(one Late) bool { return one.Sensor() == l.Sensor() }); n >= 0 {
			if l.Start {
				all[n] = l // it has all fields
			}
			continue
		}
		all = append(all, l)
	}
	for i := range all {
		all[i].judge(d, start, now)
	}
	return all
}

// identity is what an input reads, the same in all versions of a file.
type identity struct {
	pipeline    pipeline.ID
	key         sensor.Key
	start, over bool
}

func identityOf(s store.SeenSensor) identity {
	return identity{s.Pipeline, s.Key, s.Start, len(s.Slices) > 0}
}

// thenOf returns what a snapshot recorded of the i-th input; false if it had no reading.
func thenOf(sensors []store.SeenSensor, i int, of identity) (store.SeenSensor, bool) {
	same := func(then store.SeenSensor) bool { return then.Version != 0 && identityOf(then) == of }
	if i < len(sensors) && same(sensors[i]) {
		return sensors[i], true
	}
	if n := slices.IndexFunc(sensors, same); n >= 0 {
		return sensors[n], true
	}
	return store.SeenSensor{}, false
}

// older reports whether a sensor shows what it did then, or something from before: the reading of a
// longer period, because a shorter one was deleted.
func older(now, then store.SeenSensor) bool {
	if IsUpstream(now) {
		return false
	}
	if now.Period == then.Period {
		return now.Version == then.Version
	}
	return !now.UpdatedAt.After(then.UpdatedAt)
}

// differs compares one input with what it was.
func differs(own pipeline.ID, start store.Snapshot, then, now store.SeenSensor) (Late, bool) {
	l := Late{
		Pipeline: now.Pipeline, Key: now.Key, Period: now.Period, Start: now.Start,
		Used: then.Version, Version: now.Version, Content: now.Content, First: then.Version == 0,
	}
	fields := fieldsRead(own, start, now)
	switch {
	case IsUpstream(now):
		return l, l.compare(then.Fields, now.Fields, []string{""}) && now.Fields["status"] == string(run.Completed)
	case len(now.Slices) > 0:
		return l, l.compareSlices(then.Slices, now, fields)
	case now.Start:
		fields = []string{""}
	case !l.First && then.Period.IsZero() || now.Period.IsZero() || fields == nil:
		return l, false
	}
	return l, l.compare(facts(then), facts(now), fields) || l.First
}

// fieldsRead lists the fields of a sensor that the rules of a snapshot read; "" is the reading
// itself.
func fieldsRead(own pipeline.ID, start store.Snapshot, s store.SeenSensor) []string {
	var fields []string
	for _, leaf := range start.Leaves {
		same := leaf.Key == string(s.Key) && cmp.Or(pipeline.ID(leaf.From), own) == s.Pipeline
		reads := same && leaf.Over == (len(s.Slices) > 0)
		if reads && !leaf.Advisory && !slices.Contains(fields, leaf.Field) {
			fields = append(fields, leaf.Field)
		}
	}
	return fields
}

// facts returns the fields of a stored sensor without those that only name its period.
func facts(s store.SeenSensor) sensor.Fields {
	r := sensor.Reading{Period: s.Period, Fields: s.Fields}
	return r.Facts()
}

// compare records the fields that differ, and reports whether there is one.
func (l *Late) compare(was, now sensor.Fields, fields []string) bool {
	if slices.Contains(fields, "") {
		all := map[string]bool{}
		for _, f := range []sensor.Fields{was, now} {
			for name := range f {
				all[name] = true
			}
		}
		fields = slices.Sorted(maps.Keys(all))
	}
	l.Was, l.Now = sensor.Fields{}, sensor.Fields{}
	for _, name := range fields {
		a, b := was.At(name), now.At(name)
		if !sensor.SameData(sensor.Fields{"": a}, sensor.Fields{"": b}) {
			l.Was[name], l.Now[name] = a, b
		}
	}
	return len(l.Was) > 0
}

// compareSlices compares the periods of a rule over several, and records the first that differs. A
// period that had no reading differs once it has one.
func (l *Late) compareSlices(then []store.SeenSlice, now store.SeenSensor, fields []string) bool {
	for _, s := range now.Slices {
		i := slices.IndexFunc(then, func(old store.SeenSlice) bool { return old.Date == s.Date })
		if i < 0 || s.Version == 0 || s.Version == then[i].Version {
			continue
		}
		if s.Of != then[i].Of && !s.UpdatedAt.After(then[i].UpdatedAt) { // as in older
			continue
		}
		l.Period, l.Used, l.Version = periodOf(s), then[i].Version, s.Version
		if l.compare(then[i].Fields, s.Fields, fields) || then[i].Version == 0 {
			return true
		}
	}
	return false
}

// judge decides whether the start would have been allowed on the data of now. The other inputs count
// as they were, and every age as it was at the start: only the data of l differs.
func (l *Late) judge(d *pipeline.Definition, start store.Snapshot, now []store.SeenSensor) {
	refs := d.Gate.Refs()
	seen := make(rule.Snapshot, len(refs))
	for i, ref := range refs {
		of := identity{owner(d.ID, ref), ref.Key, ref.Start, ref.Over != rule.Range{}}
		then, there := thenOf(start.Sensors, i, of)
		switch {
		case of.pipeline == l.Pipeline && of.key == l.Key && now[i].Version != 0:
			seen[i] = asAtStart(now[i], then, start.At)
		case there:
			seen[i] = Shown(then)
		}
	}
	decide := d.Gate.Decide
	if !start.PreferUntil.IsZero() && !start.At.Before(start.PreferUntil) {
		decide = d.Gate.DecideRequired
	}
	l.Passes = decide(seen, start.At) == rule.Pass
	for i := range now {
		if s := now[i]; d.Start != nil && s.Start && s.Version != 0 && s.Pipeline == l.Pipeline && s.Key == l.Key {
			r := Shown(s).Reading
			l.Unmet = !d.Start.MetBy(r, start.Key.Period, r.UpdatedAt)
		}
	}
	l.Passes = l.Passes && !l.Unmet
}

// asAtStart returns what a sensor shows now, as if its data had come when that of then did: it is
// evaluated at the time of its write, with the ages that the readings had at the start.
func asAtStart(now, then store.SeenSensor, started time.Time) sensor.Seen {
	shift := now.UpdatedAt.Sub(started)
	seen := Shown(now)
	seen.At = now.UpdatedAt
	age := func(r *sensor.Reading, version int64, updated, changed time.Time) {
		if version == 0 {
			return
		}
		r.UpdatedAt, r.ChangedAt = updated.Add(shift), changed
		if !changed.IsZero() {
			r.ChangedAt = changed.Add(shift)
		}
	}
	if seen.Reading != nil {
		age(seen.Reading, then.Version, then.UpdatedAt, then.ChangedAt)
	}
	for i := range seen.Over {
		r := seen.Over[i].Reading
		n := slices.IndexFunc(then.Slices, func(s store.SeenSlice) bool { return s.Date == seen.Over[i].For })
		if r == nil || n < 0 {
			continue
		}
		old := then.Slices[n]
		age(r, old.Version, old.UpdatedAt, old.ChangedAt)
		if old.Version == r.Version && !r.ExpiresAt.IsZero() {
			r.ExpiresAt = r.ExpiresAt.Add(shift)
		}
	}
	return seen
}
