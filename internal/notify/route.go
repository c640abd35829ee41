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

// UsualRoute is the name of the route that there is without any: warning and above go to every sink.
const UsualRoute = "default"

// Route matches an event that meets all its conditions; an empty condition is met by any event. The first route that matches
// an event decides; an event that no route matches goes nowhere.
type Route struct {
	Name      string
	Types     []event.Type
	Severity  event.Severity // this one and above; empty: any where Types are named, warning and above otherwise
	Pipelines []string       // patterns with *
	Owners    []string       // patterns with *
	Tags      map[string]string
	Sinks     []string // none: nowhere

	// Interval, where it is above 0, is the least time between two alerts of one group to one sink: what happens meanwhile
	// is told as one alert when it is over. GroupBy says what makes a group.
	Interval time.Duration
	GroupBy  []Field
}

// Field is a part of an event by which alerts are grouped.
type Field string

// The fields.
const (
	ByPipeline Field = "pipeline"
	BySchedule Field = "schedule"
	ByDate     Field = "date"
	ByType     Field = "type"
	BySeverity Field = "severity"
	ByOwner    Field = "owner"
)

// UsualGroup is how alerts are grouped where a route only gives an interval.
var UsualGroup = []Field{ByPipeline, ByType}

// explicit is the route with the severity that it matches.
func (r Route) explicit() Route {
	if r.Severity == "" && len(r.Types) == 0 {
		r.Severity = event.Warning
	}
	return r
}

// Routes are the routes in force, in order.
func (n *Notifier) Routes() []Route { return slices.Clone(n.routes) }

// route is the one that decides on e; nil if none fits.
func (n *Notifier) route(e event.Event) *Route {
	of := n.subject(e.Detail.Pipeline)
	for i := range n.routes {
		if n.routes[i].fits(e, of) {
			return &n.routes[i]
		}
	}
	return nil
}

// Wants says whether the sink of that name gets e, as far as routes are asked.
func (n *Notifier) Wants(sink string, e event.Event) bool {
	r := n.route(e)
	return r != nil && slices.Contains(r.Sinks, sink)
}

// alerts says whether e goes anywhere at all, as far as routes are asked.
func (n *Notifier) alerts(e event.Event) bool {
	r := n.route(e)
	return r != nil && len(r.Sinks) > 0
}

func (r *Route) fits(e event.Event, of Subject) bool {
	d := e.Detail
	switch {
	case (len(r.Types) > 0 || e.Type == event.Audit) && !slices.Contains(r.Types, e.Type):
		return false // the audit record goes nowhere unless a route names it: it is for admins
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

// matches says whether a pattern fits. A malformed pattern, which no checked file holds, fits nothing.
func matches(pattern, text string) bool {
	fits, err := path.Match(noPath(pattern), noPath(text))
	return err == nil && fits
}

// noPath puts another character in the place of slashes, at which a * would end: an owner such as data/eu is no path.
func noPath(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// group names the group that e belongs to.
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

// sample is what a test of a route sends: an event of a type and a severity that the route is about, if there is one.
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

// samplePipeline stands in alerts that are only a test.
const samplePipeline pipeline.ID = "interlock-test"
