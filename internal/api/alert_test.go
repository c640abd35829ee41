package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// door is a sink that accepts alerts while it is open.
type door struct{ err error }

func (*door) Name() string { return "hook" }

func (d *door) Send(context.Context, sink.Alert) error { return d.err }

// alerting adds a sink and routes to an API.
func alerting(s sink.Sink, routes ...notify.Route) func(*api.Deps) {
	return func(d *api.Deps) {
		d.Alerts = notify.New(notify.Options{Store: d.Store.(*memory.Store), Sinks: []sink.Sink{s}, Routes: routes})
	}
}

func TestDeadLettersAreListedAndRetried(t *testing.T) {
	d := &door{err: errors.New("still away")}
	w := newWorld(t, alerting(d))
	e := event.New(event.PipelinePaused, event.About{Pipeline: "orders", At: w.Now()}, "paused", event.Pause{})
	letter := store.DeadLetter{Sink: "hook", Event: e, Reason: "410", Tries: 3, At: w.Now(), Count: 7, Since: w.Now()}
	w.Check(w.Store.Commit(ctx, store.Batch{ID: "dead", Dead: []store.DeadLetter{letter}}, w.Now()))
	w.get("/api/v1/alerts/dead?sink=hok").problem(404, "did you mean", "hook")
	w.post("/api/v1/alerts/dead/retry", `{"all": true, "sink": "hok"}`).problem(404, "did you mean", "hook")
	for query, want := range map[string]int{"": 1, "?sink=hook": 1} {
		items := w.get("/api/v1/alerts/dead" + query).items()
		if len(items) != want {
			t.Fatalf("%s: got %v", query, items)
		}
		if want == 1 && (items[0]["reason"] != "410" || items[0]["count"] != 7.0 || items[0]["event"].(map[string]any)["detail-type"] != "PIPELINE_PAUSED") {
			t.Errorf("%s: got %v", query, items)
		}
	}
	for _, body := range []string{`{}`, `{"ids": ["x"], "all": true}`} {
		w.post("/api/v1/alerts/dead/retry", body).problem(400, "ids")
	}
	if got := w.post("/api/v1/alerts/dead/retry", `{"all": true}`).items(); len(got) != 1 || got[0]["sent"] != false || got[0]["error"] != "still away" {
		t.Errorf("got %v", got)
	}
	d.err = nil
	if got := w.post("/api/v1/alerts/dead/retry", `{"ids": ["`+e.ID+`"]}`).items(); len(got) != 1 || got[0]["sent"] != true || got[0]["error"] != nil {
		t.Errorf("got %v", got)
	}
	if items := w.get("/api/v1/alerts/dead").items(); len(items) != 0 {
		t.Errorf("still dead: %v", items)
	}
}

func TestDeadLettersAreDiscarded(t *testing.T) {
	w := newWorld(t, alerting(&door{}))
	e := event.New(event.PipelinePaused, event.About{Pipeline: "orders", At: w.Now()}, "paused", event.Pause{})
	for _, name := range []string{"hook", "gone"} {
		w.Check(w.Store.Commit(ctx, store.Batch{ID: name, Dead: []store.DeadLetter{{Sink: name, Event: e, Reason: "410", Tries: 3, At: w.Now()}}}, w.Now()))
	}
	for _, body := range []string{`{}`, `{"ids": ["x"], "all": true}`} {
		w.post("/api/v1/alerts/dead/discard", body).problem(400, "ids")
	}
	if got := w.post("/api/v1/alerts/dead/discard", `{"all": true, "sink": "gone"}`).items(); len(got) != 1 || got[0]["sink"] != "gone" {
		t.Errorf("got %v", got)
	}
	if left := w.get("/api/v1/alerts/dead").items(); len(left) != 1 || left[0]["sink"] != "hook" {
		t.Errorf("left: %v", left)
	}
}

func TestRoutesAreListedAndTested(t *testing.T) {
	d := &door{}
	w := newWorld(t, alerting(d, notify.Route{
		Name: "gold", Types: []event.Type{event.SLABreach}, Severity: event.Warning, Pipelines: []string{"gold-*"}, Owners: []string{"data"},
		Tags: map[string]string{"layer": "gold"}, Sinks: []string{"hook"}, Interval: 5 * time.Minute, GroupBy: notify.UsualGroup,
	}, notify.Route{Name: "nowhere"}))
	want := map[string]any{
		"name": "gold", "types": []any{"SLA_BREACH"}, "severity": "warning", "pipelines": []any{"gold-*"}, "owners": []any{"data"},
		"tags": map[string]any{"layer": "gold"}, "sinks": []any{"hook"}, "groupBy": []any{"pipeline", "type"}, "interval": "5m0s",
	}
	items := w.get("/api/v1/alerts/routes").items()
	if diff := cmp.Diff(want, items[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if items[1]["interval"] != nil || items[1]["severity"] != "warning" || len(items[1]["sinks"].([]any)) != 0 {
		t.Errorf("got %v", items[1])
	}
	if got := w.post("/api/v1/alerts/test", `{"route": "gold"}`).items(); len(got) != 1 || got[0]["sent"] != true {
		t.Errorf("got %v", got)
	}
	d.err = &sink.Misconfigured{Reason: "the token is not valid"}
	if got := w.post("/api/v1/alerts/test", `{"route": "gold"}`).items(); len(got) != 1 || got[0]["sent"] != false || got[0]["error"] != "the token is not valid" {
		t.Errorf("got %v", got)
	}
	w.post("/api/v1/alerts/test", `{"route": "silver"}`).problem(404, "silver", "gold, nowhere")
	w.post("/api/v1/alerts/test", `{}`).problem(400, "route")
}

func TestSilencedEventsAreListedWithTheirSilence(t *testing.T) {
	w := newWorld(t, alerting(&door{}))
	added := w.post("/api/v1/silences", `{"pipeline": "ord*", "until": "2h", "reason": "maintenance", "requestedBy": "ann"}`).object(201)
	id := added["id"].(string)
	if added["active"] != true || added["requestedBy"] != "ann" || added["until"] != "2026-03-03T11:10:00Z" || added["type"] != nil || added["suppressed"] != 0.0 {
		t.Errorf("got %v", added)
	}
	w.emit("orders", 2)
	w.emit("silver-orders", 1)
	by := map[any]int{}
	for _, e := range w.get("/api/v1/events?type=PIPELINE_PAUSED").items() {
		by[e["silencedBy"]]++
	}
	if diff := cmp.Diff(map[any]int{id: 2, nil: 1}, by); diff != "" {
		t.Errorf("silenced by (-want +got):\n%s", diff)
	}
	if items := w.get("/api/v1/silences").items(); len(items) != 1 || items[0]["suppressed"] != 2.0 {
		t.Errorf("got %v", items)
	}
	ended := w.request("DELETE", "/api/v1/silences/"+id+"?reason=done&requestedBy=bob", "").object(200)
	if ended["active"] != false || ended["endedBy"] != "bob" || ended["endedReason"] != "done" {
		t.Errorf("got %v", ended)
	}
	if active, all := w.get("/api/v1/silences").items(), w.get("/api/v1/silences?all=true").items(); len(active) != 0 || len(all) != 1 {
		t.Errorf("active %v, all %v", active, all)
	}
	w.request("DELETE", "/api/v1/silences/nobody", "").problem(404, "nobody")
}

func TestSilencesAreExplained(t *testing.T) {
	w := newWorld(t, alerting(&door{}))
	id := w.post("/api/v1/silences", `{"pipeline": "*", "until": "12h", "reason": "maintenance"}`).object(201)["id"].(string)
	w.post("/api/v1/runs", `{"pipeline": "orders"}`).object(201)
	w.Pass(4 * time.Hour)
	w.Settle()
	x := w.get("/api/v1/pipelines/orders/explain?date=2026-03-03").object(200)
	silenced := x["silenced"].([]any)
	if len(silenced) != 1 || silenced[0].(map[string]any)["by"] != id || !strings.Contains(x["text"].(string), "silenced by "+id) {
		t.Errorf("got %v\n%s", silenced, x["text"])
	}
}

func TestInvalidSilenceIsRejected(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"until": "2h", "reason": "x"}`:                                          "pipeline",
		`{"pipeline": "[", "until": "2h", "reason": "x"}`:                         "pattern",
		`{"pipeline": "*", "until": "soon", "reason": "x"}`:                       "until",
		`{"pipeline": "*", "until": "31d", "reason": "x"}`:                        "30 days",
		`{"pipeline": "*", "until": "2026-03-03T09:10:00Z", "reason": "x"}`:       "within the next 30 days",
		`{"pipeline": "*", "until": "2h"}`:                                        "reason",
		`{"pipeline": "*", "until": "2h", "reason": "x", "type": "SLA_BROKEN"}`:   "SLA_BROKEN",
		`{"pipeline": "*", "until": "2h", "reason": "x", "severity": "critical"}`: "severity",
	} {
		w.post("/api/v1/silences", body).problem(400, want)
	}
}

func TestOnlyOperatorsSilence(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) {
		d.Settings.Tokens = []api.Token{{Name: "wall", Role: api.RoleViewer, Secret: "wall-0123456789abcdef"}, {Name: "etl", Role: api.RoleSensor, Pipelines: []string{"orders"}, Secret: "etl-0123456789abcdef"}}
	})
	w.token = "wall-0123456789abcdef"
	w.get("/api/v1/silences").object(200)
	w.post("/api/v1/silences", `{"pipeline": "*", "until": "2h", "reason": "x"}`).problem(403, "operator")
	w.request("DELETE", "/api/v1/silences/x", "").problem(403, "operator")
	w.post("/api/v1/alerts/test", `{"route": "default"}`).problem(403, "operator")
	w.post("/api/v1/alerts/dead/retry", `{"all": true}`).problem(403, "operator")
	w.token = "etl-0123456789abcdef"
	w.get("/api/v1/silences").problem(403, "limited")
	w.get("/api/v1/alerts/routes").problem(403, "limited")
}
