package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/period"
)

// maxSilence is the longest silence. To suppress alerts for good, change the routes.
const maxSilence = 30 * 24 * time.Hour

func (a *API) silenceRoutes(h huma.API) {
	const tag = "Alerts"
	register(h, get("/silences", "list-silences", tag, "List active silences, or all stored silences"), a.listSilences)
	add := post("/silences", "add-silence", tag, "Silence alerts for a while; their events are still recorded")
	add.status = http.StatusCreated
	register(h, add, a.addSilence)
	end := post("/silences/{silence}", "end-silence", tag, "End a silence early")
	end.method = http.MethodDelete
	register(h, end, a.endSilence)
}

func (a *API) listSilences(ctx context.Context, in *struct {
	Paging
	All bool `query:"all" doc:"Include ended silences."`
},
) (*output[List[client.Silence]], error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	all, err := n.Silences(ctx, in.All, a.now())
	if err != nil {
		return nil, err
	}
	return cut(a.cursors, "silences", in.Paging, all, func(s notify.Standing) string { return s.ID }, everything, silenceView)
}

func (a *API) addSilence(ctx context.Context, in *struct{ Body client.SilenceRequest }) (*output[client.Silence], error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	q := in.Body
	if strings.TrimSpace(q.Reason) == "" {
		return nil, badRequest("a silence needs a reason").at("body.reason", "missing")
	}
	s := notify.Silence{Pipeline: q.Pipeline, By: askedBy(ctx, &client.Asked{RequestedBy: q.RequestedBy}), Why: q.Reason}
	if _, err := path.Match(q.Pipeline, ""); err != nil {
		return nil, badRequest("pipeline %.60q is not a pattern; write an id, with * for any characters", q.Pipeline).at("body.pipeline", "not a pattern")
	}
	if q.Type != "" {
		var known bool
		if s.Type, known = event.ParseType(q.Type); !known {
			return nil, unknownType("body.type", q.Type)
		}
	}
	var p *Problem
	if s.Until, p = a.parseEnd(q.Until); p != nil {
		return nil, p
	}
	now := a.now()
	if !s.Until.After(now) || s.Until.After(now.Add(maxSilence)) {
		return nil, badRequest("a silence must end within the next 30 days, not at %s", period.Stamp(s.Until)).at("body.until", "not within the next 30 days")
	}
	done, err := n.Silence(ctx, s, now)
	if err != nil {
		return nil, err
	}
	return answer(silenceView(notify.Standing{Silence: done, Active: true})), nil
}

func (a *API) endSilence(ctx context.Context, in *struct {
	ID          string `path:"silence" doc:"The silence's id."`
	Reason      string `query:"reason" maxLength:"1000" doc:"Why."`
	RequestedBy string `query:"requestedBy" maxLength:"200" doc:"The person who requests it; recorded with the name of the token."`
},
) (*output[client.Silence], error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	asked := &client.Asked{Reason: in.Reason, RequestedBy: in.RequestedBy}
	s, err := n.EndSilence(ctx, in.ID, askedBy(ctx, asked), askedWhy(asked), a.now())
	if errors.Is(err, notify.ErrNoSilence) {
		return nil, problem(http.StatusNotFound, plainKind, "there is no silence %.40q; GET %s/silences lists those that are active", in.ID, prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("end silence %.40s: %w", in.ID, err)
	}
	return answer(silenceView(notify.Standing{Silence: s})), nil
}

func silenceView(s notify.Standing) client.Silence {
	return client.Silence{
		ID: s.ID, Pipeline: s.Pipeline, Type: text(s.Type), Reason: s.Why, RequestedBy: s.By, Since: s.Since.UTC(), Until: s.Until.UTC(),
		Active: s.Active, EndedAt: instant(s.EndedAt), EndedBy: text(s.EndedBy), EndedReason: text(s.EndedWhy), Suppressed: s.Suppressed,
	}
}
