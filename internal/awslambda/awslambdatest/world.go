// Package awslambdatest is AWS for tests: the real functions, called with AWS's payloads; the real
// state machine, run by an independent interpreter; and fake services that speak AWS's own
// protocols. The test controls the time: nothing waits for real time or runs concurrently.
package awslambdatest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Tables holds the data of a world.
type Tables interface {
	// Store returns the store that functions and consoles use.
	Store() store.Store
	Streams() awslambda.Streams
	// Batch returns unhandled stream records, or none. Handled removes the first n of them.
	Batch() []json.RawMessage
	Handled(n int)
	// PutSensor writes a row as a producer does, PutFiles those of a deployment.
	PutSensor(id pipeline.ID, key string, fields sensor.Fields, now time.Time) error
	PutFiles(f catalog.Files) error
}

// Options configure a world.
type Options struct {
	Begins time.Time
	Tables func(now func() time.Time) Tables
	Jobs   map[string]job.Type
	// Evaluator asks probes for the orchestrator.
	Evaluator controller.Evaluator
	Watch     time.Duration // between two watchdog passes
	Pulse     time.Duration // between two pulses of the watchdog; a minute if it is not set
	Fault     Fault
	// FileLimit is the most that window and poll window of a file may take together; the time limit
	// of an execution if it is not set.
	FileLimit time.Duration
	// Shuffle reorders and repeats records; those of one pipeline must stay in order.
	Shuffle func(batch []json.RawMessage) []json.RawMessage
	// Machine is the definition of the state machine; that of this version if it is not set.
	Machine []byte
	// Wrong receives the error of every function that fails; if it is nil, the test fails.
	Wrong  func(function string, err error)
	Logger *slog.Logger
	// Tracing sends the spans of the functions.
	Tracing *otlp.Tracing
}

// World is a deployment with its own clock.
type World struct {
	testing.TB
	Tables
	o     Options
	now   time.Time
	cloud *cloud

	running bool
	watched time.Time // when the next watchdog pass is due
	pulsed  time.Time // when the next pulse is due
	drops   int       // number of changes to drop
	trace   []string  // the last calls

	router *awslambda.Router
	steps  *awslambda.Host
	sla    *awslambda.Relay
	watch  *awslambda.Watch
	sink   *awslambda.Sink // nil if the tables list events by themselves
	alerts *awslambda.Dispatcher
	watching
	down map[awslambda.Function]Outage

	// Events are those that the bus has delivered, in order. Poison holds the records that were
	// given up.
	Events []Published
	Poison []json.RawMessage
}

// New returns a deployment without pipelines.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{TB: t, o: o, now: o.Begins, down: map[awslambda.Function]Outage{}}
	w.dead, w.meter = deadLetters{}, &awslambda.Meter{Environment: "test", Now: w.Now, Out: &w.emitted}
	if w.o.Pulse == 0 {
		w.o.Pulse = time.Minute
	}
	if w.o.Wrong == nil {
		w.o.Wrong = func(function string, err error) { t.Errorf("%s at %s: %v", function, w.now.Format(time.DateTime), err) }
	}
	w.Tables = o.Tables(w.Now)
	if w.o.Machine == nil {
		w.o.Machine = current(t)
	}
	w.cloud = newCloud(t, w.Now, newMachine(t, w.o.Machine))
	w.cloud.fault = o.Fault
	w.build()
	return w
}

// Settings of the functions.
const (
	timeLimit  = 4*time.Hour + awslambda.Margin
	startTries = 3
)

// Now returns the world's time.
func (w *World) Now() time.Time { return w.now }

// config is the AWS configuration of the functions. It makes each call once: an error is returned,
// not retried.
func (w *World) config() aws.Config {
	c := awscall.Config(w.environment)
	c.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return c
}

// environment returns an environment variable of the functions.
func (w *World) environment(name string) string {
	return map[string]string{
		"ENVIRONMENT": "test", "EVENT_BUS_NAME": "test-interlock-events", "STATE_MACHINE_ARN": machineARN,
		"ORCHESTRATOR_ARN": orchestratorARN, "STREAM_ROUTER_ARN": streamRouterARN, "SLA_MONITOR_ARN": slaMonitorARN,
		"SCHEDULER_GROUP_NAME": "test-interlock", "SCHEDULER_ROLE_ARN": "arn:aws:iam::123456789012:role/test-interlock-scheduler",
		"SCHEDULER_DLQ_ARN":         "arn:aws:sqs:eu-west-1:123456789012:test-interlock-scheduler-dlq",
		"WATCHDOG_INTERVAL_SECONDS": fmt.Sprint(int(w.o.Watch.Seconds())), "SFN_TIMEOUT_SECONDS": fmt.Sprint(int(timeLimit.Seconds())),
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": w.cloud.URL,
	}[name]
}

// build creates every function as after a cold start: each knows only what is stored.
func (w *World) build() {
	bus := awscall.NewBus(w.config(), w.environment("EVENT_BUS_NAME"))
	w.router = &awslambda.Router{Relay: w.relay(awslambda.StreamRouter), Streams: w.Streams(), Bus: bus}
	w.sla = w.monitor()
	w.watch = awslambda.NewWatch(&awslambda.Router{Relay: w.relay(awslambda.Watchdog), Streams: w.Streams(), Bus: bus})
	w.steps = awslambda.NewHost(w.parts(awslambda.Orchestrator))
	if log, is := w.only(dynamo.Events, awslambda.EventSink).(awslambda.EventLog); is {
		w.sink = &awslambda.Sink{Log: log}
	}
	w.alerts = w.dispatcher()
	w.cloud.calls["test-interlock-orchestrator"] = w.orchestrator
	w.cloud.calls[orchestratorARN] = w.orchestrator
}

// only returns the store of a function that may use only one table.
func (w *World) only(table string, f awslambda.Function) store.Store {
	if tables, is := w.Tables.(interface {
		Only(table string, f awslambda.Function) store.Store
	}); is {
		return tables.Only(table, f)
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
	p := awslambda.Parts{Settings: settings, Store: w.Store(), Catalog: catalog.New(w.Store(), all.Kinds()).On(pipeline.AWS, cmp.Or(w.o.FileLimit, settings.TimeLimit), settings.Offers()), Now: w.Now, Logger: logger}
	p.Meter, p.Tracing = w.meter, w.o.Tracing
	if f == awslambda.SLAMonitor {
		p.Store = w.only(dynamo.Control, f)
	}
	if f == awslambda.Orchestrator || f == awslambda.SLAMonitor {
		p.Narrow = awslambda.NewNarrow(p.Store)
		p.Catalog = catalog.New(p.Narrow, all.Kinds())
	}
	switch f {
	case awslambda.Orchestrator:
		p.Jobs, p.Evaluator = w.o.Jobs, w.o.Evaluator
	case awslambda.StreamRouter, awslambda.Watchdog:
		orchestrator := awslambda.Jobs{Invoker: awscall.NewInvoker(w.config()), Orchestrator: settings.Orchestrator}
		p.Remote, p.Evaluator = orchestrator, orchestrator
		if tables, is := w.Store().(*dynamo.Store); is {
			p.Overview = tables
		}
	}
	return p
}

// monitor returns the sla-monitor, which only creates schedules.
func (w *World) monitor() *awslambda.Relay {
	p := w.parts(awslambda.SLAMonitor)
	return &awslambda.Relay{Host: awslambda.NewHost(p), Entries: awscall.NewEntries(w.config(), p.SchedulerGroup, p.SchedulerRole, p.SchedulerDead)}
}

func (w *World) relay(f awslambda.Function) *awslambda.Relay {
	p, c := w.parts(f), w.config()
	return &awslambda.Relay{
		Host:       awslambda.NewHost(p),
		Executions: awscall.NewExecutions(c, p.StateMachine, awslambda.ErrSpent),
		Entries:    awscall.NewEntries(c, p.SchedulerGroup, p.SchedulerRole, p.SchedulerDead),
		Invoker:    awscall.NewInvoker(c),
	}
}

// Start lets streams, schedules and executions work; Stop makes them wait.
func (w *World) Start() {
	w.build()
	w.running, w.pulsed = true, w.now.Add(w.o.Pulse)
	w.Settle()
	w.runWatchdog()
}

// Stop pauses streams, schedules and executions.
func (w *World) Stop() { w.running = false }

// Restart rebuilds the functions, as Lambda does after one has died: they know only what is stored.
func (w *World) Restart() { w.build() }

// current returns the state machine of this version.
func current(t testing.TB) []byte {
	return Definition(t, "statemachine.asl.json", int(timeLimit.Seconds()), startTries)
}

// Previous returns the state machine of the last release.
func Previous(t testing.TB) []byte {
	return Definition(t, "statemachine-test/previous.asl.json", int(timeLimit.Seconds()), startTries)
}

// Upgrade deploys the state machine of this version. Executions under way keep their definition.
func (w *World) Upgrade() {
	w.Restart()
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	if err := w.cloud.machine.send(command{Machine: current(w)}); err != nil {
		w.Fatal(err)
	}
}

// Abort ends all executions, as an operator can.
func (w *World) Abort() {
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	for name, input := range w.cloud.machine.names {
		if input == "" {
			continue
		}
		if err := w.cloud.machine.send(command{Abort: name}); err != nil {
			w.Fatal(err)
		}
	}
}
