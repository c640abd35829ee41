package pagerduty_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/pagerduty"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
)

const routingKey = sinktest.Secret

var (
	noon = sinktest.Noon
	ctx  = context.Background()
)

func alert(t event.Type, extra event.Extra) sink.Alert { return sinktest.Alert(t, "message", extra) }

// service is a fake PagerDuty: it records requests and answers as documented.
type service struct {
	*httptest.Server
	paths []string
	got   []map[string]any
	code  int
	body  string
}

func newService(t *testing.T) *service {
	s := &service{code: http.StatusAccepted, body: `{"status":"success"}`}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.Method, body, err)
		}
		if got["routing_key"] != routingKey {
			t.Errorf("routing key %v", got["routing_key"])
		}
		s.paths, s.got = append(s.paths, r.URL.Path), append(s.got, got)
		w.WriteHeader(s.code)
		_, _ = io.WriteString(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) sink(t *testing.T) sink.Follower { return sinkAt(s.URL, sinktest.Client(t)) }

func sinkAt(url string, client *http.Client) sink.Follower {
	return pagerduty.New(pagerduty.Config{Name: "pagerduty", RoutingKey: routingKey, APIURL: url + "/", Client: client, Threads: sinktest.NewThreads(), Now: sinktest.Clock})
}

func TestPagerDutyKeepsTheContract(t *testing.T) {
	sinktest.RunHTTP(t, func(url string, client *http.Client) sink.Sink { return sinkAt(url, client) })
}

// actions returns the requested actions, each with its incident.
func (s *service) actions() []string {
	var all []string
	for i, got := range s.got {
		action, _ := got["event_action"].(string)
		key, _ := got["dedup_key"].(string)
		all = append(all, strings.TrimSpace(s.paths[i]+" "+action+" "+key))
	}
	return all
}

func TestIncidentIsOpenedAddedToAndResolved(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	for _, do := range []func() error{
		func() error { return p.Send(ctx, alert(event.JobFailed, event.Finished{})) },
		func() error { return p.Send(ctx, alert(event.RetryExhausted, event.Budget{})) },
		func() error { return p.Follow(ctx, alert(event.RetryScheduled, event.Budget{})) },
		func() error { return p.Follow(ctx, alert(event.JobCompleted, event.Finished{})) },
		func() error { return p.Follow(ctx, alert(event.JobCompleted, event.Finished{})) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	const incident = "interlock/orders/cron/2026-03-03"
	want := []string{"/v2/enqueue trigger " + incident, "/v2/enqueue trigger " + incident, "/v2/enqueue resolve " + incident}
	if diff := cmp.Diff(want, s.actions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRepeatOpensNoIncidentAgain(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	failed, done := alert(event.JobFailed, event.Finished{}), alert(event.JobCompleted, event.Finished{})
	if err := errors.Join(p.Send(ctx, failed), p.Follow(ctx, done), p.Send(ctx, failed), p.Follow(ctx, done)); err != nil || len(s.got) != 2 {
		t.Errorf("%v, %v", err, s.actions())
	}
}

func TestBurstWhoseLastEventWasFollowedIsSent(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	failed, done := alert(event.JobFailed, event.Finished{}), alert(event.JobCompleted, event.Finished{})
	burst := done
	burst.Count = 3
	if err := errors.Join(p.Send(ctx, failed), p.Follow(ctx, done), p.Send(ctx, done), p.Send(ctx, burst)); err != nil {
		t.Fatal(err)
	}
	if got := s.actions(); len(got) != 3 || got[2] != "/v2/change/enqueue" {
		t.Errorf("got %v", got)
	}
}

func TestIncidentThatWasNeverOpenedIsNotResolved(t *testing.T) {
	s := newService(t)
	if err := s.sink(t).Follow(ctx, alert(event.JobCompleted, event.Finished{})); err != nil || len(s.got) != 0 {
		t.Errorf("%v, %v", err, s.got)
	}
}

func TestTriggerSaysWhatHappened(t *testing.T) {
	s := newService(t)
	a := alert(event.ValidationExhausted, event.Gate{Rules: []event.RuleOutcome{{Key: "rows", Check: "gte", Outcome: "fail", Reason: "count is 950, needs ≥ 1000"}}})
	if err := s.sink(t).Send(ctx, a); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"routing_key": routingKey, "event_action": "trigger", "dedup_key": "interlock/orders/cron/2026-03-03", "client": "interlock", "client_url": "https://interlock.example/pipeline",
		"payload": map[string]any{
			"summary": "VALIDATION_EXHAUSTED: orders, cron, 2026-03-03, attempt 1: message", "source": "orders", "severity": "warning", "timestamp": "2026-03-03T12:00:00Z",
			"component": "orders", "group": "data-team", "class": "VALIDATION_EXHAUSTED",
			"custom_details": map[string]any{"what": "message", "why": "rows gte is closed: count is 950, needs ≥ 1000", "what to do": a.Event.Remedy()},
		},
		"links": []any{map[string]any{"href": "https://interlock.example/run", "text": "Run"}, map[string]any{"href": "https://interlock.example/pipeline", "text": "Pipeline"}},
	}
	if diff := cmp.Diff(want, s.got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCriticalAlertsAreCritical(t *testing.T) {
	s := newService(t)
	if err := s.sink(t).Send(ctx, alert(event.RetryExhausted, event.Budget{})); err != nil {
		t.Fatal(err)
	}
	if payload, _ := s.got[0]["payload"].(map[string]any); payload["severity"] != "critical" {
		t.Errorf("got %v", payload["severity"])
	}
}

func TestEventThatIsNotAProblemPagesNobody(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	for _, a := range []sink.Alert{alert(event.TriggerStarted, event.Opening{}), alert(event.RerunRejected, event.Refusal{}), alert(event.JobCompleted, event.Finished{})} {
		if err := p.Send(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"/v2/change/enqueue", "/v2/change/enqueue", "/v2/change/enqueue"}, s.actions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFileThatIsGoodAgainResolvesItsIncident(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	config := func(t event.Type) sink.Alert {
		return sink.Alert{Event: event.New(t, event.About{Pipeline: "orders", At: noon}, "message", event.Config{}), Count: 1}
	}
	if err := errors.Join(p.Send(ctx, config(event.ConfigRejected)), p.Follow(ctx, config(event.ConfigAccepted))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/v2/enqueue trigger interlock/orders/config", "/v2/enqueue resolve interlock/orders/config"}, s.actions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFailuresAreDistinguished(t *testing.T) {
	for _, c := range []struct {
		code int
		body string
		want any
	}{
		{400, `{"status":"invalid event","message":"Event object is invalid","errors":["Invalid routing key"]}`, new(*sink.Misconfigured)},
		{400, `{"status":"invalid event","message":"Event object is invalid","errors":["'payload.summary' is missing"]}`, new(*sink.Refused)},
		{404, ``, new(*sink.Misconfigured)},
	} {
		s := newService(t)
		s.code, s.body = c.code, c.body
		err := s.sink(t).Send(ctx, alert(event.JobFailed, event.Finished{}))
		if err == nil || !errors.As(err, c.want) || strings.Contains(err.Error(), routingKey) {
			t.Errorf("%d %s: got %v", c.code, c.body, err)
		}
	}
}

func TestRejectedIncidentIsNotRemembered(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	s.code = http.StatusInternalServerError
	if err := p.Send(ctx, alert(event.JobFailed, event.Finished{})); err == nil {
		t.Fatal("taken")
	}
	s.code = http.StatusAccepted
	if err := p.Follow(ctx, alert(event.JobCompleted, event.Finished{})); err != nil || len(s.got) != 1 {
		t.Errorf("%v, %v", err, s.actions())
	}
}

func TestLongTextsFit(t *testing.T) {
	s := newService(t)
	long := strings.Repeat("é", 10_000)
	a := sinktest.Alert(event.JobFailed, long, event.Finished{})
	a.Event.Detail.Pipeline = pipeline.ID(strings.Repeat("p", 300))
	if err := s.sink(t).Send(ctx, a); err != nil {
		t.Fatal(err)
	}
	payload, _ := s.got[0]["payload"].(map[string]any)
	summary, _ := payload["summary"].(string)
	key, _ := s.got[0]["dedup_key"].(string)
	if len([]rune(summary)) != 1024 || len(key) > 255 || key == "" {
		t.Errorf("summary of %d characters, key of %d", len([]rune(summary)), len(key))
	}
}

// A dead letter that is sent again after its run succeeded must not page anybody: nothing would
// resolve the incident.
func TestAlertOfASettledRunOpensNoIncidentAndResolvesOneThatIsOpen(t *testing.T) {
	s := newService(t)
	p := s.sink(t)
	late, done := alert(event.RetryExhausted, event.Budget{}), alert(event.JobCompleted, event.Finished{})
	late.Settled = true
	if err := errors.Join(p.Send(ctx, late), p.Follow(ctx, done)); err != nil || len(s.got) != 0 {
		t.Errorf("%v, %v", err, s.actions())
	}
	if err := errors.Join(p.Send(ctx, alert(event.JobFailed, event.Finished{})), p.Send(ctx, late), p.Follow(ctx, done)); err != nil {
		t.Fatal(err)
	}
	const incident = "interlock/orders/cron/2026-03-03"
	if diff := cmp.Diff([]string{"/v2/enqueue trigger " + incident, "/v2/enqueue resolve " + incident}, s.actions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
