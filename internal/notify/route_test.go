package notify_test

import (
	"errors"
	"testing"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
)

var errAway = errors.New("no answer")

func TestRoutes(t *testing.T) {
	e := event.New(event.SLABreach, event.About{Pipeline: "gold-orders", Schedule: pipeline.ByCron, At: noon}, "", event.Deadline{})
	info := event.New(event.JobCompleted, event.About{Pipeline: "gold-orders", Schedule: pipeline.ByCron, Attempt: 1, At: noon}, "", event.Finished{})
	platform := event.New(event.WatchdogDegraded, event.About{At: noon}, "", event.Degraded{})
	subject := func(id pipeline.ID) notify.Subject {
		if id == "" {
			return notify.Subject{}
		}
		return notify.Subject{Owner: "finance-data", Tags: map[string]string{"layer": "gold"}}
	}
	record := event.New(event.Audit, event.About{Pipeline: "gold-orders", At: noon}, "", event.Audited{})
	to := []string{"box"}
	for name, c := range map[string]struct {
		routes []notify.Route
		event  event.Event
		want   bool
	}{
		"without routes a warning goes everywhere": {nil, e, true},
		"without routes information goes nowhere":  {nil, info, false},
		"type":                              {[]notify.Route{{Types: []event.Type{event.SLABreach}, Sinks: to}}, e, true},
		"another type":                      {[]notify.Route{{Types: []event.Type{event.SLAMet}, Sinks: to}}, e, false},
		"severity and above":                {[]notify.Route{{Severity: event.Info, Sinks: to}}, e, true},
		"below the severity":                {[]notify.Route{{Severity: event.Critical, Sinks: to}}, e, false},
		"pattern":                           {[]notify.Route{{Pipelines: []string{"silver-*", "gold-*"}, Sinks: to}}, e, true},
		"another pattern":                   {[]notify.Route{{Pipelines: []string{"silver-*"}, Sinks: to}}, e, false},
		"owner":                             {[]notify.Route{{Owners: []string{"sales", "finance-*"}, Sinks: to}}, e, true},
		"another owner":                     {[]notify.Route{{Owners: []string{"sales"}, Sinks: to}}, e, false},
		"tag":                               {[]notify.Route{{Tags: map[string]string{"layer": "gold"}, Sinks: to}}, e, true},
		"another tag":                       {[]notify.Route{{Tags: map[string]string{"layer": "silver"}, Sinks: to}}, e, false},
		"an absent tag is not an empty one": {[]notify.Route{{Tags: map[string]string{"team": ""}, Sinks: to}}, e, false},
		"the first that fits decides":       {[]notify.Route{{Severity: event.Warning}, {Sinks: to}}, e, false},
		"information where a severity says": {[]notify.Route{{Severity: event.Info, Sinks: to}}, info, true},
		"information where a type says":     {[]notify.Route{{Types: []event.Type{event.JobCompleted}, Sinks: to}}, info, true},
		"a route without severity and types is for warnings":        {[]notify.Route{{Sinks: to}}, e, true},
		"a route without severity and types is not for information": {[]notify.Route{{Pipelines: []string{"*"}, Sinks: to}}, info, false},
		"information passes such a route by, and the next one fits": {[]notify.Route{{}, {Severity: event.Info, Sinks: to}}, info, true},
		"the audit record passes by a route for everything":         {[]notify.Route{{Severity: event.Info, Sinks: to}}, record, false},
		"the audit record goes where a route names it":              {[]notify.Route{{Severity: event.Info}, {Types: []event.Type{event.Audit}, Sinks: to}}, record, true},
		"the platform fits no pattern of pipelines":                 {[]notify.Route{{Pipelines: []string{"gold-*"}, Sinks: to}}, platform, false},
		"the platform goes where a route is for all":                {[]notify.Route{{Severity: event.Critical, Sinks: to}}, platform, true},
	} {
		n := notify.New(notify.Options{Sinks: []sink.Sink{&box{}}, Routes: c.routes, Subject: subject})
		if got := n.Wants("box", c.event); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestStarInAPatternMatchesAnyCharacters(t *testing.T) {
	e := event.New(event.SLABreach, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: noon}, "", event.Deadline{})
	subject := func(pipeline.ID) notify.Subject { return notify.Subject{Owner: "finance/eu"} }
	for pattern, want := range map[string]bool{"*": true, "finance*": true, "*/eu": true, "finance/*": true, "finance/eu": true, "finance": false, "sales*": false} {
		n := notify.New(notify.Options{Sinks: []sink.Sink{&box{}}, Routes: []notify.Route{{Owners: []string{pattern}, Sinks: []string{"box"}}}, Subject: subject})
		if got := n.Wants("box", e); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
}

func TestSampleMatchesItsRoute(t *testing.T) {
	for name, r := range map[string]notify.Route{
		"any":               {},
		"severity":          {Severity: event.Critical},
		"types":             {Types: []event.Type{event.SLAMet}},
		"raised":            {Types: []event.Type{event.SLAWarning}, Severity: event.Critical},
		"types, one of all": {Types: []event.Type{event.SLAMet, event.RetryExhausted}, Severity: event.Warning},
	} {
		r.Name, r.Sinks = "r", []string{"box"}
		w := newWorld(t, r)
		_, err := w.n.Test(t.Context(), "r", "ann", w.now)
		w.check(err)
		if e := w.box.alerts[0].Event; !w.n.Wants("box", e) {
			t.Errorf("%s: %s of severity %s would go elsewhere", name, e.Type, e.Detail.Severity)
		}
	}
}

func TestRouteTestGoesOnlyToItsSinks(t *testing.T) {
	w := newWorld(t, notify.Route{Name: "pages", Types: []event.Type{event.SLABreach}, Sinks: []string{"box", "away"}})
	away, other := &box{name: "away", answer: func(event.Event) error { return errAway }}, &box{name: "other"}
	w.options.Sinks = []sink.Sink{w.box, away, other}
	w.begin()
	said, err := w.n.Test(t.Context(), "pages", "ann", w.now)
	if err != nil || len(said) != 2 || said[0] != (notify.Tested{Sink: "box"}) || said[1] != (notify.Tested{Sink: "away", Error: "no answer"}) {
		t.Errorf("said %+v, %v", said, err)
	}
	if len(w.box.alerts) != 1 || len(other.got) != 0 {
		t.Fatalf("box %v, other %v", w.box.got, other.got)
	}
	if e := w.box.alerts[0].Event; e.Validate() != nil || e.Type != event.SLABreach {
		t.Errorf("the sample is not a valid event: %v, %+v", e.Validate(), e)
	}
	if _, err := w.n.Test(t.Context(), "nobody's", "ann", w.now); !errors.Is(err, notify.ErrNoRoute) {
		t.Errorf("got %v", err)
	}
	w.turn()
	if len(w.box.got) != 1 {
		t.Errorf("the sample was stored: %v", w.box.got)
	}
}
