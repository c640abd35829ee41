// Package gate evaluates a pipeline's gate for a period: it reads the sensors, asks package rule
// for the verdict, and converts the facts to the form stored with a start. It changes nothing.
//
// Package sensor decides which reading counts, package rule what the rules make of it. Upstreams
// (schedule.after) are checked by their runs themselves, not by the readings that announce them, so
// that a lost or late reading cannot open a gate.
package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// reader is the part of the store that an evaluation reads.
type reader interface {
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
}

// Question is which gate to evaluate, and for what.
type Question struct {
	Definition *pipeline.Definition
	// Upstream returns the active definition of another pipeline; nil if there is none.
	Upstream func(pipeline.ID) *pipeline.Definition
	Period   period.Period
	// Gate is the gate to evaluate; nil means the pipeline's own. The start condition and the
	// post-run rules are evaluated in the same way.
	Gate *rule.Gate
	// Opened is when the window of the run's attempt begins. Zero means that no attempt waits: it is
	// then the earliest time at which Period can still open.
	Opened time.Time
	// PostRun also reads the sensors of the post-run rules. They do not affect the verdict.
	PostRun bool
}

// Evaluate evaluates a gate on the store's current data. For the pipeline's own gate, the result
// always includes the sensor of the start condition, since late data and reruns compare both.
func Evaluate(ctx context.Context, r reader, q Question, now time.Time) (View, error) {
	g := q.Gate
	if g == nil {
		g = q.Definition.Gate
	}
	refs := g.Refs()
	decisive := len(refs)
	if q.Gate == nil {
		refs = append(refs, q.startBeside(refs)...)
	}
	inputs := len(refs)
	if q.PostRun && q.Definition.PostRun != nil {
		refs = append(refs, q.Definition.PostRun.Gate.Refs()...)
	}
	seen, versions, err := q.read(ctx, r, refs)
	if err != nil {
		return View{}, fmt.Errorf("evaluate the gate of %s for %s: %w", q.Definition.ID, q.Period, err)
	}
	sensors := make([]store.SeenSensor, len(refs))
	for i, ref := range refs {
		sensors[i] = noted(q.Definition.ID, ref, seen[i])
		if len(sensors[i].Slices) > 0 {
			prune(sensors[i].Slices, g.Fields(i))
		}
	}
	v := View{Verdict: g.Explain(seen[:decisive], now), Sensors: sensors[:inputs:inputs], PostRun: sensors[inputs:], Read: versions}
	v.overTime(q, g, seen[:decisive], now)
	return v, nil
}

// startBeside returns the start condition's sensor if it is not part of the gate: without cron it
// opens the run and is not checked again.
func (q Question) startBeside(refs []rule.Ref) []rule.Ref {
	start := q.Definition.Start
	if start == nil || start.Gate == nil {
		return nil
	}
	var beside []rule.Ref
	for _, ref := range start.Gate.Refs() {
		if !slices.Contains(refs, ref) {
			beside = append(beside, ref)
		}
	}
	return beside
}
