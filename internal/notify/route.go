package notify

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// usualRoute is the name of the default route, used if none is configured: warning and above go to
// every sink.
const usualRoute = "default"

// Route matches an event that meets all its conditions; an empty condition matches any event. The
// first route that matches an event decides. An event that no route matches is not sent.
type Route struct {
	Name      string
	Types     []event.Type
	Severity  event.Severity // minimum; empty: any if Types is set, otherwise warning
	Pipelines []string       // patterns with *
	Owners    []string       // patterns with *
	Tags      map[string]string
	Sinks     []string // none: matching events are not sent

	// Interval, if positive, is the minimum time between two alerts of one group to one sink.
	// Events in between are sent as one alert when it ends. GroupBy defines the groups.
	Interval time.Duration
	GroupBy  []Field
}

// Field is a part of an event by which alerts are grouped.
type Field string

const (
	ByPipeline Field = "pipeline"
	BySchedule Field = "schedule"
	ByDate     Field = "date"
	ByType     Field = "type"
	BySeverity Field = "severity"
	ByOwner    Field = "owner"
)

// UsualGroup is the grouping of a route that only sets an interval.
var UsualGroup = []Field{ByPipeline, ByType}

// Routes returns the active routes, in order.
func (n *Notifier) Routes() []Route { return slices.Clone(n.routes) }

// route returns the first route that matches e, or nil.
func (n *Notifier) route(e event.Event) *Route {
	of := n.subject(e.Detail.Pipeline)
	for i := range n.routes {
		if n.routes[i].fits(e, of) {
			return &n.routes[i]
		}
	}
	return nil
}

// Wants reports whether routes send e to the named sink. It ignores silences.
func (n *Notifier) Wants(sink string, e event.Event) bool {
	r := n.route(e)
	return r != nil && slices.Contains(r.Sinks, sink)
}

// alerts reports whether routes send e to any sink. It ignores silences.
func (n *Notifier) alerts(e event.Event) bool {
	r := n.route(e)
	return r != nil && len(r.Sinks) > 0
}

func (r *Route) fits(e event.Event, of Subject) bool {
	d := e.Detail
	switch {
	case (len(r.Types) > 0 || e.Type == event.Audit) && !slices.Contains(r.Types, e.Type):
		return false // audit events are for admins: a route must name them
	case r.Severity != "" && !atLeast(d.Severity, r.Severity):
		return false
	case len(r.Pipelines) > 0 && !matchesAny(r.Pipelines, string(d.Pipeline)):
		return false
	case len(r.Owners) > 0 && !matchesAny(r.Owners, of.Owner):
		return false
	}
	for name, value := range r.Tags {
		if have, tagged := of.Tags[name]; !tagged || have != value {
			return false
		}
	}
	return true
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, text) })
}

// matches reports whether text matches a pattern. A malformed pattern, which validation rejects,
// matches nothing.
func matches(pattern, text string) bool {
	fits, err := path.Match(noPath(pattern), noPath(text))
	return err == nil && fits
}

// noPath replaces slashes, because * does not match them: an owner such as data/eu is not a path.
func noPath(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// group returns the key of the group that e belongs to.
func (r *Route) group(e event.Event, of Subject) string {
	parts := []string{r.Name}
	for _, f := range r.GroupBy {
		parts = append(parts, string(f)+"="+f.of(e, of.Owner))
	}
	return strings.Join(parts, "|")
}

func (f Field) of(e event.Event, owner string) string {
	d := e.Detail
	switch f {
	case ByPipeline:
		return string(d.Pipeline)
	case BySchedule:
		return string(d.Schedule)
	case ByDate:
		return d.Date.String()
	case ByType:
		return string(e.Type)
	case BySeverity:
		return string(d.Severity)
	case ByOwner:
		return owner
	default:
		return ""
	}
}

func atLeast(s, least event.Severity) bool { return rank(s) >= rank(least) }

func rank(s event.Severity) int {
	return slices.Index([]event.Severity{event.Info, event.Warning, event.Critical}, s)
}

// sample returns the event that a route test sends: one of a type and severity that the route
// matches, if possible.
func (r *Route) sample(by string, at time.Time) event.Event {
	types := r.Types
	if len(types) == 0 {
		types = []event.Type{event.JobFailed, event.InfraFailure}
	}
	about := event.About{
		Pipeline: samplePipeline, Schedule: pipeline.ByHand, Date: period.At(at, period.Day, time.UTC), Attempt: 1, Which: at.Format(time.RFC3339Nano), At: at, Critical: r.Severity == event.Critical,
	}
	of := func(t event.Type) event.Event {
		return event.New(t, about, "this is a test of the alert route "+r.Name+", requested by "+by+": nothing has happened", t.Entry().Extra)
	}
	fits := slices.IndexFunc(types, func(t event.Type) bool { return atLeast(of(t).Detail.Severity, r.Severity) })
	return of(types[max(fits, 0)])
}

// samplePipeline is the pipeline name in test alerts.
const samplePipeline pipeline.ID = "interlock-test"
