// Package notify delivers events to sinks. Each sink has its own cursor and its own pace: a sink
// that is slow or down delays no other, and receives everything in order when it is back. With
// several replicas, one at a time delivers to a sink (claim.go). Routes (route.go) and silences
// (silence.go) decide which events a sink gets; a burst of events can be sent as one alert
// (burst.go). Alerts that a sink permanently rejects are kept as dead letters (dead.go).
//
// It starts no goroutines: the host asks an Outbox what to send next, sends it, and reports the
// result (outbox.go).
package notify

import (
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

// storage is the part of the store that delivery uses.
type storage interface {
	store.Committer
	store.Reader
	store.Feed
	store.Tasks
}

// Options configure a notifier.
type Options struct {
	Store  storage
	Sinks  []sink.Sink
	Routes []Route // none: warning and above go to every sink
	// Subject looks up the owner and tags of a pipeline; it may be nil.
	Subject func(pipeline.ID) Subject
	// BaseURL is the server's public URL, for links; empty means no links.
	BaseURL string
	// Since is when the server started: a new sink receives events from then on.
	Since time.Time
	// Concurrency is how many alerts may be in flight to one sink; 0 means 4. Alerts of one
	// pipeline are sent one at a time.
	Concurrency int
}

// Subject is the pipeline data that alerts and routes use.
type Subject struct {
	Owner string
	Tags  map[string]string
}

const usualConcurrency = 4

// Notifier delivers events to sinks, as routes decide.
type Notifier struct {
	store       storage
	sinks       []sink.Sink
	routes      []Route
	subject     func(pipeline.ID) Subject
	base        string
	since       time.Time
	concurrency int
	tallies     tallies
	known       known
}

func New(o Options) *Notifier {
	n := &Notifier{
		store: o.Store, sinks: o.Sinks, subject: o.Subject,
		base: strings.TrimSuffix(o.BaseURL, "/"), since: o.Since, concurrency: o.Concurrency,
	}
	for _, r := range o.Routes {
		if r.Severity == "" && len(r.Types) == 0 {
			r.Severity = event.Warning
		}
		n.routes = append(n.routes, r)
	}
	if len(n.routes) == 0 {
		n.routes = []Route{{Name: usualRoute, Severity: event.Warning, Sinks: n.names()}}
	}
	if n.subject == nil {
		n.subject = func(pipeline.ID) Subject { return Subject{} }
	}
	if n.concurrency <= 0 {
		n.concurrency = usualConcurrency
	}
	return n
}

// Sinks returns the configured sinks.
func (n *Notifier) Sinks() []sink.Sink { return slices.Clone(n.sinks) }

// Concurrency returns how many alerts may be in flight to one sink.
func (n *Notifier) Concurrency() int { return n.concurrency }

func (n *Notifier) names() []string {
	names := make([]string, len(n.sinks))
	for i, s := range n.sinks {
		names[i] = s.Name()
	}
	return names
}

// find returns the sink of that name, or nil.
func (n *Notifier) find(name string) sink.Sink {
	if i := slices.Index(n.names(), name); i >= 0 {
		return n.sinks[i]
	}
	return nil
}

// alert returns the alert for an event, or for a burst that ends with it.
func (n *Notifier) alert(e event.Event, count int, since time.Time) sink.Alert {
	return sink.Alert{Event: e, Count: count, Since: since, Owner: n.subject(e.Detail.Pipeline).Owner, Links: n.links(e.Detail)}
}

// links returns links to the dashboard pages of the pipeline and the run.
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
