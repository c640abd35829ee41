package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// RerunRequest asks for another attempt. The body need not repeat what the path says.
type RerunRequest struct {
	Pipeline   string `json:"pipeline,omitempty" doc:"The same as in the path."`
	Schedule   string `json:"schedule,omitempty" doc:"The same as in the path."`
	Date       string `json:"date,omitempty" doc:"The same as in the path."`
	Force      bool   `json:"force,omitempty" doc:"Skip the circuit breaker, the budget, the calendar and the check for a running job. Open the run if it does not exist."`
	BypassGate bool   `json:"bypassGate,omitempty" doc:"Start even if the gate is closed. With force, also replace an attempt that waits for its gate: that attempt ends in the same commit, and the deadlines stay armed."`
	client.Asked
}

func (a *API) rerun(ctx context.Context, in *struct {
	Once
	OfRun
	Body RerunRequest
},
) (*created[client.Rerun], error) {
	key, p := in.key()
	if p != nil {
		return nil, p
	}
	q := in.Body
	if year, _, _ := key.Period.Date(); q.Force { // it may open the run
		if p := checkYear("path.date", year); p != nil {
			return nil, p
		}
	}
	if said, p := q.key(key); p != nil || said != key {
		return nil, badRequest("the body names run %s, but the path names %s", said, key)
	}
	if strings.TrimSpace(q.Reason) == "" {
		return nil, badRequest("a rerun needs a reason").at("body.reason", "missing")
	}
	request := router.RerunRequest{
		ID: in.id(ctx), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period,
		By: askedBy(ctx, &q.Asked), Reason: q.Reason, Force: q.Force, BypassGate: q.BypassGate,
	}
	q.Pipeline, q.Schedule, q.Date = string(key.Pipeline), string(key.Schedule), key.Period.String()
	return once(ctx, a, in.Once, []any{"rerun", q}, rerunAnswer, func(o router.Once[store.Rerun]) (store.Rerun, error) {
		if _, err := a.row(ctx, key.Pipeline); err != nil {
			return store.Rerun{}, err
		}
		request.Once = o
		if p := a.quotas.open(ctx, key.Pipeline, a.now()); p != nil {
			return store.Rerun{}, p
		}
		answer, err := a.operator.Rerun(ctx, request, a.now())
		if err != nil || !answer.Accepted {
			a.quotas.opened(key.Pipeline, 0)
		}
		if err != nil {
			return store.Rerun{}, fmt.Errorf("rerun %s: %w", key, a.orNoRun(ctx, key, err))
		}
		return answer, nil
	})
}

// rerunAnswer returns the response to a rerun request.
func rerunAnswer(r store.Rerun) (*created[client.Rerun], *Problem) {
	if !r.Accepted {
		return nil, problem(http.StatusConflict, refused, "%s", r.Why)
	}
	return &created[client.Rerun]{Location: runPath(r.Key), Body: rerunView(r)}, nil
}

// key returns the run that the body names; parts that it omits are the path's.
func (q RerunRequest) key(path run.Key) (run.Key, *Problem) {
	return parseKey(cmp.Or(q.Pipeline, string(path.Pipeline)), cmp.Or(q.Schedule, string(path.Schedule)), cmp.Or(q.Date, path.Period.String()))
}
