package explain

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// place is where a reading is written.
type place struct {
	owner  pipeline.ID
	key    sensor.Key
	period period.Period // zero: undated
	slice  bool          // of a rule over several periods, which sees no undated reading
}

// sameReading reports whether a write at either place replaces the same reading.
func (at place) sameReading(other place) bool {
	return at.owner == other.owner && at.key == other.key && at.period == other.period
}

// demand is what one target needs of the reading at a place.
type demand struct {
	place
	term   rule.Term
	pass   bool
	rule   int
	unmet  bool // it is for a rule that is not as the way needs it
	unseen bool // the rule does not see the current reading, whatever it says
}

// cell is a place with all that is demanded of it.
type cell struct {
	place
	demands []demand
}

// current returns the reading that counts at a place.
func (p *planner) current(ctx context.Context, f *facts, at place) (*sensor.Reading, error) {
	asked := cmp.Or(at.period, p.key.Period)
	answers, err := f.Readings(ctx, []store.ReadingQuery{{Pipeline: at.owner, Key: at.key, Period: asked}})
	if err != nil {
		return nil, err
	}
	if at.slice {
		return sensor.ForSlices([]period.Period{at.period}, answers[0])[0].Reading, nil
	}
	return sensor.ForPeriod(p.key.Period, answers[0]).Reading, nil
}

// demands returns what a target needs of each reading that its rule sees.
func (p *planner) demands(ctx context.Context, t rule.Target, dated bool) ([]demand, error) {
	term, leaf := p.terms[t.Rule], p.leaves[t.Rule]
	at := place{owner: p.owner(leaf.SeenLeaf), key: term.Ref.Key, period: p.key.Period}
	d := demand{term: term, pass: t.Pass, rule: t.Rule, place: at}
	d.unmet = leaf.Outcome != outcome(t.Pass)
	if term.Ref.Over != (rule.Range{}) {
		return p.slices(ctx, d)
	}
	seen, err := p.current(ctx, p.facts, d.place)
	if err != nil {
		return nil, err
	}
	d.unseen = d.unmet && term.Ref.Start && leaf.Version == 0
	if !dated && seen != nil && seen.Period.IsZero() {
		d.period = period.Period{}
	}
	return []demand{d}, nil
}

// slices returns the demands of a rule over several periods: on those that are as needed, and on as
// many more as are needed.
func (p *planner) slices(ctx context.Context, d demand) ([]demand, error) {
	all := gate.Slices(p.def.Schedule, d.term.Ref.Over, p.key.Period)
	need := cmp.Or(d.term.Need, len(all))
	if !d.pass {
		need = len(all) - need + 1
	}
	if need > len(all) || len(all) == 0 {
		return []demand{d}, nil // no reading helps; the trial shows it
	}
	var met, unmet []demand
	for _, slice := range all {
		one := d
		one.period, one.slice = slice, true
		seen, err := p.current(ctx, p.facts, one.place)
		if err != nil {
			return nil, err
		}
		if one.unmet = !one.holds(seen, p.now); one.unmet {
			unmet = append(unmet, one)
		} else {
			met = append(met, one)
		}
	}
	return append(met, unmet[:min(max(need-len(met), 0), len(unmet))]...), nil
}

// outcome returns the outcome that a target needs.
func outcome(pass bool) rule.Outcome {
	if pass {
		return rule.Pass
	}
	return rule.Fail
}

// holds reports whether a reading is as demanded, or will be in time.
func (d demand) holds(r *sensor.Reading, now time.Time) bool {
	return d.term.On(r, now) == outcome(d.pass) || d.term.InTime(d.pass, r, now)
}

func (c *cell) satisfied(r *sensor.Reading, now time.Time) bool {
	return !slices.ContainsFunc(c.demands, func(d demand) bool { return !d.holds(r, now) })
}

// fill returns the steps that make the reading at a place as demanded, and makes them in f. There
// are none if it is so already; the result is nil if no reading is.
func (p *planner) fill(ctx context.Context, f *facts, c *cell) ([]step, error) {
	seen, err := p.current(ctx, f, c.place)
	if err != nil {
		return nil, err
	}
	unseen := slices.ContainsFunc(c.demands, func(d demand) bool { return d.unseen })
	if c.satisfied(seen, p.now) && !unseen {
		return []step{}, nil
	}
	s := step{cell: *c, probe: p.Catalog.Current().Probe(c.owner, c.key)}
	for _, d := range c.demands {
		if d.unmet {
			s.rules = append(s.rules, d.rule)
		}
	}
	if c.satisfied(nil, p.now) {
		return p.remove(ctx, f, s, seen)
	}
	fields, ok := c.fields(seen, p.now)
	if !ok {
		return nil, nil
	}
	r := &sensor.Reading{
		Key: c.key, Period: c.period, Fields: fields, UpdatedAt: p.now, ChangedAt: p.now, Version: math.MaxInt64,
	}
	if at, err := sensor.PeriodOf(stored(fields), c.period); err != nil || at != c.period {
		return nil, nil
	}
	s.write = r
	written := *r
	written.Fields = stored(fields)
	if seen != nil && seen.Period == c.period && written.SameFacts(seen) {
		written.ChangedAt = seen.Unchanged()
	}
	if !c.satisfied(&written, p.now) {
		return nil, nil
	}
	f.write(c.owner, &written)
	return []step{s}, nil
}

// remove deletes the reading at a place, and those of longer periods that then count.
func (p *planner) remove(ctx context.Context, f *facts, s step, seen *sensor.Reading) ([]step, error) {
	var steps []step
	for seen != nil { // each of them is deleted once
		s.write = &sensor.Reading{Key: s.cell.key, Period: seen.Period, Deleted: true}
		f.write(s.cell.owner, s.write)
		steps = append(steps, s)
		var err error
		if seen, err = p.current(ctx, f, s.cell.place); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// fields returns the fields of a reading that is as demanded: those that the rules read first, and
// what else the current reading says. A time.Time stands for the instant of the write.
func (c *cell) fields(seen *sensor.Reading, now time.Time) (sensor.Fields, bool) {
	fields := sensor.Fields{}
	if seen != nil && !seen.Deleted {
		fields = maps.Clone(seen.Fields)
		for _, name := range []string{"date", "hour", "minute"} {
			delete(fields, name)
		}
	}
	if fields == nil {
		fields = sensor.Fields{}
	}
	for _, field := range c.read() {
		var demands []demand
		for _, d := range c.demands {
			if d.term.Path() == field {
				demands = append(demands, d)
			}
		}
		value, ok := c.value(field, demands, fields.At(field), now)
		if !ok {
			return nil, false
		}
		fields = with(fields, field, value)
	}
	if len(fields) == 0 {
		fields["ready"] = true
	}
	return fields, true
}

// read lists the fields that the rules of a place read, in their order.
func (c *cell) read() []string {
	var fields []string
	for _, d := range c.demands {
		if field := d.term.Path(); field != "" && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// value returns a value of a field that is as all demands on it need it: the current one if it is.
// A nil value means that the reading does not have the field.
func (c *cell) value(field string, demands []demand, current any, now time.Time) (any, bool) {
	if c.holds(field, demands, current, now, false) {
		return current, true
	}
	var candidates []any
	for _, d := range demands {
		candidates = append(candidates, d.term.Examples(d.pass, now)...)
	}
	if field == "date" && !c.period.IsZero() {
		candidates = append(candidates, c.period.FirstDay().String())
	}
	candidates = append(candidates, rule.Between(candidates)...)
	for _, v := range slices.Clone(candidates) { // an expression needs a number as text
		switch v.(type) {
		case int64, float64:
			candidates = append(candidates, sensor.Literal(v))
		}
	}
	for _, atOnce := range []bool{true, false} {
		for _, v := range append(candidates, nil) {
			if c.holds(field, demands, v, now, atOnce) {
				return v, true
			}
		}
	}
	return nil, false
}

// holds reports whether a reading with only that field is as demanded; if not at once, it may also
// become so in time.
func (c *cell) holds(field string, demands []demand, value any, now time.Time, atOnce bool) bool {
	r := &sensor.Reading{Key: c.key, Period: c.period, Fields: sensor.Fields{}, UpdatedAt: now, ChangedAt: now}
	if value != nil {
		r.Fields[field] = asText(value)
	}
	return !slices.ContainsFunc(demands, func(d demand) bool {
		return !d.holds(r, now) || atOnce && d.term.InTime(d.pass, r, now)
	})
}

// with sets a field, which may be a dotted path into an object that fields has. A nil value removes
// it.
func with(fields sensor.Fields, field string, value any) sensor.Fields {
	name, rest, dotted := strings.Cut(field, ".")
	inner, nested := fields[name].(map[string]any)
	switch {
	case dotted && nested && fields[field] == nil:
		fields[name] = map[string]any(with(maps.Clone(inner), rest, value))
	case value == nil:
		delete(fields, field)
	default:
		fields[field] = value
	}
	return fields
}

// stored returns fields as the store would have them.
func stored(fields sensor.Fields) sensor.Fields {
	out := make(sensor.Fields, len(fields))
	for name, v := range fields {
		out[name] = asText(v)
	}
	return out
}

// asText writes an instant as text; other values stay. Objects may hold instants, too.
func asText(v any) any {
	switch v := v.(type) {
	case time.Time:
		return period.Stamp(v)
	case map[string]any:
		return map[string]any(stored(v))
	}
	return v
}

// completeUpstream adds the upstream runs that a target needs, and counts them as COMPLETED. It
// reports whether they meet it.
func (p *planner) completeUpstream(ctx context.Context, w *work, t rule.Target) (bool, error) {
	leaf, term := p.leaves[t.Rule], p.terms[t.Rule]
	if leaf.Outcome == outcome(t.Pass) {
		return true, nil
	}
	name, _ := term.Ref.Key.Upstream()
	up := p.Catalog.Current().Definition(pipeline.ID(name))
	if !t.Pass || up == nil {
		return false, nil
	}
	keys, err := p.missingRuns(ctx, up, p.owner(leaf.SeenLeaf))
	if err != nil || len(keys) == 0 {
		return false, err
	}
	for _, key := range keys {
		if !w.facts.ended[key] {
			w.facts.ended[key] = true
			w.steps = append(w.steps, step{rules: []int{t.Rule}, upstream: key})
		}
	}
	reading := gate.RunReading(up.ID, p.key.Period, run.Completed, 1, p.now)
	reading.UpdatedAt, reading.ChangedAt, reading.Version = p.now, p.now, math.MaxInt64
	w.facts.write(p.owner(leaf.SeenLeaf), &reading)
	return true, nil
}

// missingRuns lists the runs of an upstream that must still complete.
func (p *planner) missingRuns(ctx context.Context, up *pipeline.Definition, reader pipeline.ID) ([]run.Key, error) {
	periods, need := []period.Period{p.key.Period}, 0
	if reader == p.key.Pipeline && slices.Contains(p.def.After, up.ID) {
		periods, need = p.def.Awaited(up, p.key.Period), p.def.AtLeast[up.ID]
	}
	var keys []run.Key
	for _, at := range periods {
		keys = append(keys, run.Key{Pipeline: up.ID, Schedule: up.Opens, Period: at})
	}
	runs, err := p.facts.RunsAt(ctx, keys)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(keys), func(k run.Key) bool { return runs[k].Status == run.Completed })
	if need > 0 && need < len(keys) {
		missing = missing[:max(0, min(len(missing), need-(len(keys)-len(missing))))]
	}
	return missing, nil
}
