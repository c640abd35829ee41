package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// question is about a gate of def; a nil g means the pipeline's own gate.
func (b *builder) question(def *pipeline.Definition, g *rule.Gate) gate.Question {
	q := gate.Question{Definition: def, Upstream: b.Catalog.Current().Definition, Period: b.key.Period, Gate: g}
	if r := b.x.Run; r != nil && r.Status == run.Pending {
		q.Opened = r.Progress.WindowStart
	}
	return q
}

// live evaluates a gate of def on the current data; a nil g means the pipeline's own gate.
func (b *builder) live(ctx context.Context, def *pipeline.Definition, g *rule.Gate) (*Gate, error) {
	view, err := gate.Evaluate(ctx, b.Store, b.question(def, g), b.now)
	if err != nil {
		return nil, err
	}
	return b.shown(ctx, view)
}

// start asks whether the attempt that waits may start now. The start itself asks the same.
func (b *builder) start(ctx context.Context, def *pipeline.Definition) (gate.Answer, error) {
	return gate.Ask(ctx, b.Store, gate.Situation{Question: b.question(def, nil), Row: b.row, Run: *b.x.Run, Starting: true}, b.now)
}

// shown converts the state of a gate now.
func (b *builder) shown(ctx context.Context, view gate.View) (*Gate, error) {
	out := &Gate{
		Live: true, At: b.now, Outcome: view.Verdict.Outcome,
		PreferUntil: view.PreferUntil, Degraded: view.Degraded, OpensAt: view.OpensAt,
	}
	for i, leaf := range view.Leaves() {
		sensors := view.Sensors
		if view.Verdict.Leaves[i].Age < 0 {
			sensors = nil // this rule saw no reading, even if another rule on the same sensor did
		}
		shown := b.leaf(leaf, view.Verdict.Leaves[i].Version, sensors)
		shown.PassesAt = view.Verdict.Leaves[i].PassesAt
		out.Leaves = append(out.Leaves, shown)
	}
	return out, b.name(ctx, out.Leaves)
}

// stored returns the gate that an attempt started on.
func (b *builder) stored(ctx context.Context) (*Gate, error) {
	id := b.x.Run.Progress.Snapshot
	if id == "" {
		return nil, nil
	}
	s, err := b.Store.Snapshot(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // deleted by retention
	}
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", id, err)
	}
	out := &Gate{At: s.At, Outcome: s.Outcome, Bypassed: s.Bypassed, PreferUntil: s.PreferUntil, Degraded: s.Degraded, Files: s.Files}
	for _, leaf := range s.Leaves {
		out.Leaves = append(out.Leaves, b.leaf(leaf, 0, s.Sensors))
	}
	return out, b.name(ctx, out.Leaves)
}

// leaf combines a rule and the reading it saw. If a sensor was seen several times, the one with
// that version counts; 0 takes the first.
func (b *builder) leaf(seen store.SeenLeaf, version int64, sensors []store.SeenSensor) Leaf {
	leaf := Leaf{SeenLeaf: seen, Holds: seen.Outcome.In(seen.Negated) == rule.Pass, Version: version}
	for _, s := range sensors {
		if s.Pipeline != b.owner(seen) || string(s.Key) != seen.Key || version != 0 && s.Version != version {
			continue
		}
		leaf.Version = s.Version
		if len(s.Slices) == 0 { // otherwise there is no single reading
			leaf.UpdatedAt, leaf.Period = s.UpdatedAt, s.Period
		}
		break
	}
	return leaf
}

func (b *builder) owner(leaf store.SeenLeaf) pipeline.ID {
	return cmp.Or(pipeline.ID(leaf.From), b.key.Pipeline)
}

// written returns when the latest of the readings that the gate saw was written.
func (g *Gate) written() time.Time {
	var at time.Time
	for _, leaf := range g.Leaves {
		at = period.Later(at, leaf.UpdatedAt)
	}
	return at
}

// name fills in the writers of the readings that were seen, if they are still the latest of their
// period.
func (b *builder) name(ctx context.Context, leaves []Leaf) error {
	var queries []store.ReadingQuery
	var which []int
	for i, leaf := range leaves {
		if leaf.UpdatedAt.IsZero() || strings.HasPrefix(leaf.Key, "run/") {
			continue
		}
		queries = append(queries, store.ReadingQuery{Pipeline: b.owner(leaf.SeenLeaf), Key: sensor.Key(leaf.Key), Period: b.key.Period})
		which = append(which, i)
	}
	if len(queries) == 0 {
		return nil
	}
	answers, err := b.Store.Readings(ctx, queries)
	if err != nil {
		return fmt.Errorf("read sensors: %w", err)
	}
	for n, readings := range answers {
		leaf := &leaves[which[n]]
		for _, r := range readings {
			if r != nil && r.Version == leaf.Version {
				leaf.Source = r.Source
			}
		}
	}
	return nil
}

// and returns the start condition g together with the other rules.
func (g *Gate) and(rules *Gate) *Gate {
	both := *rules
	both.Outcome = min(g.Outcome, rules.Outcome)
	both.Leaves = slices.Concat(g.Leaves, rules.Leaves)
	if both.OpensAt = (time.Time{}); rules.Outcome == rule.Pass {
		both.OpensAt = g.OpensAt
	}
	return &both
}

// lapsed reports whether preferred rules no longer close the gate.
func (g *Gate) lapsed() bool { return !g.PreferUntil.IsZero() && !g.At.Before(g.PreferUntil) }

// Closed lists the rules that keep the gate closed.
func (g *Gate) Closed() []Leaf {
	var closed []Leaf
	if g == nil {
		return nil
	}
	for _, leaf := range g.Leaves {
		if g.Closes(leaf) {
			closed = append(closed, leaf)
		}
	}
	return closed
}

// Closes reports whether a rule keeps the gate closed.
func (g *Gate) Closes(leaf Leaf) bool {
	return g.Outcome != rule.Pass && !leaf.Holds && !leaf.Advisory && !leaf.Moot && !(leaf.Preferred && g.lapsed())
}

// Open reports whether the gate allows a start.
func (g *Gate) Open() bool { return g != nil && (g.Bypassed || g.Outcome == rule.Pass) }
