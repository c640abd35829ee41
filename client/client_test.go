package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/slamonitor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	restore := client.Strict() // what the API sends and what is read here must not drift
	code := m.Run()
	restore()
	os.Exit(code)
}

const orders = `
pipeline: {id: orders, owner: data}
schedule: {cron: "0 8 * * *", exclude: {weekends: true}}
sla: {deadline: "12:00"}
validation:
  rules: [{key: source, check: equals, field: status, value: ready}]
job: {type: command, config: {command: [load]}}
`

// tuesday is when it always is here.
var tuesday = time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC)

// idle has no jobs.
type idle struct{}

func (idle) StillRuns(context.Context, run.Run) (bool, error) { return false, nil }

func (idle) Stop(context.Context, run.Run) (run.Leftover, error) { return run.NothingLeft, nil }

// serve starts the real API over a store in memory, with one pipeline.
func serve(t testing.TB, tokens ...api.Token) (*memory.Store, *httptest.Server) {
	t.Helper()
	s, a, err := assemble(tokens)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		a.Close()
		server.Close()
	})
	return s, server
}

func assemble(tokens []api.Token) (*memory.Store, *api.API, error) {
	s := memory.New()
	c := catalog.New(s, all.Kinds())
	_, err := c.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(orders)}}}, tuesday)
	a := api.New(api.Deps{
		Store: s, Catalog: c, Now: func() time.Time { return tuesday }, Logger: slog.New(slog.DiscardHandler),
		Operator: router.New(router.Deps{Store: s, Catalog: c, Deadlines: slamonitor.New(s, c), Jobs: idle{}, Limits: router.Limits{StartTries: 1}}),
		Settings: api.Settings{Loopback: true, Tokens: tokens},
	})
	return s, a, err
}

func connect(t testing.TB, server *httptest.Server, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(server.URL, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// must fails on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestSensorsGoInAndComeBack(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	w := must(c.PutSensor(ctx, "orders", "silver/source#2026-03-03", map[string]any{"status": "ready"}, client.WithSource("etl"), client.WithTTL(time.Hour)))(t)
	if w.Version < 1 || w.Date == nil || *w.Date != "2026-03-03" || !w.UpdatedAt.Equal(tuesday) {
		t.Errorf("got %+v", w)
	}
	r := must(c.Sensor(ctx, "orders", "silver/source"))(t)
	if r.Key != "silver/source" || r.Data["status"] != "ready" || r.Source == nil || *r.Source != "etl" || !r.ExpiresAt.Equal(tuesday.Add(time.Hour)) {
		t.Errorf("got %+v", r)
	}
	many := must(c.PutSensors(ctx, []client.SensorWrite{{Pipeline: "orders", Key: "a", Data: map[string]any{}}, {Pipeline: "orders", Key: "..", Data: map[string]any{"n": 1}, Source: "me"}}))(t)
	if len(many) != 2 || many[1].Key != ".." || many[1].Version <= many[0].Version {
		t.Errorf("got %+v", many)
	}
	if got := must(c.Sensor(ctx, "orders", ".."))(t); got.Data["n"] != 1.0 {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Sensors(ctx, "orders"))(t); len(got) != 3 {
		t.Errorf("got %+v", got)
	}
	must(c.PutSensor(ctx, "orders", "a", nil))(t)
	if got := must(c.SensorHistory(ctx, "orders", "a", url.Values{"limit": {"1"}}))(t); len(got.Items) != 1 || got.NextCursor == "" {
		t.Errorf("got %+v", got)
	}
}

func TestEveryAnswerIsUnderstood(t *testing.T) {
	s, server := serve(t)
	c := connect(t, server)
	opened := must(c.Trigger(ctx, client.Wish{Pipeline: "orders", Reason: "test", RequestedBy: "ann"}))(t)
	if opened.Status != "PENDING" || opened.Key().String() != "orders/cron/2026-03-03" {
		t.Errorf("got %+v", opened)
	}
	if got := must(c.Pipelines(ctx, nil))(t); len(got.Items) != 1 || got.Items[0].LastRun == nil {
		t.Errorf("got %+v", got)
	}
	p := must(c.Pipeline(ctx, "orders"))(t)
	if p.State != "ok" || p.Next.FireAt == nil {
		t.Errorf("got %+v", p)
	}
	versions := must(c.Versions(ctx, "orders"))(t)
	if got := must(c.Version(ctx, "orders", versions[0].Version))(t); got.Text != orders {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Gate(ctx, "orders", ""))(t); got.Open || len(got.Rules) != 1 || got.Date != "2026-03-03" {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Explain(ctx, "orders", "2026-03-03"))(t); got.State != "waiting" || !strings.Contains(got.Text, "source") || got.Run == nil || got.Gate == nil {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Runs(ctx, url.Values{"pipeline": {"orders"}}))(t); len(got.Items) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Run(ctx, opened.Key()))(t); got.Status != "PENDING" || len(got.Attempts) != 1 || got.Gate == nil {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Timeline(ctx, nil))(t); len(got.Items) != 1 || len(got.Items[0].Slots) == 0 {
		t.Errorf("got %+v", got)
	}
	must(c.Deadlines(ctx, nil))(t)
	if got := must(c.Events(ctx, url.Values{"type": {"TRIGGER_STARTED"}}))(t); len(got.Items) != 1 || got.Items[0].Detail.Pipeline != "orders" || !strings.Contains(string(got.Items[0].Detail.Extra), `"requestedBy":"ann"`) {
		t.Errorf("got %+v", got)
	}
	e := event.New(event.PipelinePaused, event.About{Pipeline: "orders", At: tuesday}, "paused", event.Pause{})
	if err := s.Commit(ctx, store.Batch{ID: "dead", Dead: []store.DeadLetter{{Sink: "hook", Event: e, Reason: "410", At: tuesday}}}, tuesday); err != nil {
		t.Fatal(err)
	}
	if got := must(c.DeadLetters(ctx, "hook"))(t); len(got) != 1 || got[0].Event.Type != "PIPELINE_PAUSED" {
		t.Errorf("got %+v", got)
	}
	if got := must(c.Ready(ctx))(t); got.Status != "ready" {
		t.Errorf("got %+v", got)
	}
}

func TestOperatorsWishesAreCarriedOut(t *testing.T) {
	_, server := serve(t)
	c := connect(t, server)
	key := must(c.Trigger(ctx, client.Wish{Pipeline: "orders"}))(t).Key()
	if err := c.Report(ctx, key, client.JobResult{Result: "success"}); problemOf(t, err).Status != http.StatusConflict {
		t.Errorf("it has not started: %v", err)
	}
	if got := must(c.Cancel(ctx, key, client.Wish{Reason: "wrong"}))(t); got.Status != "CANCELLED" {
		t.Errorf("got %+v", got)
	}
	if err := c.Report(ctx, key, client.JobResult{Result: "success"}); !errors.Is(err, client.ErrLate) {
		t.Errorf("got %v", err)
	}
	if got := must(c.Rerun(ctx, key, client.Wish{Reason: "again"}))(t); !got.Accepted || *got.Attempt != 2 {
		t.Errorf("got %+v", got)
	}
	_, err := c.Rerun(ctx, key, client.Wish{Reason: "again"})
	if p := problemOf(t, err); p.Status != http.StatusConflict || p.Type != "urn:interlock:problem:refused" {
		t.Errorf("got %+v", p)
	}
	until := tuesday.Add(time.Hour)
	for _, id := range []string{"orders", ""} {
		if err := c.Pause(ctx, id, client.Pausing{Reason: "test", RequestedBy: "ann", Until: &until, HoldSLA: true}); err != nil {
			t.Fatal(err)
		}
		if got := must(c.Pipeline(ctx, "orders"))(t).Pause; !got.Paused || *got.By != "ann" || !got.Until.Equal(until) {
			t.Errorf("got %+v", got)
		}
		if err := c.Resume(ctx, id, "done"); err != nil {
			t.Fatal(err)
		}
	}
	plan := must(c.Backfill(ctx, "orders", client.Backfilling{From: "2026-02-27", To: "2026-02-28", DryRun: true}))(t)
	want := []client.Backfilled{{Date: "2026-02-27", Action: "open"}, {Date: "2026-02-28", Action: "skip", Reason: "the calendar excludes it: weekend"}}
	if diff := cmp.Diff(want, plan.Items); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func problemOf(t testing.TB, err error) *client.Problem {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}

func TestRefusalIsAProblemInTheServersWords(t *testing.T) {
	_, server := serve(t)
	_, err := connect(t, server).PutSensor(ctx, "none", "x", map[string]any{})
	p := problemOf(t, err)
	if p.Status != 404 || p.Type != "urn:interlock:problem:unknown-pipeline" || !strings.Contains(err.Error(), `no pipeline "none"`) || p.RequestID == "" || p.Instance == "" {
		t.Errorf("got %+v", p)
	}
}

func TestTokenIsSentAlong(t *testing.T) {
	_, server := serve(t, api.Token{Name: "wall", Role: api.RoleViewer, Secret: "0123456789abcdef"})
	if _, err := connect(t, server).Runs(ctx, nil); problemOf(t, err).Status != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
	must(connect(t, server, client.WithToken("0123456789abcdef")).Runs(ctx, nil))(t)
}

func TestServerThatIsNotThereIsUnreachable(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stranger := httptest.NewServer(http.RedirectHandler("https://elsewhere.example", http.StatusFound))
	defer stranger.Close()
	garbage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer garbage.Close()
	for _, server := range []*httptest.Server{gone, stranger, garbage} {
		c := connect(t, server, client.WithHTTPClient(server.Client()), client.WithToken("secret"))
		_, err := c.Runs(ctx, nil)
		var u *client.UnreachableError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), server.URL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v", err)
		}
	}
	for _, address := range []string{"", "localhost:8740", "ftp://x", "http://", "://"} {
		if _, err := client.New(address); err == nil {
			t.Errorf("%q is no address", address)
		}
	}
}

func TestRunKeysAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]client.RunKey{
		"orders/cron/2026-03-03": {Pipeline: "orders", Schedule: "cron", Date: "2026-03-03"}, "orders/cron/2026-03-03/2": {Pipeline: "orders", Schedule: "cron", Date: "2026-03-03"},
	} {
		if got, err := client.ParseRunKey(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	if _, err := client.ParseRunKey("orders"); err == nil {
		t.Error("orders is no run")
	}
}

var errEnough = errors.New("enough")

func TestFollowTellsEventsAsTheyHappen(t *testing.T) {
	s, server := serve(t)
	c := connect(t, server)
	tell := func(n int) {
		b := store.Batch{ID: fmt.Sprint(n)}
		b.Emit(event.New(event.PipelinePaused, event.About{Pipeline: "orders", Which: fmt.Sprint(n), At: tuesday}, fmt.Sprint(n), event.Pause{}))
		if err := s.Commit(ctx, b, tuesday); err != nil {
			t.Error(err)
		}
	}
	tell(1)
	var got []string
	err := c.Follow(ctx, url.Values{"since": {"2026-03-03"}, "type": {"PIPELINE_PAUSED"}}, func(e client.Event, raw json.RawMessage) error {
		got = append(got, e.Detail.Message)
		if len(got) == 3 {
			return errEnough
		}
		tell(len(got) + 1)
		return nil
	})
	if !errors.Is(err, errEnough) || cmp.Diff([]string{"1", "2", "3"}, got) != "" {
		t.Errorf("got %v, %v", got, err)
	}
	if err := c.Follow(ctx, url.Values{"type": {"NONSENSE"}}, nil); problemOf(t, err).Status != 400 {
		t.Errorf("got %v", err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := c.Follow(stopped, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFollowGoesOnWhereAConnectionBroke(t *testing.T) {
	var calls atomic.Int32
	var resumed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resumed = append(resumed, r.Header.Get("Last-Event-ID"))
		switch calls.Add(1) {
		case 1: // breaks in the middle of the second event
			fmt.Fprint(w, "retry: 1\nid: 4\n\n: alive\n\nid: 5\ndata: {\"id\":\"a\"}\n\nid: 6\nda")
		case 2: // is not there for a moment
			http.Error(w, "starting", http.StatusBadGateway)
		default:
			fmt.Fprint(w, "id: 6\ndata: {\"id\":\"b\"}\n\n")
		}
	}))
	defer server.Close()
	var got []string
	err := connect(t, server).Follow(ctx, nil, func(e client.Event, _ json.RawMessage) error {
		if got = append(got, e.ID); len(got) == 2 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || cmp.Diff([]string{"a", "b"}, got) != "" || cmp.Diff([]string{"", "5", "5"}, resumed) != "" {
		t.Errorf("got %v, %v, resumed after %q", got, err, resumed)
	}
}

func TestFollowGivesUpOnWhatWasNeverThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var u *client.UnreachableError
	if err := connect(t, server).Follow(ctx, nil, nil); !errors.As(err, &u) {
		t.Errorf("got %v", err)
	}
}
