package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// pauseOf returns the pause that a request asks for.
func (a *API) pauseOf(ctx context.Context, q *client.PauseRequest) (store.Pause, *Problem) {
	if q == nil {
		q = &client.PauseRequest{}
	}
	p := store.Pause{By: askedBy(ctx, &q.Asked), Why: askedWhy(&q.Asked), HoldSLA: q.HoldSLA}
	if q.Until == "" {
		return p, nil
	}
	var problem *Problem
	p.Until, problem = a.parseEnd(q.Until)
	return p, problem
}

// parseEnd parses the end of a pause: an instant, or a duration from now.
func (a *API) parseEnd(sent string) (time.Time, *Problem) {
	if at, ok, p := parseTime("body.until", sent); ok {
		return at, p
	}
	d, err := document.ParseDuration(sent)
	if err != nil || d <= 0 {
		return time.Time{}, badRequest("until %.60q is neither a time nor a duration; write 2026-03-03T10:00:00Z or 2h", sent).at("body.until", "neither a time nor a duration")
	}
	return a.now().Add(d).UTC(), nil
}

func (a *API) pause(ctx context.Context, in *struct {
	OfPipeline
	Body *client.PauseRequest
},
) (*output[client.Pause], error) {
	e, p1 := a.entry(ctx, pipeline.ID(in.ID))
	q, p2 := a.pauseOf(ctx, in.Body)
	if p := cmp.Or(p1, p2); p != nil {
		return nil, p
	}
	done, err := a.operator.Pause(ctx, e.ID, q, a.now())
	if err != nil {
		return nil, fmt.Errorf("pause %s: %w", e.ID, err)
	}
	return answer(pauseView(done)), nil
}

func (a *API) resume(ctx context.Context, in *struct {
	OfPipeline
	Body *client.Asked
},
) (*output[client.Pause], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	if err := a.operator.Resume(ctx, e.ID, askedBy(ctx, in.Body), askedWhy(in.Body), a.now()); err != nil {
		return nil, fmt.Errorf("resume %s: %w", e.ID, err)
	}
	row, err := a.row(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	return answer(pauseView(row.PauseAll)), nil
}

func (a *API) pauseAll(ctx context.Context, in *struct{ Body *client.PauseRequest }) (*output[List[string]], error) {
	q, p := a.pauseOf(ctx, in.Body)
	if p = cmp.Or(p, forAll(ctx)); p != nil {
		return nil, p
	}
	if in.Body == nil || strings.TrimSpace(in.Body.Reason) == "" {
		return nil, badRequest("a pause of all pipelines needs a reason").at("body.reason", "missing")
	}
	ids, err := a.operator.PauseAll(ctx, q, a.now())
	if err != nil {
		return nil, fmt.Errorf("pause all pipelines: %w", err)
	}
	return answer(names(ids)), nil
}

func (a *API) resumeAll(ctx context.Context, in *struct{ Body *client.Asked }) (*output[List[string]], error) {
	if p := forAll(ctx); p != nil {
		return nil, p
	}
	ids, err := a.operator.ResumeAll(ctx, askedBy(ctx, in.Body), askedWhy(in.Body), a.now())
	if err != nil {
		return nil, fmt.Errorf("resume all pipelines: %w", err)
	}
	return answer(names(ids)), nil
}

// forAll rejects a client that is limited to some pipelines.
func forAll(ctx context.Context) *Problem {
	if whoOf(ctx).unlimited() {
		return nil
	}
	return problem(http.StatusForbidden, plainKind, "this request affects all pipelines, and the token is limited to some; use a token that is not limited")
}

func names(ids []pipeline.ID) List[string] {
	return List[string]{Items: views(ids, func(id pipeline.ID) string { return string(id) })}
}
