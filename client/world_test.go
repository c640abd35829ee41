package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

const orders = `
pipeline: {id: orders, owner: data}
schedule: {cron: "0 8 * * *", exclude: {weekends: true}}
sla: {deadline: "12:00"}
validation:
  rules: [{key: source, check: equals, field: status, value: ready}]
job: {type: command, config: {command: [load]}}
`

// tuesday is the fixed time of the tests.
var tuesday = time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC)

// idle runs no jobs.
type idle struct{}

func (idle) StillRuns(context.Context, run.Run, time.Time) (bool, error) { return false, nil }

func (idle) Stop(context.Context, run.Run, time.Time) (run.Leftover, error) {
	return run.NothingLeft, nil
}

func (idle) Sees(run.Run) bool { return true }

// deaf is a sink that accepts nothing.
type deaf struct{}

func (deaf) Name() string                           { return "hook" }
func (deaf) Send(context.Context, sink.Alert) error { return &sink.Refused{Reason: "410"} }

// serve starts the real API over an in-memory store, with one pipeline.
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
		Operator: controller.New(controller.Parts{Store: s, Catalog: c, Jobs: idle{}, Limits: router.Limits{StartTries: 1}}).Router,
		Settings: api.Settings{Loopback: true, Tokens: tokens}, Alerts: notify.New(notify.Options{Store: s, Sinks: []sink.Sink{deaf{}}}),
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

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// whole makes a call and fails the test unless its result, as JSON again, has everything that the
// server sent: the API's responses and this package's types must not drift apart.
func whole[T any](t *testing.T, ask func(client.CallOption) (T, error)) T {
	t.Helper()
	var raw json.RawMessage
	answer := must(ask(client.Raw(&raw)))(t)
	again, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	sent := value(t, raw)
	if page, ok := sent.(map[string]any); ok && again[0] == '[' {
		sent = page["items"]
	}
	if diff := cmp.Diff(sent, value(t, again)); diff != "" {
		t.Errorf("%T (-sent +read):\n%s", answer, diff)
	}
	return answer
}

// value decodes JSON. An absent cursor is null in the response and empty here.
func value(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if object, ok := v.(map[string]any); ok && object["nextCursor"] == "" {
		object["nextCursor"] = nil
	}
	return v
}

func problemOf(t testing.TB, err error) *client.Problem {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}
