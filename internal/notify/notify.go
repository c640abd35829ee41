// Package notify brings events to sinks. Each sink follows the events at its own pace, by a cursor of its own: a sink that
// is slow or away delays nobody else, and finds everything in order when it is back. Of several replicas one delivers to a
// sink at a time (claim.go). Which events a sink gets is decided by routes (route.go) and silences (silence.go); a burst
// may be told as one alert (burst.go). What a sink will never take is kept as a dead letter (dead.go).
//
// It owns no goroutine: the host asks an Outbox what to send next, sends it, and says what became of it (outbox.go).
package notify

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
)

// storage is what delivery needs of the store.
type storage interface {
	notes
	events
	cursors
	leases
	Notes(ctx context.Context, kind store.NoteKind) ([]store.Note, error)
	Dead(ctx context.Context, sink string) ([]store.DeadLetter, error)
}

// events are what sinks are sent.
type events interface {
	Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error)
	EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error)
	PositionAt(ctx context.Context, t time.Time) (store.Position, error)
}

// Options are what a notifier works with.
type Options struct {
	Store  storage
	Sinks  []sink.Sink
	Routes []Route // none: warning and above go to every sink
	// Subject is what is known of a pipeline; it may be nil.
	Subject func(pipeline.ID) Subject
	// BaseURL is where people reach the server, for links; empty: none.
	BaseURL string
	// Since is when the server began: a sink that was not there before is told what happened from then on.
	Since time.Time
	// Concurrency is how many alerts are on their way to one sink at once; 4 unless said. Those of one pipeline go one
	// after the other.
	Concurrency int
}

// Subject is what alerts need to know of a pipeline.
type Subject struct {
	Owner string
	Tags  map[string]string
}

const usualConcurrency = 4

// Notifier delivers events by routes.
type Notifier struct {
	store       storage
	sinks       []sink.Sink
	routes      []Route
	subject     func(pipeline.ID) Subject
	base        string
	since       time.Time
	concurrency int
	tallies     tallies
}

// New is a notifier.
func New(o Options) *Notifier {
	n := &Notifier{
		store: o.Store, sinks: o.Sinks, subject: o.Subject,
		base: strings.TrimSuffix(o.BaseURL, "/"), since: o.Since, concurrency: o.Concurrency,
	}
	for _, r := range o.Routes {
		n.routes = append(n.routes, r.explicit())
	}
	if len(n.routes) == 0 {
		n.routes = []Route{{Name: UsualRoute, Severity: event.Warning, Sinks: n.names()}}
	}
	if n.subject == nil {
		n.subject = func(pipeline.ID) Subject { return Subject{} }
	}
	if n.concurrency <= 0 {
		n.concurrency = usualConcurrency
	}
	return n
}

// Sinks are the places that alerts go to.
func (n *Notifier) Sinks() []sink.Sink { return slices.Clone(n.sinks) }

// Concurrency is how many alerts may be on their way to one sink at once.
func (n *Notifier) Concurrency() int { return n.concurrency }

func (n *Notifier) names() []string {
	names := make([]string, len(n.sinks))
	for i, s := range n.sinks {
		names[i] = s.Name()
	}
	return names
}

// find is the sink of that name; nil if there is none.
func (n *Notifier) find(name string) sink.Sink {
	if i := slices.Index(n.names(), name); i >= 0 {
		return n.sinks[i]
	}
	return nil
}

// alert is an event, or a burst that ends with it, as it is sent.
func (n *Notifier) alert(e event.Event, count int, since time.Time) sink.Alert {
	return sink.Alert{Event: e, Count: count, Since: since, Owner: n.subject(e.Detail.Pipeline).Owner, Links: n.links(e.Detail)}
}

// links lead to the pages of the dashboard.
func (n *Notifier) links(d event.Detail) sink.Links {
	if n.base == "" || d.Pipeline == "" {
		return sink.Links{}
	}
	l := sink.Links{Pipeline: n.base + "/pipelines/" + url.PathEscape(string(d.Pipeline))}
	if key := (run.Key{Pipeline: d.Pipeline, Schedule: d.Schedule, Period: d.Date}); d.Schedule != "" && !d.Date.IsZero() {
		l.Run = n.base + "/runs/" + url.PathEscape(string(key.Pipeline)) + "/" + url.PathEscape(string(key.Schedule)) + "/" + url.PathEscape(key.Period.String())
	}
	return l
}
