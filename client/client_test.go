package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

func TestSensorsAreWrittenAndRead(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	w := whole(t, func(o client.CallOption) (client.Written, error) {
		return c.PutSensor(ctx, "orders", "silver/source#2026-03-03", map[string]any{"status": "ready"}, client.WithSource("etl"), client.WithTTL(time.Hour), o)
	})
	if w.Version < 1 || w.Date == nil || *w.Date != "2026-03-03" || !w.UpdatedAt.Equal(tuesday) {
		t.Errorf("got %+v", w)
	}
	r := whole(t, func(o client.CallOption) (client.Reading, error) {
		return c.Sensor(ctx, "orders", "silver/source", "", o)
	})
	if r.Key != "silver/source" || r.Data["status"] != "ready" || r.Source == nil || *r.Source != "etl" || !r.ExpiresAt.Equal(tuesday.Add(time.Hour)) {
		t.Errorf("got %+v", r)
	}
	if _, err := c.Sensor(ctx, "orders", "silver/source", "2026-03-04"); problemOf(t, err).Status != http.StatusNotFound {
		t.Errorf("a reading of another day: %v", err)
	}
	many := whole(t, func(o client.CallOption) ([]client.SensorWritten, error) {
		return c.PutSensors(ctx, []client.SensorWrite{
			{Pipeline: "orders", Key: "a", Data: map[string]any{}},
			{Pipeline: "orders", Key: "..", Data: map[string]any{"n": 1}, Source: "me"},
		}, o)
	})
	if len(many) != 2 || many[1].Key != ".." || many[1].Version <= many[0].Version {
		t.Errorf("got %+v", many)
	}
	if got := whole(t, func(o client.CallOption) ([]client.Reading, error) { return c.Sensors(ctx, "orders", o) }); len(got) != 3 {
		t.Errorf("got %+v", got)
	}
	must(c.PutSensor(ctx, "orders", "a", nil))(t)
	q := client.SensorQuery{Paging: client.Paging{Limit: 1}}
	newest := whole(t, func(o client.CallOption) (client.Page[client.Reading], error) {
		return c.SensorHistory(ctx, "orders", "a", q, o)
	})
	if len(newest.Items) != 1 || newest.NextCursor == "" {
		t.Fatalf("got %+v", newest)
	}
	q.Cursor = newest.NextCursor
	if got := must(c.SensorHistory(ctx, "orders", "a", q))(t); len(got.Items) != 1 || got.Items[0].Version >= newest.Items[0].Version || got.NextCursor != "" {
		t.Errorf("got %+v", got)
	}
}

func TestKeysWithDotsAndSlashesAreEscaped(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	for _, key := range []string{".", "..", "../..", "a/../b", "a//b", "a.b-c/d"} {
		must(c.PutSensor(ctx, "orders", key, map[string]any{"n": key}))(t)
		if got := must(c.Sensor(ctx, "orders", key, ""))(t); got.Key != key || got.Data["n"] != key {
			t.Errorf("%s: got %+v", key, got)
		}
	}
}

func TestNumbersAreNotRounded(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	must(c.PutSensor(ctx, "orders", "source", map[string]any{"rows": json.Number("9007199254740993"), "status": "ready"}))(t)
	if got := must(c.Sensor(ctx, "orders", "source", ""))(t).Data["rows"]; got != json.Number("9007199254740993") {
		t.Errorf("got %v", got)
	}
}

func TestEveryResponseIsDecoded(t *testing.T) {
	s, server := serve(t)
	c := connect(t, server)
	opened := whole(t, func(o client.CallOption) (client.Run, error) {
		return c.Trigger(ctx, client.TriggerRequest{Pipeline: "orders", Asked: client.Asked{Reason: "test", RequestedBy: "ann"}}, o)
	})
	if opened.Status != client.Pending || opened.Key().String() != "orders/cron/2026-03-03" {
		t.Errorf("got %+v", opened)
	}
	if got := whole(t, func(o client.CallOption) (client.Page[client.Pipeline], error) {
		return c.Pipelines(ctx, client.Paging{}, o)
	}); len(got.Items) != 1 || got.Items[0].LastRun == nil {
		t.Errorf("got %+v", got)
	}
	p := whole(t, func(o client.CallOption) (client.Pipeline, error) { return c.Pipeline(ctx, "orders", o) })
	if p.State != client.StateOK || p.Next.FireAt == nil {
		t.Errorf("got %+v", p)
	}
	versions := whole(t, func(o client.CallOption) ([]client.Version, error) { return c.Versions(ctx, "orders", o) })
	text := whole(t, func(o client.CallOption) (client.VersionText, error) {
		return c.Version(ctx, "orders", versions[0].Version, o)
	})
	if text.Text != orders {
		t.Errorf("got %+v", text)
	}
	gate := whole(t, func(o client.CallOption) (client.Gate, error) { return c.Gate(ctx, "orders", "", o) })
	if gate.Open || len(gate.Rules) != 1 || gate.Date != "2026-03-03" {
		t.Errorf("got %+v", gate)
	}
	why := whole(t, func(o client.CallOption) (client.Explanation, error) {
		return c.Explain(ctx, "orders", "2026-03-03", o)
	})
	if why.State != "waiting" || !strings.Contains(why.Text, "source") || why.Run == nil || why.Gate == nil {
		t.Errorf("got %+v", why)
	}
	runs := whole(t, func(o client.CallOption) (client.Page[client.Run], error) {
		return c.Runs(ctx, client.RunQuery{Pipeline: "orders", Status: client.Pending}, o)
	})
	if len(runs.Items) != 1 {
		t.Errorf("got %+v", runs)
	}
	detail := whole(t, func(o client.CallOption) (client.RunDetail, error) { return c.Run(ctx, opened.Key(), o) })
	if detail.Status != client.Pending || len(detail.Attempts) != 1 || detail.Gate == nil {
		t.Errorf("got %+v", detail)
	}
	timeline := whole(t, func(o client.CallOption) (client.Timeline, error) { return c.Timeline(ctx, client.TimelineQuery{}, o) })
	if len(timeline.Items) != 1 || len(timeline.Items[0].Slots) == 0 {
		t.Errorf("got %+v", timeline)
	}
	whole(t, func(o client.CallOption) (client.Page[client.Deadline], error) {
		return c.Deadlines(ctx, client.DeadlineQuery{State: "all"}, o)
	})
	events := must(c.Events(ctx, client.EventQuery{Type: "TRIGGER_STARTED"}))(t)
	if len(events.Items) != 1 || events.Items[0].Detail.Pipeline != "orders" || !strings.Contains(string(events.Items[0].Raw), `"requestedBy":"ann"`) {
		t.Errorf("got %+v", events)
	}
	e := event.New(event.PipelinePaused, event.About{Pipeline: "orders", At: tuesday}, "paused", event.Pause{})
	if err := s.Commit(ctx, store.Batch{ID: "dead", Dead: []store.DeadLetter{{Sink: "hook", Event: e, Reason: "410", At: tuesday}}}, tuesday); err != nil {
		t.Fatal(err)
	}
	dead := must(c.DeadLetters(ctx, "hook"))(t)
	if len(dead) != 1 || dead[0].Event.Type != "PIPELINE_PAUSED" || dead[0].Count != 1 {
		t.Fatalf("got %+v", dead)
	}
	if got := must(c.RetryDeadLetters(ctx, client.RetryRequest{IDs: []string{dead[0].Event.ID}}))(t); len(got) != 1 || got[0].Sent || *got[0].Error != "410" {
		t.Errorf("got %+v", got)
	}
	if got := must(c.AlertRoutes(ctx))(t); len(got) != 1 || got[0].Name != "default" || got[0].Sinks[0] != "hook" {
		t.Errorf("got %+v", got)
	}
	if got := must(c.TestAlertRoute(ctx, "default", "ann"))(t); len(got) != 1 || got[0].Sent || *got[0].Error != "410" {
		t.Errorf("got %+v", got)
	}
	if got := whole(t, func(o client.CallOption) (client.Readiness, error) { return c.Ready(ctx, o) }); got.Status != "ready" {
		t.Errorf("got %+v", got)
	}
}

func TestSilencesBeginAndEnd(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	q := client.SilenceRequest{Pipeline: "orders", Until: "2h", Reason: "maintenance", RequestedBy: "ann"}
	s := whole(t, func(o client.CallOption) (client.Silence, error) { return c.Silence(ctx, q, o) })
	if !s.Active || s.RequestedBy != "ann" || !s.Until.Equal(tuesday.Add(2*time.Hour)) {
		t.Errorf("got %+v", s)
	}
	if got := must(c.Silences(ctx, false))(t); len(got) != 1 || got[0].ID != s.ID {
		t.Errorf("got %+v", got)
	}
	ended := whole(t, func(o client.CallOption) (client.Silence, error) {
		return c.EndSilence(ctx, s.ID, client.Asked{Reason: "done", RequestedBy: "bob"}, o)
	})
	if ended.Active || *ended.EndedBy != "bob" || *ended.EndedReason != "done" {
		t.Errorf("got %+v", ended)
	}
	if active, all := must(c.Silences(ctx, false))(t), must(c.Silences(ctx, true))(t); len(active) != 0 || len(all) != 1 {
		t.Errorf("active %+v, all %+v", active, all)
	}
	if _, err := c.EndSilence(ctx, "nobody", client.Asked{}); problemOf(t, err).Status != http.StatusNotFound {
		t.Errorf("got %v", err)
	}
}

func TestOperatorRequestsAreCarriedOut(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	key := must(c.Trigger(ctx, client.TriggerRequest{Pipeline: "orders"}))(t).Key()
	if _, err := c.Report(ctx, key, client.JobReport{Result: "success"}); problemOf(t, err).Status != http.StatusConflict {
		t.Errorf("a run that has not started: %v", err)
	}
	ended := whole(t, func(o client.CallOption) (client.Run, error) {
		return c.Cancel(ctx, key, client.Asked{Reason: "wrong"}, o)
	})
	if ended.Status != client.Cancelled {
		t.Errorf("got %+v", ended)
	}
	late := whole(t, func(o client.CallOption) (client.JobReported, error) {
		return c.Report(ctx, key, client.JobReport{Result: "success"}, o)
	})
	if !late.Late {
		t.Errorf("got %+v", late)
	}
	again := client.RerunRequest{Asked: client.Asked{Reason: "again"}}
	rerun := whole(t, func(o client.CallOption) (client.Rerun, error) { return c.Rerun(ctx, key, again, o) })
	if !rerun.Accepted || *rerun.Attempt != 2 {
		t.Errorf("got %+v", rerun)
	}
	_, err := c.Rerun(ctx, key, again)
	if p := problemOf(t, err); p.Status != http.StatusConflict || p.Type != "urn:interlock:problem:refused" {
		t.Errorf("got %+v", p)
	}
	plan := whole(t, func(o client.CallOption) ([]client.Backfilled, error) {
		return c.Backfill(ctx, "orders", client.BackfillRequest{From: "2026-02-27", To: "2026-02-28", DryRun: true}, o)
	})
	weekend := "the calendar excludes it: weekend"
	want := []client.Backfilled{{Date: "2026-02-27", Action: "open"}, {Date: "2026-02-28", Action: "skip", Reason: &weekend}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestPauseHasWhoWhyAndEnd(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	q := client.PauseRequest{Asked: client.Asked{Reason: "test", RequestedBy: "ann"}, Until: "1h", HoldSLA: true}
	p := whole(t, func(o client.CallOption) (client.Pause, error) { return c.Pause(ctx, "orders", q, o) })
	if !p.Paused || *p.By != "ann" || *p.Why != "test" || !p.Until.Equal(tuesday.Add(time.Hour)) || !p.HoldSLA {
		t.Errorf("got %+v", p)
	}
	if got := whole(t, func(o client.CallOption) (client.Pause, error) {
		return c.Resume(ctx, "orders", client.Asked{Reason: "done"}, o)
	}); got.Paused {
		t.Errorf("got %+v", got)
	}
	paused := whole(t, func(o client.CallOption) ([]string, error) { return c.PauseAll(ctx, q, o) })
	resumed := whole(t, func(o client.CallOption) ([]string, error) { return c.ResumeAll(ctx, client.Asked{}, o) })
	if want := []string{"orders"}; cmp.Diff(want, paused) != "" || cmp.Diff(want, resumed) != "" {
		t.Errorf("paused %v, resumed %v", paused, resumed)
	}
}

func TestIdempotencyKeyMakesTwoRequestsOne(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	key := must(c.Trigger(ctx, client.TriggerRequest{Pipeline: "orders"}))(t).Key()
	must(c.Cancel(ctx, key, client.Asked{}))(t)
	again := client.RerunRequest{Asked: client.Asked{Reason: "again"}}
	first := must(c.Rerun(ctx, key, again, client.IdempotencyKey("mine")))(t)
	second, err := c.Rerun(ctx, key, again, client.IdempotencyKey("mine"))
	if err != nil || second.ID != first.ID || *second.Attempt != *first.Attempt {
		t.Errorf("got %+v and %+v, %v", first, second, err)
	}
}

func TestRejectionIsAProblemInTheServersWords(t *testing.T) {
	_, server := serve(t)
	_, err := connect(t, server).PutSensor(ctx, "none", "x", map[string]any{})
	p := problemOf(t, err)
	if p.Status != 404 || p.Type != "urn:interlock:problem:unknown-pipeline" || !strings.Contains(err.Error(), `no pipeline "none"`) || p.RequestID == "" || p.Instance == "" {
		t.Errorf("got %+v", p)
	}
}

func TestTokenIsSent(t *testing.T) {
	_, server := serve(t, api.Token{Name: "wall", Role: api.RoleViewer, Secret: "0123456789abcdef"})
	if _, err := connect(t, server).Runs(ctx, client.RunQuery{}); problemOf(t, err).Status != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
	must(connect(t, server, client.WithToken("0123456789abcdef")).Runs(ctx, client.RunQuery{}))(t)
}

// answers returns a server that sends the same response to every request.
func answers(t *testing.T, status int, kind, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestOtherServersAreUnreachable(t *testing.T) {
	gone := answers(t, 200, "", "")
	gone.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler("https://elsewhere.example/?q", http.StatusMovedPermanently))
	t.Cleanup(elsewhere.Close)
	tests := []struct {
		name   string
		server *httptest.Server
		want   string
		status int
	}{
		{"nothing listens", gone, "refused", 0},
		{"points elsewhere", elsewhere, "https://elsewhere.example", 301},
		{"page", answers(t, 200, "text/html", "<html>"), "answered with invalid JSON", 200},
		{"two answers", answers(t, 200, "application/json", "{} {}"), "answered with invalid JSON", 200},
		{"page of an error", answers(t, 404, "text/html", "<html>"), "404", 404},
		{"another's error", answers(t, 502, "application/json", `{"message": "no backend"}`), "502", 502},
		{"empty", answers(t, 200, "application/json", ""), "answered with invalid JSON", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// With a custom HTTP client, too, a redirected PUT must not end as a GET that looks
			// like success.
			c := connect(t, tt.server, client.WithHTTPClient(&http.Client{}), client.WithToken("secret"))
			_, err := c.PutSensor(ctx, "orders", "x", nil)
			var u *client.UnreachableError
			if !errors.As(err, &u) || u.Status != tt.status || !strings.Contains(err.Error(), tt.server.URL) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInvalidAddressIsRejected(t *testing.T) {
	for _, address := range []string{"", "localhost:8740", "ftp://x", "http://", "://"} {
		if _, err := client.New(address); err == nil {
			t.Errorf("New accepts %q", address)
		}
	}
	_, server := serve(t)
	c := must(client.New(server.URL + "/"))(t)
	must(c.Runs(ctx, client.RunQuery{}))(t)
}

func TestRunKeysAreParsedAndFormatted(t *testing.T) {
	key := client.RunKey{Pipeline: "orders", Schedule: "cron", Date: "2026-11-01T01-05:00"}
	for _, text := range []string{key.String(), key.String() + "/2"} {
		if got, err := client.ParseRunKey(text); err != nil || got != key {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "orders", "orders/cron", "orders//2026-03-03", "orders/cron/2026-03-03/", "orders/cron/2026-03-03/x", "a/b/c/1/2"} {
		if got, err := client.ParseRunKey(text); err == nil {
			t.Errorf("ParseRunKey(%q) = %v, want an error", text, got)
		}
	}
}
