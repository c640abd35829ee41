package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
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
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/slamonitor"
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

// target is where jobs run until a test reports their result.
type target struct{}

func (target) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

func (target) Status(context.Context, job.Attempt, run.Handle) (job.Status, error) {
	return job.Status{}, nil
}

// world is a controller behind its API, on a clock that only tests move.
type world struct {
	testing.TB
	store   *memory.Store
	catalog *catalog.Catalog
	router  *router.Router
	steps   *orchestrator.Orchestrator
	monitor *slamonitor.Monitor
	api     *api.API
	server  *httptest.Server
	log     *bytes.Buffer
	token   string // sent along unless empty
	told    int    // how many events tests announced

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// callbacks are the means by which the world's jobs report their results.
var callbacks = signing("one", 1)

// signing is how a replica with such a key gives callbacks.
func signing(replica string, seed byte) api.Callbacks {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return api.Callbacks{Base: "http://127.0.0.1:8740/", Replica: replica, Key: key}
}

// newWorld begins on Tuesday the third of March 2026, ten past nine, with two pipelines. Change alters what the API is
// made of.
func newWorld(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	s := memory.New()
	w := &world{TB: t, store: s, now: time.Date(2026, 3, 3, 9, 10, 0, 0, time.UTC), catalog: catalog.New(s, all.Kinds()), log: &bytes.Buffer{}}
	w.monitor = slamonitor.New(s, w.catalog)
	w.steps = orchestrator.New(orchestrator.Deps{Store: s, Catalog: w.catalog, Replica: "one", Jobs: map[string]job.Type{"command": target{}}})
	w.router = router.New(router.Deps{
		Store: s, Catalog: w.catalog, Deadlines: w.monitor, Jobs: w.steps,
		Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
	})
	w.apply(orders, silver)
	w.settle()
	d := api.Deps{
		Store: s, Catalog: w.catalog, Operator: w.router, Now: w.clock, Alerts: notify.New(notify.Options{Store: s}),
		Settings: api.Settings{Loopback: true, Callbacks: callbacks},
		Logger:   slog.New(slog.NewJSONHandler(&locked{w: w.log}, nil)),
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

// locked is a writer that many may use.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// apply puts exactly these files in force.
func (w *world) apply(files ...string) {
	w.Helper()
	var sources []pipeline.Source
	for i, text := range files {
		sources = append(sources, pipeline.Source{File: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
	}
	_, err := w.catalog.Apply(ctx, catalog.Files{Pipelines: sources}, w.now)
	w.check(err)
}

// settle lets everything happen that is due at this instant.
func (w *world) settle() {
	w.Helper()
	for range 1000 {
		if !w.react() && !w.work() {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

func (w *world) react() bool {
	w.Helper()
	n, _, err := w.store.Backlog(ctx, "router")
	w.check(err)
	if n == 0 {
		return false
	}
	changes, err := w.store.Receive(ctx, "router", "one", 100)
	w.check(err)
	for _, c := range changes {
		w.check(w.router.Handle(ctx, c, w.now))
	}
	w.check(w.store.Done(ctx, "router", changes))
	return true
}

func (w *world) work() bool {
	w.Helper()
	claims, err := w.store.Claim(ctx, store.ClaimQuery{Replica: "one", Limit: 1, Lease: time.Minute}, w.now)
	w.check(err)
	for _, c := range claims {
		if err := w.perform(c); err != nil && !errors.Is(err, store.ErrConflict) {
			w.Fatalf("%s: %v", c.Task.ID, err)
		}
	}
	return len(claims) > 0
}

func (w *world) perform(c store.Claim) error {
	switch c.Task.Kind {
	case store.Advance:
		_, err := w.steps.Step(ctx, c, w.clock)
		return err
	case store.Fire:
		return w.router.Fire(ctx, c, w.now)
	case store.Arm:
		return w.monitor.Arm(ctx, c, w.now)
	case store.FireDeadline:
		return w.monitor.Fire(ctx, c, w.now)
	case store.ReopenPeriods:
		return w.router.Reopen(ctx, c, w.now)
	case store.RunProbe:
		return prober.Drop(ctx, w.store, c, w.now)
	case store.ResumePaused:
		return w.router.ResumeDue(ctx, c, w.now)
	default:
		return fmt.Errorf("nobody here performs tasks of kind %q", c.Task.Kind)
	}
}

// pass lets time go by, task by task.
func (w *world) pass(d time.Duration) {
	w.Helper()
	until := w.now.Add(d)
	for range 10000 {
		next, err := w.store.NextDue(ctx)
		w.check(err)
		done := next.IsZero() || next.After(until)
		w.mu.Lock()
		if done {
			w.now = until
		} else if next.After(w.now) {
			w.now = next
		}
		w.mu.Unlock()
		w.settle()
		if done {
			return
		}
	}
	w.Fatal("it never comes to rest")
}

// reply is what the API answered.
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
	w.check(err)
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
	w.check(err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	w.check(err)
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

// object is the answer, which must be JSON and have that status.
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

// problem fails unless the answer is a whole problem with that status that speaks of all parts.
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
			r.Errorf("nothing is said of %q: %s", part, r.body)
		}
	}
	return p
}

// items is the answer, which must be a list.
func (r reply) items() []map[string]any {
	r.Helper()
	o := r.object(http.StatusOK)
	if _, there := o["nextCursor"]; !there {
		r.Errorf("a list has nextCursor: %s", r.body)
	}
	var items []map[string]any
	list, ok := o["items"].([]any)
	if !ok {
		r.Fatalf("items is no list: %s", r.body)
	}
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// opened is a world on Wednesday ten past eight, when today's run of orders waits.
func opened(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	w := newWorld(t, change...)
	w.pass(23 * time.Hour)
	return w
}

// running is the same with the run's job running.
func running(t testing.TB, change ...func(*api.Deps)) *world {
	t.Helper()
	w := opened(t, change...)
	day, err := period.Parse("2026-03-04")
	w.check(err)
	_, err = w.store.PutReadings(ctx, []store.Write{
		{Pipeline: "orders", Reading: sensor.Reading{Key: "source", Period: day, Fields: sensor.Fields{"status": "ready"}}},
		{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Period: day, Fields: sensor.Fields{"count": int64(5000)}}},
	}, w.now)
	w.check(err)
	w.settle()
	return w
}
