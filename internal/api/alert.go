package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/store"
)

// DeadLetter is an alert that a sink did not accept.
type DeadLetter struct {
	Sink   string     `json:"sink"`
	Event  Event      `json:"event" doc:"The event. For a burst, the last event of the burst."`
	Count  int        `json:"count" doc:"Number of events in the alert."`
	Since  *time.Time `json:"since" doc:"Time of the first event of a burst; null for a single event."`
	Reason string     `json:"reason" doc:"The sink's last error."`
	Tries  int        `json:"tries"`
	At     time.Time  `json:"at" doc:"When the controller stopped retrying."`
}

// TestRequest asks for a sample alert.
type TestRequest struct {
	Route       string `json:"route" minLength:"1" doc:"The route's name."`
	RequestedBy string `json:"requestedBy,omitempty" maxLength:"200" doc:"The person who requests the test; the sample names them."`
}

func (a *API) alertRoutes(h huma.API) {
	const tag = "Alerts"
	register(h, get("/alerts/routes", "list-alert-routes", tag, "List the alert routes in matching order"), a.listRoutes)
	register(h, get("/alerts/dead", "list-dead-letters", tag, "List dead letters, oldest first"), a.listDead)
	register(h, get("/alerts/dead/groups", "group-dead-letters", tag, "List dead letters grouped by sink, event type and reason"), a.groupDead)
	register(h, post("/alerts/dead/retry", "retry-dead-letters", tag, "Send dead letters again").patiently(), a.retryDead)
	register(h, post("/alerts/dead/discard", "discard-dead-letters", tag, "Delete dead letters without sending them; their events stay recorded").patiently(), a.discardDead)
	register(h, post("/alerts/test", "test-alert-route", tag, "Send a sample alert through the sinks of a route").patiently(), a.testRoute)
}

// deadQuery returns the notifier and the query for the requested dead letters.
func (a *API) deadQuery(ctx context.Context, q client.RetryRequest) (*notify.Notifier, notify.DeadQuery, error) {
	n, err := a.notifier(ctx)
	if err == nil && (len(q.IDs) > 0) == q.All {
		err = badRequest("name the dead letters: set ids, or all: true").at("body.ids", "set ids or all")
	}
	if err == nil {
		err = a.noSink(ctx, q.Sink)
	}
	return n, notify.DeadQuery{Sink: q.Sink, Events: q.IDs}, err
}

// notifier returns the notifier, for clients that may see all pipelines.
func (a *API) notifier(ctx context.Context) (*notify.Notifier, error) {
	if p := forAll(ctx); p != nil {
		return nil, p
	}
	if a.alerts == nil {
		return nil, problem(http.StatusNotFound, plainKind, "this server sends no alerts")
	}
	return a.alerts, nil
}

// silenced returns a function that names the silence which suppressed the alert about an event.
func (a *API) silenced(ctx context.Context) (func(event.Event) string, error) {
	if a.alerts == nil {
		return func(event.Event) string { return "" }, nil
	}
	return a.alerts.Silenced(ctx)
}

func (a *API) listRoutes(ctx context.Context, _ *struct{}) (*output[List[client.AlertRoute]], error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	return answer(List[client.AlertRoute]{Items: views(n.Routes(), routeView)}), nil
}

func routeView(r notify.Route) client.AlertRoute {
	v := client.AlertRoute{
		Name: r.Name, Types: views(r.Types, func(t event.Type) string { return string(t) }), Severity: text(r.Severity),
		Pipelines: append([]string{}, r.Pipelines...), Owners: append([]string{}, r.Owners...), Tags: map[string]string{},
		Sinks: append([]string{}, r.Sinks...), GroupBy: views(r.GroupBy, func(f notify.Field) string { return string(f) }),
	}
	maps.Copy(v.Tags, r.Tags)
	if r.Interval > 0 {
		v.Interval = text(r.Interval.String())
	}
	return v
}

func (a *API) listDead(ctx context.Context, in *struct {
	Paging
	Sink string `query:"sink" doc:"Only dead letters of this sink."`
},
) (*output[List[DeadLetter]], error) {
	if _, err := a.notifier(ctx); err == nil {
		if err := a.noSink(ctx, in.Sink); err != nil {
			return nil, err
		}
	}
	letters, err := a.deadLetters(ctx, in.Sink)
	if err != nil {
		return nil, err
	}
	return cut(a.cursors, "dead", in.Paging, letters, func(d store.DeadLetter) string {
		return store.Nanos(d.At) + " " + d.Sink + " " + d.Event.ID
	}, everything, deadView)
}

// deadLetters returns the dead letters of a sink, or of all, whose events the client may see,
// oldest first.
func (a *API) deadLetters(ctx context.Context, sink string) ([]store.DeadLetter, error) {
	letters, err := a.store.Dead(ctx, sink)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	who := whoOf(ctx)
	return slices.DeleteFunc(letters, func(d store.DeadLetter) bool { return !who.seesEvent(d.Event) }), nil
}

func deadView(d store.DeadLetter) DeadLetter {
	return DeadLetter{Sink: d.Sink, Event: Event{event: d.Event}, Count: max(d.Count, 1), Since: instant(d.Since), Reason: d.Reason, Tries: d.Tries, At: d.At.UTC()}
}

func (a *API) retryDead(ctx context.Context, in *struct{ Body client.RetryRequest }) (*output[List[client.Retried]], error) {
	n, q, err := a.deadQuery(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	done, err := n.Retry(ctx, q, a.now)
	if err != nil {
		return nil, err
	}
	return answer(List[client.Retried]{Items: views(done, func(r notify.Retried) client.Retried {
		return client.Retried{Sink: r.Letter.Sink, ID: r.Letter.Event.ID, Sent: r.Error == "", Error: text(r.Error)}
	})}), nil
}

func (a *API) discardDead(ctx context.Context, in *struct{ Body client.RetryRequest }) (*output[List[DeadLetter]], error) {
	n, q, err := a.deadQuery(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	gone, err := n.Discard(ctx, q, a.now())
	if err != nil {
		return nil, err
	}
	return answer(List[DeadLetter]{Items: views(gone, deadView)}), nil
}

func (a *API) testRoute(ctx context.Context, in *struct{ Body TestRequest }) (*output[List[client.Tested]], error) {
	n, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	said, err := n.Test(ctx, in.Body.Route, askedBy(ctx, &client.Asked{RequestedBy: in.Body.RequestedBy}), a.now())
	if errors.Is(err, notify.ErrNoRoute) {
		names := views(n.Routes(), func(r notify.Route) string { return r.Name })
		return nil, missing(plainKind, fmt.Sprintf("there is no alert route %.60q", in.Body.Route), in.Body.Route, names, "; there are "+strings.Join(names, ", "))
	}
	if err != nil {
		return nil, err
	}
	return answer(List[client.Tested]{Items: views(said, func(t notify.Tested) client.Tested {
		return client.Tested{Sink: t.Sink, Sent: t.Error == "", Error: text(t.Error)}
	})}), nil
}

// DeadGroup is the dead letters of one sink with the same event type and the same reason.
type DeadGroup struct {
	Sink      string    `json:"sink"`
	Type      string    `json:"type" doc:"The type of the events."`
	Severity  string    `json:"severity" enum:"info,warning,critical" doc:"The highest severity in the group."`
	Reason    string    `json:"reason" doc:"The sink's error."`
	Letters   int       `json:"letters" doc:"Number of dead letters in the group."`
	Alerts    int       `json:"alerts" doc:"Number of events in these dead letters."`
	First     time.Time `json:"first" doc:"When the first alert became a dead letter."`
	Last      time.Time `json:"last" doc:"When the last alert became a dead letter."`
	Pipelines []string  `json:"pipelines" doc:"The pipelines of the events, at most 20."`
	IDs       []string  `json:"ids" doc:"The event ids, at most 1000. Pass them to retry or discard."`
	Latest    Event     `json:"latest" doc:"The event of the last dead letter."`
}

// DeadGroups lists all dead letters in groups.
type DeadGroups struct {
	List[DeadGroup]
	Letters int `json:"letters" doc:"Number of dead letters on all pages."`
	Alerts  int `json:"alerts" doc:"Number of events in these dead letters."`
}

// The limits of the lists in a group.
const (
	maxGroupIDs       = 1000
	maxGroupPipelines = 20
)

func (a *API) groupDead(ctx context.Context, in *struct {
	Paging
	Sink string `query:"sink" doc:"Only dead letters of this sink."`
},
) (*output[DeadGroups], error) {
	letters, err := a.deadLetters(ctx, in.Sink)
	if err != nil {
		return nil, err
	}
	groups := groupLetters(letters)
	var out DeadGroups
	for _, g := range groups {
		out.Letters += g.Letters
		out.Alerts += g.Alerts
	}
	page, err := cut(a.cursors, "dead-groups", in.Paging, groups, deadPlace, everything, func(g DeadGroup) DeadGroup { return g })
	if err != nil {
		return nil, err
	}
	out.List = page.Body
	return answer(out), nil
}

// deadPlace returns the sort key of a group: sink, type and reason.
func deadPlace(g DeadGroup) string { return g.Sink + "\x00" + g.Type + "\x00" + g.Reason }

// groupLetters groups dead letters, which are sorted oldest first.
func groupLetters(letters []store.DeadLetter) []DeadGroup {
	groups := map[string]*DeadGroup{}
	for _, d := range letters {
		one := DeadGroup{Sink: d.Sink, Type: string(d.Event.Type), Reason: d.Reason, First: d.At.UTC(), Pipelines: []string{}, IDs: []string{}}
		place := deadPlace(one)
		if groups[place] == nil {
			groups[place] = &one
		}
		groups[place].add(d)
	}
	var out []DeadGroup
	for _, place := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, *groups[place])
	}
	return out
}

func (g *DeadGroup) add(d store.DeadLetter) {
	g.Letters++
	g.Alerts += max(d.Count, 1)
	g.Last, g.Latest = d.At.UTC(), Event{event: d.Event}
	if s := d.Event.Detail.Severity; severe[s] > severe[event.Severity(g.Severity)] {
		g.Severity = string(s)
	}
	if id := string(d.Event.Detail.Pipeline); id != "" && len(g.Pipelines) < maxGroupPipelines && !slices.Contains(g.Pipelines, id) {
		g.Pipelines = append(g.Pipelines, id)
	}
	if len(g.IDs) < maxGroupIDs {
		g.IDs = append(g.IDs, d.Event.ID)
	}
}
