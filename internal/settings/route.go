package settings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/event"
)

// Route sends the events that match all of its conditions to its sinks; the first matching route
// wins.
type Route struct {
	Name      string            `yaml:"name" doc:"The route's name in commands; default route-1, route-2 and so on."`
	Types     []string          `yaml:"types" doc:"Event types."`
	Severity  string            `yaml:"severity" enum:"info,warning,critical" doc:"The minimum severity; default warning, or any if types are set."`
	Pipelines []string          `yaml:"pipelines" doc:"Patterns of pipeline ids, such as gold-*."`
	Owners    []string          `yaml:"owners" doc:"Patterns of the pipelines' owners."`
	Tags      map[string]string `yaml:"tags" doc:"Tags that the pipeline must have."`
	Sinks     []string          `yaml:"sinks" required:"true" doc:"Names of sinks; with an empty list, nothing is sent."`
	Grouping
}

// DefaultRoute is for the events that no route matches.
type DefaultRoute struct {
	Severity string   `yaml:"severity" default:"warning" enum:"info,warning,critical" doc:"The minimum severity."`
	Sinks    []string `yaml:"sinks" required:"true" doc:"Names of sinks; with an empty list, nothing is sent."`
	Grouping
}

// Grouping combines a burst into one alert.
type Grouping struct {
	GroupBy  []string          `yaml:"groupBy" doc:"The fields that define a group: pipeline, schedule, date, type, severity, owner; default pipeline and type."`
	Interval document.Duration `yaml:"interval" default:"0s" min:"0s" max:"24h" doc:"Minimum time between two alerts of one group. Events in between are sent as one alert."`
}

// groupFields are the fields that alerts can be grouped by.
var groupFields = []string{"pipeline", "schedule", "date", "type", "severity", "owner"}

// DefaultName is the name of the route for events that no other matches.
const DefaultName = "default"

// RouteName returns the name of route i.
func (a *Alerts) RouteName(i int) string { return named(a.Routes[i].Name, "route", i) }

// WebhookName returns the name of webhook i.
func (a *Alerts) WebhookName(i int) string { return named(a.Webhooks[i].Name, "webhook", i) }

func named(name, kind string, i int) string { return cmp.Or(name, fmt.Sprintf("%s-%d", kind, i+1)) }

// Names of the sinks that exist once.
const (
	LogSink          = "log"
	SlackSink        = "slack"
	PagerDutySink    = "pagerduty"
	EmailSink        = "email"
	AlertmanagerSink = "alertmanager"
)

// SinkNames returns the names that routes may use.
func (a *Alerts) SinkNames() []string {
	names := []string{LogSink}
	for _, s := range []struct {
		name string
		set  bool
	}{
		{SlackSink, a.Slack != nil}, {PagerDutySink, a.PagerDuty != nil}, {EmailSink, a.Email != nil}, {AlertmanagerSink, a.Alertmanager != nil},
	} {
		if s.set {
			names = append(names, s.name)
		}
	}
	for i := range a.Webhooks {
		names = append(names, a.WebhookName(i))
	}
	return names
}

func (a *Alerts) checkRoutes() []document.Finding {
	findings := append(a.checkNames(), document.Each("alerts.routes", a.Routes, func(r Route) []document.Finding {
		return slices.Concat(r.check(), a.checkSinks(r.Sinks), r.Grouping.check())
	})...)
	switch {
	case a.Default != nil:
		findings = append(findings, document.Under("alerts.default", append(a.checkSinks(a.Default.Sinks), a.Default.Grouping.check()...))...)
	case len(findings) == 0 && len(a.Routes) > 0 && !slices.ContainsFunc(a.Routes, Route.fitsAllWarnings):
		findings = append(findings, document.Finding{
			Path: "alerts.routes", Severity: document.Warning,
			Message: "warnings that match no route are not sent; add alerts.default, or a last route without conditions",
		})
	}
	return findings
}

// checkNames rejects two sinks, or two routes, of one name.
func (a *Alerts) checkNames() []document.Finding {
	var findings []document.Finding
	known := a.SinkNames()
	for i := range a.Webhooks {
		if name := a.WebhookName(i); slices.Index(known, name) != len(known)-len(a.Webhooks)+i {
			findings = append(findings, document.Finding{Path: fmt.Sprintf("alerts.webhooks[%d].name", i), Message: fmt.Sprintf("there is another sink named %q; choose a unique name", name)})
		}
	}
	seen := map[string]bool{DefaultName: true}
	for i := range a.Routes {
		if name := a.RouteName(i); seen[name] {
			findings = append(findings, document.Finding{Path: fmt.Sprintf("alerts.routes[%d].name", i), Message: fmt.Sprintf("there is another route named %q; choose a unique name", name)})
		}
		seen[a.RouteName(i)] = true
	}
	return findings
}

// fitsAllWarnings reports whether the route matches every warning.
func (r Route) fitsAllWarnings() bool {
	return len(r.Types) == 0 && len(r.Pipelines) == 0 && len(r.Owners) == 0 && len(r.Tags) == 0 && r.Severity != "critical"
}

func (r Route) check() []document.Finding {
	return slices.Concat(
		known("types", "event type", r.Types, event.Types()),
		document.Each("pipelines", r.Pipelines, checkPattern),
		document.Each("owners", r.Owners, checkPattern),
	)
}

// checkSinks rejects unknown sinks.
func (a *Alerts) checkSinks(names []string) []document.Finding {
	return known("sinks", "sink", names, a.SinkNames())
}

func (g Grouping) check() []document.Finding {
	return append(
		known("groupBy", "field", g.GroupBy, groupFields),
		document.When(len(g.GroupBy) > 0 && g.Interval == 0, document.Finding{Path: "groupBy", Message: "needs an interval, such as 5m: the minimum time between two alerts of one group"})...,
	)
}

// known reports the names in a list that are not among all names of their kind.
func known(path, kind string, names, all []string) []document.Finding {
	return document.Each(path, names, func(name string) []document.Finding {
		if slices.Contains(all, name) {
			return nil
		}
		message := fmt.Sprintf("there is no %s %q", kind, name)
		if len(all) <= 10 {
			message += document.Choice(name, all)
		} else {
			message += document.DidYouMean(name, all)
		}
		return []document.Finding{{Message: message}}
	})
}
