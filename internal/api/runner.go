package api

import (
	"context"
	"net/http"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// mayOpen returns a Problem unless the client may open the run that q asks for. A runner may open what no schedule opens, and
// skips no safeguard; an operator may do all of it.
func (a *API) mayOpen(ctx context.Context, q client.TriggerRequest) *Problem {
	who, id := whoOf(ctx), pipeline.ID(q.Pipeline)
	if p := who.may(RoleRunner, id); p != nil || who.role.includes(RoleOperator) {
		return p
	}
	if q.Force || q.BypassGate {
		return problem(http.StatusForbidden, plainKind, "force and bypassGate need the role operator; the token has the role %s", who.role)
	}
	e, p := a.entry(ctx, id)
	if p != nil {
		return p
	}
	if e.Opens != pipeline.ByHand {
		return problem(http.StatusForbidden, plainKind,
			"runs of %s are opened by its schedule (%s); to open one in its place, the role operator is needed, and the token has the role %s", id, e.Opens, who.role)
	}
	return nil
}

// mayReport returns a Problem unless the client may report the result of a pipeline's job without the permit of a claim. A
// runner may where no job is configured: elsewhere Interlock, or the worker that claimed it, knows the result.
func (a *API) mayReport(ctx context.Context, id pipeline.ID) *Problem {
	who := whoOf(ctx)
	if p := who.may(RoleRunner, id); p != nil || who.role.includes(RoleOperator) {
		return p
	}
	e, p := a.entry(ctx, id)
	if p != nil {
		return p
	}
	if e.Job != nil {
		return problem(http.StatusForbidden, plainKind,
			"a runner reports results of %s with the permit of its claim; to report one in its place, the role operator is needed", id)
	}
	return nil
}
