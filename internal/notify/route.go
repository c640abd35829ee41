package notify

import (
	"path"
	"slices"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Routes decide which events a sink gets. The first route that fits an event decides; an event that none fits goes
// nowhere. Without any routes, warning and above go to every sink.
type Routes struct {
	List []Route
	Tags func(pipeline.ID) map[string]string // of a pipeline; may be nil
}

// Route fits an event that is all it says; empty fields fit any.
type Route struct {
	Types     []event.Type
	Severity  event.Severity // this one and above
	Pipelines []string       // patterns with *
	Tags      map[string]string
	Sinks     []string
}

// Wants says whether the sink of that name gets e.
func (r Routes) Wants(sink string, e event.Event) bool {
	if len(r.List) == 0 {
		return atLeast(e.Detail.Severity, event.Warning)
	}
	for _, route := range r.List {
		if r.fits(route, e) {
			return slices.Contains(route.Sinks, sink)
		}
	}
	return false
}

func (r Routes) fits(route Route, e event.Event) bool {
	d := e.Detail
	switch {
	case len(route.Types) > 0 && !slices.Contains(route.Types, e.Type):
		return false
	case route.Severity != "" && !atLeast(d.Severity, route.Severity):
		return false
	case len(route.Pipelines) > 0 && !slices.ContainsFunc(route.Pipelines, func(p string) bool { return matches(p, d.Pipeline) }):
		return false
	}
	return r.tagged(d.Pipeline, route.Tags)
}

// matches says whether a pattern fits an id. A malformed pattern, which no checked file holds, fits nothing.
func matches(pattern string, id pipeline.ID) bool {
	fits, err := path.Match(pattern, string(id))
	return err == nil && fits
}

func (r Routes) tagged(id pipeline.ID, want map[string]string) bool {
	if len(want) == 0 {
		return true
	}
	if r.Tags == nil {
		return false
	}
	have := r.Tags(id)
	for name, value := range want {
		if have[name] != value {
			return false
		}
	}
	return true
}

func atLeast(s, least event.Severity) bool { return rank(s) >= rank(least) }

func rank(s event.Severity) int {
	return slices.Index([]event.Severity{event.Info, event.Warning, event.Critical}, s)
}
