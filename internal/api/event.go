package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// Event is an announcement, in the envelope that all of them share.
type Event struct{ event event.Event }

// MarshalJSON writes the envelope: {id, source, detail-type, time, detail}.
func (e Event) MarshalJSON() ([]byte, error) { return json.Marshal(e.event) }

// Schema describes the envelope. What stands in a detail beside the common fields depends on the type: docs/EVENTS.md.
func (Event) Schema(huma.Registry) *huma.Schema {
	word := func(doc string) *huma.Schema { return &huma.Schema{Type: "string", Description: doc} }
	at := &huma.Schema{Type: "string", Format: "date-time"}
	return &huma.Schema{
		Type:     "object",
		Required: []string{"id", "source", "detail-type", "time", "detail"},
		Properties: map[string]*huma.Schema{
			"id": word("The same for every repeat of the same event."), "source": word("interlock"), "detail-type": word("The event's type."), "time": at,
			"detail": {
				Type:     "object",
				Required: []string{"pipelineId", "scheduleId", "date", "message", "timestamp", "severity"},
				Properties: map[string]*huma.Schema{
					"pipelineId": word("Empty for events about the platform."), "scheduleId": word("Empty for events about a pipeline."),
					"date": word("The period; empty where there is none."), "message": word("One sentence."), "timestamp": at,
					"severity": {Type: "string", Enum: []any{"info", "warning", "critical"}},
					"attempt":  {Type: "integer"}, "causedBy": word("The change, request or event it follows from."),
				},
				AdditionalProperties: true,
			},
		},
		AdditionalProperties: false,
	}
}

// DeadLetter is an event that a sink would not take.
type DeadLetter struct {
	Sink   string `json:"sink"`
	Event  Event  `json:"event"`
	Reason string `json:"reason"`
	Tries  int    `json:"tries"`
	At     string `json:"at" format:"date-time"`
}

type eventsInput struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only this pipeline's."`
	Type     string `query:"type" doc:"Only of this type."`
	Since    string `query:"since" doc:"RFC 3339, a period, or how long ago."`
}

func (a *API) eventRoutes(h huma.API) {
	register(h, get("/events", "list-events", "Events", "Events, newest first"), a.listEvents)
	register(h, get("/dead-letters", "list-dead-letters", "Events", "Events that a sink would not take, oldest first"), a.listDead)
}

func (a *API) listEvents(ctx context.Context, in *eventsInput) (*output[List[Event]], error) {
	q, p := a.eventQuery(whoOf(ctx), in.Pipeline, in.Type, in.Since)
	if p != nil {
		return nil, p
	}
	q.Limit, q.Cursor = in.Limit, in.Cursor
	page, err := a.store.Events(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	who := whoOf(ctx)
	return answer(list(page, func(e event.Event) bool { return who.hears(e) }, func(e event.Event) Event { return Event{e} })), nil
}

// hears says whether p may know of an event. What is about no pipeline is for those who may see all of them.
func (p principal) hears(e event.Event) bool {
	if e.Detail.Pipeline == "" {
		return p.unlimited()
	}
	return p.sees(e.Detail.Pipeline)
}

// eventQuery reads what events are asked for.
func (a *API) eventQuery(who principal, id, kind, since string) (store.EventQuery, *Problem) {
	var q store.EventQuery
	var p *Problem
	if q.Pipeline, p = parseID(who, id); p != nil {
		return q, p
	}
	if kind != "" {
		q.Type = event.Type(kind)
		if !q.Type.Known() {
			return q, badRequest("event type %.60q is unknown; docs/EVENTS.md lists them", kind).at("query.type", "unknown")
		}
	}
	q.Since, p = parseInstant("query.since", since, a.now())
	return q, p
}

func (a *API) listDead(ctx context.Context, in *struct {
	Sink string `query:"sink" required:"true" doc:"The sink's name."`
},
) (*output[List[DeadLetter]], error) {
	letters, err := a.store.Dead(ctx, in.Sink)
	if err != nil {
		return nil, fmt.Errorf("read dead letters of %.100q: %w", in.Sink, err)
	}
	who := whoOf(ctx)
	return answer(list(store.Page[store.DeadLetter]{Items: letters}, func(d store.DeadLetter) bool { return who.hears(d.Event) },
		func(d store.DeadLetter) DeadLetter {
			return DeadLetter{Sink: d.Sink, Event: Event{d.Event}, Reason: d.Reason, Tries: d.Tries, At: d.At.UTC().Format("2006-01-02T15:04:05.999999999Z07:00")}
		})), nil
}
