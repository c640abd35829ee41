package api

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

func deadlineView(d store.Deadline) client.Deadline {
	return client.Deadline{
		Pipeline: string(d.Key.Pipeline), Schedule: string(d.Key.Schedule), Date: d.Key.Period.String(), Kind: string(d.Kind), State: string(d.State),
		WarnAt: instant(d.WarnAt), BreachAt: d.BreachAt.UTC(), Warned: d.Warned, Critical: d.Critical, ArmedAt: d.ArmedAt.UTC(),
		ClosedAt: instant(d.ClosedAt), DoneAt: instant(d.DoneAt), Reason: text(d.Reason),
	}
}

type deadlinesInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only deadlines of this pipeline."`
	State    string `query:"state" default:"ARMED" doc:"ARMED, MET, BREACHED, CANCELLED, or all."`
	From     string `query:"from" doc:"Only deadlines that breach at or after this time: RFC 3339, a period, or a duration ago such as 2h."`
	To       string `query:"to" doc:"Only deadlines that breach before this time, in the same formats."`
}

func (a *API) listDeadlines(ctx context.Context, in *deadlinesInput) (*output[List[client.Deadline]], error) {
	who := whoOf(ctx)
	id, p1 := parseID(who, in.Pipeline)
	state, p2 := parseState(in.State)
	from, p3 := parseInstant("query.from", in.From, a.now())
	to, p4 := parseInstant("query.to", in.To, a.now())
	if p := cmp.Or(p1, p2, p3, p4); p != nil {
		return nil, p
	}
	page, err := a.store.Deadlines(ctx, store.DeadlineQuery{Pipeline: id, State: state, From: from, To: to, Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, fmt.Errorf("read deadlines: %w", err)
	}
	return answer(list(page, func(d store.Deadline) bool { return who.sees(d.Key.Pipeline) }, deadlineView)), nil
}

// parseState parses the state of a deadline; "all" is any state.
func parseState(sent string) (string, *Problem) {
	state := strings.ToUpper(sent)
	switch sla.State(state) {
	case sla.Armed, sla.Met, sla.Breached, sla.Cancelled:
		return state, nil
	}
	if state == "ALL" {
		return "", nil
	}
	known := []string{string(sla.Armed), string(sla.Met), string(sla.Breached), string(sla.Cancelled), "all"}
	return "", badRequest("state %.40q is unknown%s", sent, document.Choice(sent, known)).at("query.state", "unknown")
}
