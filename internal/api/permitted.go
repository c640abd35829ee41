package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// permitted are the families of keys that a worker may write with its permit: the results of the
// command that it runs.
var permitted = []string{"dbt/", "gx/", "soda/"}

// needsSensor describes who may write readings.
const needsSensor = "Needs the role sensor. The permit of a claim allows writing keys of dbt/, gx/ and soda/ " +
	"for the period of its run, except those that the run's own gate reads."

// grants holds what the permit of one request allows, so that a batch verifies it only once for each
// period.
type grants map[run.Key]grant

// grant is what a permit allows for one pipeline and period.
type grant struct {
	attempt run.AttemptID
	inputs  []sensor.Key // what the gate of the attempt reads, which it must not write
}

// mayWrite returns nil if the client may write readings of a pipeline. What a permit allows depends
// on the reading: see grants.writer.
func (p principal) mayWrite(id pipeline.ID) *Problem {
	if isPermit(p.callback) {
		return nil
	}
	return p.may(RoleSensor, id)
}

// provesWriter returns an error unless the client may write readings, or has a permit. What they may
// be is known once they have been read.
func (a *API) provesWriter(ctx context.Context, _ OfRun) error {
	who := whoOf(ctx)
	if !isPermit(who.callback) {
		if p := who.mayWrite(""); p != nil {
			return p
		}
		return nil
	}
	key, err := runOf(who.callback)
	if err != nil {
		return notPermitted("the permit is not valid")
	}
	_, err = a.permits.attempt(ctx, who.callback, key)
	return err
}

// writer returns the client as the writer of a reading. With a permit, that is the attempt, and only
// as long as it is held.
func (g grants) writer(
	ctx context.Context, a *API, who principal, id pipeline.ID, key sensor.Key, date period.Period,
) (principal, *Problem) {
	if !isPermit(who.callback) {
		return who, nil
	}
	if !slices.ContainsFunc(permitted, func(family string) bool { return strings.HasPrefix(string(key), family) }) {
		return who, notPermitted("a permit allows writing keys of %s, and %q is none; use a token with the role sensor",
			strings.Join(permitted, ", "), key)
	}
	if date.IsZero() {
		return who, notPermitted(
			"a permit allows writing readings of the period of its run, and %q has no date; add #PERIOD to the key", key)
	}
	of := run.Key{Pipeline: id, Period: date}
	one, known := g[of]
	if !known {
		var err error
		if one, err = a.grant(ctx, who.callback, of); err != nil {
			return who, problemOf(err)
		}
		g[of] = one
	}
	if slices.Contains(one.inputs, key) {
		return who, notPermitted("the gate of %s reads %q, so its own permit must not write it; use a token with the role sensor",
			one.attempt, key)
	}
	return principal{name: one.attempt.Source()}, nil
}

func notPermitted(format string, args ...any) *Problem {
	return problem(http.StatusForbidden, plainKind, format, args...)
}

// grant verifies a permit for the runs of a pipeline and period, and that its attempt is held.
func (a *API) grant(ctx context.Context, permit string, of run.Key) (grant, error) {
	for _, of.Schedule = range []pipeline.ScheduleID{pipeline.ByCron, pipeline.ByStream, pipeline.ByHand} {
		attempt, err := a.permits.attempt(ctx, permit, of)
		if p, is := err.(*Problem); is && p.Status == http.StatusForbidden {
			continue
		}
		if err != nil {
			return grant{}, err
		}
		r, err := store.IfFound(a.store.Run(ctx, of))
		if err != nil {
			return grant{}, fmt.Errorf("read run %s: %w", of, err)
		}
		if no := router.NotHeld(r, attempt); no != nil {
			return grant{}, a.workerRefused(no)
		}
		inputs, err := a.inputs(ctx, r)
		return grant{of.Attempt(attempt), inputs}, err
	}
	return grant{}, notPermitted(
		"the permit is not valid for pipeline %s and period %s; a permit allows writing readings of its own run only",
		of.Pipeline, of.Period)
}

// inputs lists the keys of its own pipeline that the start of an attempt depends on: by the version
// that it opened with, and by the active one, which its retry will open with. If the former is not
// available, any key may be one.
func (a *API) inputs(ctx context.Context, r run.Run) ([]sensor.Key, error) {
	var keys []sensor.Key
	add := func(d *pipeline.Definition) {
		gates := []*rule.Gate{d.Gate}
		if d.Start != nil {
			gates = append(gates, d.Start.Gate)
		}
		for _, g := range gates {
			for _, ref := range g.Refs() {
				if cmp.Or(pipeline.ID(ref.From), d.ID) == d.ID {
					keys = append(keys, ref.Key)
				}
			}
		}
	}
	opened, err := a.catalog.Of(ctx, r)
	if catalog.IsGone(err) {
		return nil, notPermitted("which keys the gate of %s reads is unknown, because its version of the pipeline file "+
			"is not available, so its permit must not write any; use a token with the role sensor", r.ID())
	}
	if err != nil {
		return nil, fmt.Errorf("read the version of %s: %w", r.ID(), err)
	}
	add(opened)
	if e := a.catalog.Current().Get(r.Pipeline); e != nil {
		add(e.Definition)
	}
	return keys, nil
}
