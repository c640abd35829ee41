package main

import (
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/sink"
)

// notifier tells people of events, as the server's file says.
func (c *controller) notifier(sinks []sink.Sink) *notify.Notifier {
	a := c.file.Alerts
	return notify.New(notify.Options{
		Store: c.store, Sinks: sinks, Routes: routes(&a), BaseURL: a.BaseURL, Concurrency: a.Concurrency, Since: c.began,
		Subject: func(id pipeline.ID) notify.Subject {
			if e := c.catalog.Current().Get(id); e != nil {
				return notify.Subject{Owner: e.Owner, Tags: e.Tags}
			}
			return notify.Subject{}
		},
	})
}

// routes are the alert routes of the server's file, the default last.
func routes(a *settings.Alerts) []notify.Route {
	var list []notify.Route
	for i, r := range a.Routes {
		route := notify.Route{
			Name: a.RouteName(i), Severity: event.Severity(r.Severity), Pipelines: r.Pipelines, Owners: r.Owners, Tags: r.Tags, Sinks: r.Sinks,
		}
		for _, t := range r.Types {
			route.Types = append(route.Types, event.Type(t))
		}
		list = append(list, grouped(route, r.Grouping))
	}
	if d := a.Default; d != nil {
		list = append(list, grouped(notify.Route{Name: settings.DefaultName, Severity: event.Severity(d.Severity), Sinks: d.Sinks}, d.Grouping))
	}
	return list
}

func grouped(r notify.Route, g settings.Grouping) notify.Route {
	if r.Interval = g.Interval.D(); r.Interval == 0 {
		return r
	}
	r.GroupBy = notify.UsualGroup
	if len(g.GroupBy) > 0 {
		r.GroupBy = nil
		for _, field := range g.GroupBy {
			r.GroupBy = append(r.GroupBy, notify.Field(field))
		}
	}
	return r
}
