package api

import (
	"context"
	"fmt"
	"net/url"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// created is a response with the location of the created resource.
type created[T any] struct {
	Location string `header:"Location" doc:"The URL of the run; for a dry run, of its explanation."`
	Body     T
}

func (a *API) trigger(ctx context.Context, in *struct {
	Once
	Body client.TriggerRequest
},
) (*created[client.Run], error) {
	q := in.Body
	id := pipeline.ID(q.Pipeline)
	if p := a.mayOpen(ctx, q); p != nil {
		return nil, p
	}
	date, p := parsePeriod("body.date", q.Date)
	if p != nil {
		return nil, p
	}
	view := func(r run.Run) (*created[client.Run], *Problem) {
		made := &created[client.Run]{Location: runPath(r.Key), Body: a.runView(r)}
		if def := a.catalog.Current().Definition(r.Pipeline); def != nil && def.DryRun {
			made.Body.DryRun = true
			made.Location = fmt.Sprintf("%s/pipelines/%s/explain?date=%s", prefix, r.Pipeline, url.QueryEscape(r.Period.String()))
		}
		return made, nil
	}
	return once(ctx, a, in.Once, []any{"trigger", q}, view, func(o router.Once[run.Run]) (run.Run, error) {
		if _, p := a.entry(ctx, id); p != nil {
			return run.Run{}, p
		}
		if p := a.quotas.open(ctx, id, a.now()); p != nil {
			return run.Run{}, p
		}
		r, err := a.operator.Trigger(ctx, router.TriggerRequest{
			ID: in.id(ctx), Once: o, Pipeline: id, Period: date, By: askedBy(ctx, &q.Asked), Reason: q.Reason, Force: q.Force, BypassGate: q.BypassGate,
		}, a.now())
		if err != nil {
			a.quotas.opened(id, 0)
			return run.Run{}, fmt.Errorf("trigger %s: %w", id, err)
		}
		return r, nil
	})
}
