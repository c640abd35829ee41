package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// EventList is a page of events.
type EventList struct {
	List[Event]
	SearchedTo *time.Time `json:"searchedTo" doc:"The time of the last event that was read, matching or not. If there is a nextCursor, older events have not been searched yet. null if no event was read."`
}

// EventType is one type of events.
type EventType struct {
	Type     string `json:"type"`
	Group    string `json:"group" doc:"The group of the event type."`
	Severity string `json:"severity" enum:"info,warning,critical" doc:"The default severity."`
	About    string `json:"about" doc:"What the event means, in one sentence."`
}

// The most events that one request reads in search of matches, and how many it reads at once.
const (
	maxSearched = 5000
	searchPiece = 100
)

// eventFilter is the part of an event query that the store cannot answer.
type eventFilter struct {
	types  map[event.Type]bool // nil: all
	least  event.Severity      // "": all
	text   string              // in lower case; "": all
	from   time.Time
	to     time.Time
	see    func(event.Event) bool
	narrow bool // the store alone cannot answer the query
}

func (f eventFilter) wants(e event.Event) bool {
	if f.types != nil && !f.types[e.Type] || !f.to.IsZero() && !e.Time.Before(f.to) || e.Time.Before(f.from) {
		return false
	}
	return f.see(e) && severe[e.Detail.Severity] >= severe[f.least] && (f.text == "" || mentions(e, f.text))
}

// severe ranks the severities.
var severe = map[event.Severity]int{event.Info: 1, event.Warning: 2, event.Critical: 3}

// mentions reports whether an event has the lower-case text in its type, run or message.
func mentions(e event.Event, text string) bool {
	d := e.Detail
	texts := []string{d.Message, string(e.Type), string(d.Pipeline), d.Date.String(), string(d.Schedule)}
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
}

// search reads events until enough match, or the most have been read.
func (a *API) search(ctx context.Context, q store.EventQuery, f eventFilter) (store.Page[event.Event], *time.Time, error) {
	var out store.Page[event.Event]
	var last *time.Time
	var err error
	limit := q.Limit
	if q.Cursor, err = a.cursors.open("events", q.Cursor); err != nil {
		return out, nil, err
	}
	if q.Cursor == "" && !f.to.IsZero() && f.to.Before(a.now()) {
		at, err := a.store.PositionAt(ctx, f.to)
		if err != nil {
			return out, nil, fmt.Errorf("find events at %s: %w", f.to, err)
		}
		q.Cursor = store.NumberCursor(at + slack)
	}
	for read, bytes := 0, 0; ; {
		q.Limit = min(limit-len(out.Items), searchPiece)
		page, err := a.store.records.Events(ctx, q)
		if err != nil {
			return out, nil, fmt.Errorf("read events: %w", err)
		}
		for _, e := range page.Items {
			last = instant(e.Time)
			if f.wants(e) {
				out.Items = append(out.Items, e)
				bytes += encodedSize(e)
			}
		}
		read += max(len(page.Items), 1)
		q.Cursor = page.Next
		if q.Cursor == "" || len(out.Items) >= limit || bytes >= maxPageBytes || read >= maxSearched || last != nil && last.Before(f.from.Add(-time.Hour)) {
			break
		}
	}
	if q.Cursor != "" && (last == nil || !last.Before(f.from.Add(-time.Hour))) {
		out.Next = a.cursors.seal("events", q.Cursor)
	}
	return out, last, nil
}

// slack is how many events after an instant's position are also read: the clocks of replicas differ
// a little.
const slack = 1000

// eventFilter parses the filter of an event query.
func (a *API) eventFilter(ctx context.Context, in *eventsInput, q *store.EventQuery) (eventFilter, *Problem) {
	who, now := whoOf(ctx), a.now()
	f := eventFilter{least: event.Severity(in.Severity), text: strings.ToLower(strings.TrimSpace(in.Q))}
	var p *Problem
	if f.from, p = parseInstant("query.from", in.From, now); p != nil {
		return f, p
	}
	if f.to, p = parseInstant("query.to", in.To, now); p != nil {
		return f, p
	}
	if !f.to.IsZero() && !f.to.After(f.from) {
		return f, badRequest("query.to %s is not after query.from %s", in.To, in.From).at("query.to", "not after query.from")
	}
	audit := q.Type == event.Audit // otherwise the list leaves audit events out, which repeat what other events say
	if names := strings.Split(in.Types, ","); in.Types != "" {
		f.types = map[event.Type]bool{}
		for _, name := range names {
			t, known := event.ParseType(name)
			if !known {
				return f, unknownType("query.types", name)
			}
			f.types[t] = true
			audit = audit || t == event.Audit
			if len(names) == 1 && q.Type == "" {
				q.Type = t
			}
		}
	}
	f.see = func(e event.Event) bool { return who.seesEvent(e) && (audit || e.Type != event.Audit) }
	f.narrow = f.text != "" || severe[f.least] > severe[event.Info] || f.types != nil || !f.from.IsZero() || !f.to.IsZero()
	if f.from.IsZero() {
		f.from = q.Since
	}
	return f, nil
}

func (a *API) listEventTypes(context.Context, *struct{}) (*output[List[EventType]], error) {
	out := List[EventType]{Items: []EventType{}}
	for _, g := range event.Catalogue() {
		for _, e := range g.Entries {
			out.Items = append(out.Items, EventType{Type: string(e.Type), Group: g.Title, Severity: string(e.Severity), About: e.When})
		}
	}
	return answer(out), nil
}
