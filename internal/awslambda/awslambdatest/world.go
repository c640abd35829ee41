// Package awslambdatest is AWS for tests: the real functions, called with the payloads that AWS calls them with; the real state
// machine, played by an independent interpreter; and services that speak AWS's own protocols. Time is the test's: nothing
// waits for it, and nothing happens beside it.
package awslambdatest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/awslambda/awsconfig"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Tables are where a world keeps its data.
type Tables interface {
	// Store is the tables as functions and consoles use them.
	Store() store.Store
	Streams() awslambda.Streams
	// Batch gives records that were not handled yet, as the streams do; none if there are none. Handled is told how many of
	// them need not come again.
	Batch() []json.RawMessage
	Handled(n int)
	// PutSensor writes a row as a producer does, PutFiles those of a deployment.
	PutSensor(id pipeline.ID, key string, fields sensor.Fields, now time.Time) error
	PutFiles(f catalog.Files) error
}

// Options are how a world is.
type Options struct {
	Begins time.Time
	Tables func(now func() time.Time) Tables
	Jobs   map[string]job.Type
	Watch  time.Duration // between two passes of the watchdog
	Fault  Fault
	// FileLimit is how long window and poll window of a file may take together; as long as an execution unless it is set.
	FileLimit time.Duration
	// Shuffle changes the order in which records come, and how often; those of one pipeline stay in order.
	Shuffle func(batch []json.RawMessage) []json.RawMessage
	// Wrong is told of every function that fails; unless it is given, the test fails.
	Wrong  func(function string, err error)
	Logger *slog.Logger
}

// World is a deployment, and the time in it.
type World struct {
	testing.TB
	Tables
	o     Options
	now   time.Time
	cloud *cloud

	running bool
	watched time.Time // when the watchdog looks next
	drops   int       // changes that are to be lost
	trace   []string  // of the last calls

	router *awslambda.Router
	steps  *awslambda.Host
	sla    *awslambda.Relay
	watch  *awslambda.Watch
	sink   *awslambda.Sink // nil where the tables list events by themselves

	// Events are those that the bus has carried, in order. Poison is what was given up.
	Events []Published
	Poison []json.RawMessage
}

// New is a deployment without pipelines.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{TB: t, o: o, now: o.Begins}
	if w.o.Wrong == nil {
		w.o.Wrong = func(function string, err error) { t.Errorf("%s at %s: %v", function, w.now.Format(time.DateTime), err) }
	}
	w.Tables = o.Tables(w.Now)
	w.cloud = newCloud(t, w.Now, newMachine(t, Definition(t, int(timeLimit.Seconds()), startTries)))
	w.cloud.fault = o.Fault
	w.build()
	return w
}

// How the functions are set.
const (
	timeLimit  = 4*time.Hour + awslambda.Margin
	startTries = 3
)

// Now is the time.
func (w *World) Now() time.Time { return w.now }

// config is AWS as the functions find it. A call is made once: what fails is told at once, and not tried again until it works.
func (w *World) config() aws.Config {
	c := awsconfig.New(w.environment)
	c.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return c
}

// environment is what the functions are given.
func (w *World) environment(name string) string {
	return map[string]string{
		"ENVIRONMENT": "test", "EVENT_BUS_NAME": "test-interlock-events", "STATE_MACHINE_ARN": machineARN,
		"ORCHESTRATOR_ARN": orchestratorARN, "STREAM_ROUTER_ARN": streamRouterARN, "SLA_MONITOR_ARN": slaMonitorARN,
		"SCHEDULER_GROUP_NAME": "test-interlock", "SCHEDULER_ROLE_ARN": "arn:aws:iam::123456789012:role/test-interlock-scheduler",
		"WATCHDOG_INTERVAL_SECONDS": fmt.Sprint(int(w.o.Watch.Seconds())), "SFN_TIMEOUT_SECONDS": fmt.Sprint(int(timeLimit.Seconds())),
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": w.cloud.URL,
	}[name]
}

// build makes every function as if it had just started: each knows nothing but what is stored.
func (w *World) build() {
	bus := awscall.NewBus(w.config(), w.environment("EVENT_BUS_NAME"))
	w.router = &awslambda.Router{Relay: w.relay(awslambda.StreamRouter), Streams: w.Streams(), Bus: bus}
	w.sla = w.monitor()
	w.watch = awslambda.NewWatch(&awslambda.Router{Relay: w.relay(awslambda.Watchdog), Streams: w.Streams(), Bus: bus})
	w.steps = awslambda.NewHost(w.parts(awslambda.Orchestrator))
	if log, is := w.only(dynamo.Events).(awslambda.EventLog); is {
		w.sink = &awslambda.Sink{Log: log}
	}
	w.cloud.calls["test-interlock-orchestrator"] = w.orchestrator
	w.cloud.calls[orchestratorARN] = w.orchestrator
}

// only is the data as a function has it that may use one table alone.
func (w *World) only(table string) store.Store {
	if tables, is := w.Tables.(interface {
		Only(table string) store.Store
	}); is {
		return tables.Only(table)
	}
	return w.Store()
}

func (w *World) parts(f awslambda.Function) awslambda.Parts {
	settings, err := awslambda.Read(f, w.environment)
	if err != nil {
		w.Fatal(err)
	}
	logger := w.o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	p := awslambda.Parts{Settings: settings, Store: w.Store(), Catalog: catalog.New(w.Store(), all.Kinds()).On(pipeline.AWS, cmp.Or(w.o.FileLimit, settings.TimeLimit)), Now: w.Now, Logger: logger}
	if f == awslambda.SLAMonitor {
		p.Store = w.only(dynamo.Control)
	}
	if f == awslambda.Orchestrator || f == awslambda.SLAMonitor {
		p.Narrow = awslambda.NewNarrow(p.Store)
		p.Catalog = catalog.New(p.Narrow, all.Kinds())
	}
	switch f {
	case awslambda.Orchestrator:
		p.Jobs = w.o.Jobs
	case awslambda.StreamRouter, awslambda.Watchdog:
		p.Remote = awslambda.Jobs{Invoker: awscall.NewInvoker(w.config()), Orchestrator: settings.Orchestrator}
	}
	return p
}

// monitor is the sla-monitor: it makes entries, and nothing else.
func (w *World) monitor() *awslambda.Relay {
	p := w.parts(awslambda.SLAMonitor)
	return &awslambda.Relay{Host: awslambda.NewHost(p), Entries: awscall.NewEntries(w.config(), p.SchedulerGroup, p.SchedulerRole)}
}

func (w *World) relay(f awslambda.Function) *awslambda.Relay {
	p, c := w.parts(f), w.config()
	return &awslambda.Relay{
		Host:       awslambda.NewHost(p),
		Executions: awscall.NewExecutions(c, p.StateMachine, awslambda.ErrSpent),
		Entries:    awscall.NewEntries(c, p.SchedulerGroup, p.SchedulerRole),
		Invoker:    awscall.NewInvoker(c),
	}
}

// Start has everything work, Stop nothing: streams, entries and executions wait.
func (w *World) Start() {
	w.build()
	w.running = true
	w.Settle()
	w.look()
}

// Stop is the opposite.
func (w *World) Stop() { w.running = false }

// Restart makes the functions anew, as Lambda does after one has died: they know nothing but what is stored.
func (w *World) Restart() { w.build() }

// Abort ends all executions, as a person may.
func (w *World) Abort() {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	for name, input := range w.cloud.machine.names {
		if input == "" {
			continue
		}
		if err := w.cloud.machine.tell(command{Abort: name}); err != nil {
			w.Fatal(err)
		}
	}
}

// Executions are the names of all that were started.
func (w *World) Executions() []string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return slices.Sorted(maps.Keys(w.cloud.machine.names))
}

// Ended are how executions ended, by name.
func (w *World) Ended() map[string]string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	all := map[string]string{}
	for _, e := range w.cloud.machine.Ended {
		all[e.Execution] = e.Status
	}
	return all
}

// Entries are the names of the entries of Scheduler that are there.
func (w *World) Entries() []string {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return slices.Sorted(maps.Keys(w.cloud.entries))
}

// Called is how often an operation of AWS was called.
func (w *World) Called(operation string) int {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	return w.cloud.counts[operation]
}

// Orchestrate calls the orchestrator as the state machine does.
func (w *World) Orchestrate(in awslambda.OrchestratorRequest) (awslambda.OrchestratorReply, error) {
	return w.steps.Orchestrate(context.Background(), in)
}

// Deadlines calls the sla-monitor.
func (w *World) Deadlines(in awslambda.SLARequest) (awslambda.SLAReply, error) {
	return w.sla.Deadlines(context.Background(), in)
}

// Route calls the stream-router with a payload, which is read as the streams of those tables are.
func (w *World) Route(streams awslambda.Streams, payload string) (string, error) {
	r := *w.router
	r.Streams = streams
	answer, err := r.Route(context.Background(), json.RawMessage(payload))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(answer)
	return string(text), err
}

// Lose has the next change that a record tells of never reach the router.
func (w *World) Lose() { w.drops++ }

// AdvanceTo lets time pass up to an instant, with all that follows from it.
func (w *World) AdvanceTo(at time.Time) {
	for w.running {
		w.Settle()
		next := at
		for _, other := range []time.Time{w.cloud.next(), w.watched} {
			if !other.IsZero() && other.Before(next) {
				next = other
			}
		}
		if next.After(w.now) {
			w.now = next
		}
		w.tick()
		w.Settle()
		if !w.now.Before(w.watched) {
			w.look()
		}
		if !w.now.Before(at) {
			return
		}
	}
	if at.After(w.now) {
		w.now = at
	}
}

// tick fires what is due: timers of executions, and entries.
func (w *World) tick() {
	w.cloud.mu.Lock()
	err := w.cloud.machine.move(w.now)
	w.cloud.mu.Unlock()
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range w.cloud.due(w.now) {
		if _, err := w.invoke(e.target, []byte(e.input)); err != nil && e.tries < 5 {
			w.cloud.again(e, w.now.Add(time.Minute))
		}
	}
}

// carry brings what was published to the event-sink, as the bus does.
func (w *World) carry() {
	for _, e := range w.cloud.takeBus() {
		w.Events = append(w.Events, e)
		if w.sink == nil {
			continue
		}
		d := awslambda.Delivered{
			ID: "7bf73129-1428-4cd3-a780-95db273d1602", Source: e.Source, Type: e.DetailType, Resources: e.Resources, Detail: json.RawMessage(e.Detail),
			Time: time.Unix(int64(e.Time), 0).UTC().Format(time.RFC3339),
		}
		w.kept(d)
	}
}

// kept calls the event-sink up to three times, as Lambda does where nobody waits for the answer.
func (w *World) kept(d awslambda.Delivered) {
	for range 3 {
		err := w.sink.Keep(context.Background(), d)
		if err == nil {
			return
		}
		w.o.Wrong("event-sink", err)
		w.buried()
	}
}

// Settle does all that is due at this instant.
func (w *World) Settle() {
	for n := 0; w.running && (w.streamed() || w.sent() || w.called()); n++ {
		if n == restless {
			w.Fatalf("nothing comes to rest at %s; the last calls were:\n%s", w.now.Format(time.DateTime), strings.Join(w.trace, "\n"))
		}
	}
}

// restless is how much may follow from one instant, and traced how many calls are remembered.
const (
	restless = 2000
	traced   = 20
)

// note remembers a call, and forgets an old one.
func (w *World) note(function string, payload, answer []byte, err error) {
	line := fmt.Sprintf("%s %s → %s %v", function[strings.LastIndex(function, ":")+1:], payload, answer, err)
	w.trace = append(w.trace, line[:min(len(line), 1000)])
	w.trace = w.trace[max(0, len(w.trace)-traced):]
}

func (w *World) look() {
	w.watched = w.now.Add(w.o.Watch)
	if _, err := w.watch.Round(context.Background()); err != nil {
		w.o.Wrong("watchdog", err)
	}
	w.buried()
	w.carry()
	w.Settle()
}

// maxTries is how often a stream brings a record again before it gives up.
const maxTries = 4

// streamed has a batch of records handled, if there is one.
func (w *World) streamed() bool {
	batch := w.Batch()
	if len(batch) == 0 {
		return false
	}
	if w.drops > 0 {
		if batch = batch[:1]; w.lost(batch[0]) {
			w.Handled(1)
			return true
		}
	}
	for try := 1; ; try++ {
		n := w.deliver(w.shuffled(batch), batch)
		w.Handled(n)
		if n == len(batch) {
			return true
		}
		batch = batch[n:]
		if try == maxTries {
			w.Poison = append(w.Poison, batch[0])
			w.Handled(1)
			return true
		}
	}
}

// lost says whether a record tells of the change that is to be lost. Of a producer's row the reading is kept.
func (w *World) lost(text json.RawMessage) bool {
	f, err := w.Streams().Facts(read(w, text))
	if err != nil || f.Change == nil && f.Sensor == nil {
		return false
	}
	if f.Sensor != nil {
		c, err := w.Streams().Take(context.Background(), *f.Sensor)
		if err != nil {
			w.Fatal(err)
		}
		if c == nil {
			return true // its change has a record of its own
		}
	}
	w.drops--
	return true
}

func read(t testing.TB, text json.RawMessage) awslambda.Record {
	t.Helper()
	var r awslambda.Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *World) shuffled(batch []json.RawMessage) []json.RawMessage {
	if w.o.Shuffle == nil {
		return batch
	}
	return w.o.Shuffle(batch)
}

// deliver calls the stream-router with records, and says how many of a batch it has handled before the first that it has not.
func (w *World) deliver(records, batch []json.RawMessage) int {
	payload, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		w.Fatal(err)
	}
	out, err := w.invoke(streamRouterARN, payload)
	w.carry()
	if err != nil {
		return 0
	}
	var answer events.DynamoDBEventResponse
	if err := json.Unmarshal(out, &answer); err != nil {
		w.Fatal(err)
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
		w.o.Wrong("stream-router", fmt.Errorf("record %s failed", f.ItemIdentifier))
	}
	for i, text := range batch {
		if failed[read(w, text).Change.Sequence] {
			return i
		}
	}
	return len(batch)
}

// sent has a call carried out that nobody waits for.
func (w *World) sent() bool {
	m, there := w.cloud.takeSent()
	if there {
		_, _ = w.invoke(m.function, m.payload)
	}
	return there
}

// called has a task of an execution carried out.
func (w *World) called() bool {
	w.cloud.mu.Lock()
	c, there := w.cloud.machine.take()
	w.cloud.mu.Unlock()
	if !there {
		return false
	}
	out, err := w.invoke(c.Resource, c.Input)
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	if err := w.cloud.machine.answer(c, out, asFailure(err)); err != nil {
		w.Fatal(err)
	}
	return true
}

// asFailure is an error as Lambda tells it.
func asFailure(err error) *failure {
	if err == nil {
		return nil
	}
	kind := reflect.TypeOf(err)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	message, _ := json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": kind.Name()})
	return &failure{Name: kind.Name(), Message: string(message)}
}

// buried makes functions anew that were killed, and says whether there were any.
func (w *World) buried() bool {
	mortal, is := w.Tables.(interface{ Died() bool })
	if !is || !mortal.Died() {
		return false
	}
	w.Restart()
	return true
}

// invoke calls a function with a payload.
func (w *World) invoke(function string, payload []byte) ([]byte, error) {
	var out []byte
	var err error
	switch function {
	case streamRouterARN:
		out, err = w.routed(payload)
	case orchestratorARN:
		out, err = w.orchestrator(payload)
	case slaMonitorARN:
		out, err = handled(payload, w.sla.Deadlines)
	default:
		err = fmt.Errorf("there is no function %s", function)
	}
	if w.buried() {
		out, err = nil, ErrKilled
	}
	w.note(function, payload, out, err)
	if err != nil {
		w.o.Wrong(function, err)
	}
	return out, err
}

func (w *World) orchestrator(payload []byte) ([]byte, error) {
	return handled(payload, w.steps.Orchestrate)
}

func (w *World) routed(payload []byte) ([]byte, error) {
	answer, err := w.router.Route(context.Background(), payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// handled calls a handler as Lambda does.
func handled[In, Out any](payload []byte, handle func(context.Context, In) (Out, error)) ([]byte, error) {
	var in In
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	out, err := handle(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
