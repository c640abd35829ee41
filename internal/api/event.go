package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// Event is an event in its envelope, with the silence that suppressed its alert.
type Event struct {
	event      event.Event
	silencedBy string // the silence that suppressed its alert
}

// MarshalJSON writes the envelope {id, source, detail-type, time, detail}, and adds silencedBy.
func (e Event) MarshalJSON() ([]byte, error) {
	whole, err := json.Marshal(e.event)
	if err != nil {
		return nil, err
	}
	by, err := json.Marshal(text(e.silencedBy))
	if err != nil {
		return nil, err
	}
	return append(append(append(whole[:len(whole)-1], `,"silencedBy":`...), by...), '}'), nil
}

// Schema describes the envelope. The other fields of detail depend on the type: see docs/EVENTS.md.
func (Event) Schema(huma.Registry) *huma.Schema {
	word := func(doc string) *huma.Schema { return &huma.Schema{Type: "string", Description: doc} }
	at := &huma.Schema{Type: "string", Format: "date-time"}
	return &huma.Schema{
		Type:     "object",
		Required: []string{"id", "source", "detail-type", "time", "detail", "silencedBy"},
		Properties: map[string]*huma.Schema{
			"id": word("Identical each time the same event is delivered."), "source": word("interlock"), "detail-type": word("The event's type."), "time": at,
			"silencedBy": {Type: "string", Nullable: true, Description: "The silence that held back the event's alert; null if none did."},
			"detail": {
				Type:     "object",
				Required: []string{"pipelineId", "scheduleId", "date", "message", "timestamp", "severity"},
				Properties: map[string]*huma.Schema{
					"pipelineId": word("Empty for events about the platform."), "scheduleId": word("Empty for events about a pipeline."),
					"date": word("The period; empty if there is none."), "message": word("The event in one sentence."), "timestamp": at,
					"severity": {Type: "string", Enum: []any{"info", "warning", "critical"}},
					"attempt":  {Type: "integer"}, "causedBy": word("The change, request or event that caused this event."),
				},
				AdditionalProperties: true,
			},
		},
		AdditionalProperties: false,
	}
}

type eventsInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only events of this pipeline."`
	Schedule string `query:"schedule" enum:"cron,stream,manual" doc:"With pipeline and date: only events of this run."`
	Date     string `query:"date" doc:"With pipeline and schedule: only events of this run."`
	Type     string `query:"type" doc:"Only events of this type."`
	Types    string `query:"types" maxLength:"2000" doc:"Only events of these types, separated by commas."`
	Severity string `query:"severity" enum:"info,warning,critical" doc:"Only events of at least this severity."`
	Since    string `query:"since" doc:"Only events at or after this time: RFC 3339, a period, or a duration ago such as 2h."`
	From     string `query:"from" doc:"Only events at or after this time: RFC 3339, a period, or a duration ago such as 2h."`
	To       string `query:"to" doc:"Only events before this time, in the same formats."`
	Q        string `query:"q" maxLength:"200" doc:"Only events whose message, type, pipeline or period contains this text, ignoring case."`
}

func (a *API) eventRoutes(h huma.API) {
	register(h, get("/events", "list-events", "Events", "List events, newest first"), a.listEvents)
	register(h, get("/events/types", "list-event-types", "Events", "List event types by group"), a.listEventTypes)
}

func (a *API) listEvents(ctx context.Context, in *eventsInput) (*output[EventList], error) {
	q, p := a.eventQuery(whoOf(ctx), in.Pipeline, in.Type, in.Since)
	if p != nil {
		return nil, p
	}
	if in.Schedule != "" || in.Date != "" {
		if q.Key, p = parseKey(in.Pipeline, in.Schedule, in.Date); p != nil {
			return nil, p
		}
	}
	q.Limit, q.Cursor = in.Limit, in.Cursor
	f, p := a.eventFilter(ctx, in, &q)
	if p != nil {
		return nil, p
	}
	page, searched, err := a.findEvents(ctx, q, f)
	if err != nil {
		return nil, err
	}
	silenced, err := a.silenced(ctx)
	if err != nil {
		return nil, err
	}
	view := func(e event.Event) Event { return Event{e, silenced(e)} }
	return answer(EventList{List: list(page, f.see, view), SearchedTo: searched}), nil
}

// findEvents reads a page of events, directly from the store or by searching.
func (a *API) findEvents(ctx context.Context, q store.EventQuery, f eventFilter) (store.Page[event.Event], *time.Time, error) {
	if f.narrow {
		return a.search(ctx, q, f)
	}
	page, err := a.store.Events(ctx, q)
	if err != nil {
		return page, nil, fmt.Errorf("read events: %w", err)
	}
	// On AWS the bus delivers events in any order, so one may be stored after a later one.
	slices.SortStableFunc(page.Items, func(a, b event.Event) int { return b.Time.Compare(a.Time) })
	if len(page.Items) == 0 {
		return page, nil, nil
	}
	return page, instant(page.Items[len(page.Items)-1].Time), nil
}

func unknownType(at, name string) *Problem {
	return badRequest("event type %.60q is unknown%s", name, cmp.Or(document.DidYouMean(name, event.Types()), "; docs/EVENTS.md lists them")).at(at, "unknown")
}

// seesEvent reports whether p may see an event. The audit record is for admins.
func (p principal) seesEvent(e event.Event) bool {
	if e.Type == event.Audit {
		return p.role >= RoleAdmin
	}
	return p.seesAbout(e.Detail.Pipeline)
}

// eventQuery parses the parameters of a query for events.
func (a *API) eventQuery(who principal, id, kind, since string) (store.EventQuery, *Problem) {
	var q store.EventQuery
	var p *Problem
	if q.Pipeline, p = parseID(who, id); p != nil {
		return q, p
	}
	if kind != "" {
		var known bool
		if q.Type, known = event.ParseType(kind); !known {
			return q, unknownType("query.type", kind)
		}
	}
	q.Since, p = parseInstant("query.since", since, a.now())
	return q, p
}
