package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/controllertest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

var ctx = context.Background()

const orders = `
pipeline: {id: orders, owner: data, description: All orders, tags: {layer: bronze}}
schedule:
  cron: "0 8 * * *"
  evaluation: {window: 3h, interval: 10m}
sla: {deadline: "12:00", expectedDuration: 30m}
validation:
  rules:
    - {key: source, check: equals, field: status, value: ready}
    - {key: rows, check: gte, field: count, value: 1000}
job: {type: command, config: {command: [load]}}
`

const silver = `
pipeline: {id: silver-orders, owner: data}
schedule:
  trigger: {key: landed, check: equals, field: status, value: ready}
  exclude: {weekends: true}
job: {type: command, config: {command: [load]}}
`

// world is a controller behind its API. Jobs run until a test reports their result.
type world struct {
	testing.TB
	*controllertest.Controller
	api     *api.API
	server  *httptest.Server
	log     *bytes.Buffer
	token   string // sent unless empty
	emitted int    // how many events tests emitted
}

// callbacks are the callbacks of the world's jobs.
var callbacks = signing("one", 1)

// signing returns the callbacks of a replica with such a key.
func signing(replica string, seed byte) api.Callbacks {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return api.Callbacks{Base: "http://127.0.0.1:8740/", Replica: replica, Key: key}
}

// newWorld starts with two pipelines. change modifies the API's dependencies.
func newWorld(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	s := memory.New()
	w := &world{TB: t, Controller: controllertest.New(t, s, map[string]job.Type{"command": controllertest.Idle{}}), log: &bytes.Buffer{}}
	w.Apply(orders, silver)
	w.Settle()
	d := api.Deps{
		Store: s, Catalog: w.Catalog, Operator: w.Router, Now: w.Now, Alerts: notify.New(notify.Options{Store: s}),
		Settings: api.Settings{Loopback: true, Callbacks: callbacks},
		Logger:   slog.New(slog.NewJSONHandler(&locked{w: w.log}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&d)
	}
	w.api = api.New(d)
	w.server = httptest.NewUnstartedServer(w.api)
	w.server.Config = api.Server(w.api, "", d.Logger)
	w.server.Start()
	t.Cleanup(func() {
		w.api.Close()
		w.server.Close()
	})
	return w
}

// locked is a writer that is safe for concurrent use.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// reply is a response of the API.
type reply struct {
	*world
	status int
	header http.Header
	body   []byte
}

// transport keeps as many connections as the busiest test has writers.
var transport = &http.Transport{MaxIdleConnsPerHost: 64}

// request sends a request; headers are "Name: value".
func (w *world) request(method, path, body string, headers ...string) reply {
	w.Helper()
	r, err := http.NewRequest(method, w.server.URL+path, strings.NewReader(body))
	w.Check(err)
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	answer, err := transport.RoundTrip(r)
	w.Check(err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	w.Check(err)
	return reply{world: w, status: answer.StatusCode, header: answer.Header, body: got}.judged(method, path)
}

func (w *world) get(path string, headers ...string) reply {
	w.Helper()
	return w.request("GET", path, "", headers...)
}

func (w *world) put(path, body string, headers ...string) reply {
	w.Helper()
	return w.request("PUT", path, body, headers...)
}

func (w *world) post(path, body string, headers ...string) reply {
	w.Helper()
	return w.request("POST", path, body, append([]string{"Content-Type: application/json"}, headers...)...)
}

// object returns the response, which must be a JSON object with that status.
func (r reply) object(status int) map[string]any {
	r.Helper()
	if r.status != status {
		r.Fatalf("status is %d, want %d: %s", r.status, status, r.body)
	}
	var out map[string]any
	if err := json.Unmarshal(r.body, &out); err != nil {
		r.Fatalf("not an object: %s", r.body)
	}
	return out
}

// problem fails the test unless the response is a complete problem with that status that contains
// all parts.
func (r reply) problem(status int, parts ...string) map[string]any {
	r.Helper()
	p := r.object(status)
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.Errorf("content type is %q: %s", got, r.body)
	}
	for _, key := range []string{"type", "title", "status", "detail", "instance", "requestId", "errors"} {
		if _, there := p[key]; !there {
			r.Errorf("problem has no %q: %s", key, r.body)
		}
	}
	if p["status"] != float64(status) || p["title"] != http.StatusText(status) || p["detail"] == "" || p["requestId"] != r.header.Get("X-Request-Id") {
		r.Errorf("problem does not fit its answer: %s", r.body)
	}
	for _, part := range parts {
		if !strings.Contains(fmt.Sprint(p), part) {
			r.Errorf("the problem lacks %q: %s", part, r.body)
		}
	}
	return p
}

// items returns the response, which must be a list.
func (r reply) items() []map[string]any {
	r.Helper()
	o := r.object(http.StatusOK)
	if _, there := o["nextCursor"]; !there {
		r.Errorf("the list lacks nextCursor: %s", r.body)
	}
	var items []map[string]any
	list, ok := o["items"].([]any)
	if !ok {
		r.Fatalf("items is not a list: %s", r.body)
	}
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// opened returns a world on Wednesday at 08:10, when today's run of orders waits.
func opened(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	w := newWorld(t, change...)
	w.Pass(23 * time.Hour)
	return w
}

// running returns the same world with the run's job running.
func running(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	w := opened(t, change...)
	day, err := period.Parse("2026-03-04")
	w.Check(err)
	_, err = w.Store.PutReadings(ctx, []store.Write{
		{Pipeline: "orders", Reading: sensor.Reading{Key: "source", Period: day, Fields: sensor.Fields{"status": "ready"}}},
		{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Period: day, Fields: sensor.Fields{"count": int64(5000)}}},
	}, w.Now())
	w.Check(err)
	w.Settle()
	return w
}
