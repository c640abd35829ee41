// Package gate looks at a pipeline's gate for a period: it reads what each sensor shows, asks package rule for the
// verdict, and keeps what was seen in the form that is stored with a start. It changes nothing.
//
// Which reading counts is decided by package sensor; what the rules make of it, by package rule. Upstreams
// (schedule.after) are answered from their runs themselves and not from the readings that announce them, so that no
// lost or late reading opens a gate.
package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// reader is what a look needs of a store.
type reader interface {
	Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error)
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)
}

// Question is which gate to look at, and for what.
type Question struct {
	Definition *pipeline.Definition
	// Upstream gives the definition of another pipeline that is in force; nil if there is none.
	Upstream func(pipeline.ID) *pipeline.Definition
	Period   period.Period
	// Gate is the pipeline's own unless said: its start condition and its post-run rules are looked at the same way.
	Gate *rule.Gate
	// Fire is the instant that opened the run under cron. Zero means the fire that is for Period.
	Fire time.Time
	// Opened is when the window of the run's attempt begins. Zero means the earliest instant at which Period can open.
	Opened time.Time
	// PostRun asks for the sensors of the post-run rules as well. They do not take part in the verdict.
	PostRun bool
}

// Look evaluates a gate on what the store shows at this moment. Beside the sensors of the pipeline's own gate the
// answer always holds that of its start condition, since late data and reruns compare both.
func Look(ctx context.Context, r reader, q Question, now time.Time) (View, error) {
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

// startBeside is the start condition's sensor where it is not part of the gate: without cron it opens the run and is
// not asked again.
func (q Question) startBeside(refs []rule.Ref) []rule.Ref {
	start := q.Definition.Start
	if start == nil || start.Gate == nil {
		return nil
	}
	var beside []rule.Ref
	for _, ref := range start.Gate.Refs() {
		if !contains(refs, ref) {
			beside = append(beside, ref)
		}
	}
	return beside
}

func contains(refs []rule.Ref, ref rule.Ref) bool {
	for _, r := range refs {
		if r == ref {
			return true
		}
	}
	return false
}
