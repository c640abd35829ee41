// Package wire assembles the functions. Every function begins with its settings, its log and its
// tables; the linker omits whatever a function does not call.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"go.opentelemetry.io/otel/attribute"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Base is what every function has.
type Base struct {
	awslambda.Settings
	AWS    aws.Config
	Store  *dynamo.Store
	Logger *slog.Logger
	Meter  *awslambda.Meter
	Traces *otlp.Tracing
}

// Begin reads the environment. If the settings are invalid, it logs why and exits.
func Begin(f awslambda.Function) Base {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil)).With("function", string(f))
	settings, err := awslambda.Read(f, os.Getenv)
	if err != nil {
		logger.Error("cannot begin", "error", err)
		os.Exit(1)
	}
	c := awscall.Config(os.Getenv)
	meter := &awslambda.Meter{Environment: settings.Environment, Out: os.Stdout, Now: time.Now}
	return Base{Settings: settings, AWS: c, Logger: logger, Meter: meter, Store: dynamo.New(c, settings.Environment, dynamo.Options{KeepEvents: settings.EventsKept})}
}

// BeginTraced is Begin for a function that sends spans where the OTEL_* variables say. If they are
// invalid it works without them.
func BeginTraced(f awslambda.Function) Base {
	b := Begin(f)
	traces, err := otlp.NewTracing(os.Getenv, attribute.String("faas.name", string(f)))
	if err != nil {
		b.Logger.Error("no traces are sent", "error", err)
		traces = otlp.Off()
	}
	b.Traces = traces
	return b
}

// Must logs err and exits, unless err is nil.
func (b Base) Must(err error) {
	if err != nil {
		b.Logger.Error("cannot begin", "error", err)
		os.Exit(1)
	}
}

// Serve answers calls with a handler until Lambda ends the function.
func Serve(handler any) { lambda.Start(handler) }

// Serve sends the spans of a call before its answer: Lambda then freezes the function.
func (b Base) Serve(handler any) { lambda.Start(flushing{lambda.NewHandler(handler), b}) }

// flushing is a handler whose spans are sent.
type flushing struct {
	lambda.Handler
	Base
}

const (
	flushWithin = 2 * time.Second        // how long an answer may wait for the collector
	answerTime  = 500 * time.Millisecond // what is left of a call for its answer
)

func (f flushing) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := f.Handler.Invoke(ctx, payload)
	within := flushWithin
	if end, limited := ctx.Deadline(); limited {
		within = min(within, time.Until(end)-answerTime)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if unsent := f.Traces.Flush(ctx); unsent != nil {
		f.Logger.Warn("spans were not sent", "error", unsent)
	}
	return answer, err
}

// Monitor returns the sla-monitor. It is called about the deadlines of one pipeline at a time, and
// neither starts executions nor polls jobs.
func Monitor(b Base) *awslambda.Relay {
	some := awslambda.NewNarrow(b.Store)
	return &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: b.Settings, Store: b.Store, Narrow: some, Catalog: catalog.New(some, all.Kinds()), Now: time.Now, Logger: b.Logger,
			Meter: b.Meter, Tracing: b.Traces,
		}),
		Entries: awscall.NewEntries(b.AWS, b.SchedulerGroup, b.SchedulerRole, b.SchedulerDead),
	}
}

// relay returns the common part of the functions that handle all pipelines. Its clients are built
// once, at the cold start.
func relay(b Base) *awslambda.Relay {
	invoker := awscall.NewInvoker(b.AWS)
	orchestrator := awslambda.Jobs{Invoker: invoker, Orchestrator: b.Orchestrator}
	return &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: b.Settings, Store: b.Store, Catalog: catalog.New(b.Store, all.Kinds()).On(pipeline.AWS, b.TimeLimit, b.Offers()), Now: time.Now, Logger: b.Logger,
			Remote: orchestrator, Evaluator: orchestrator, Meter: b.Meter, Tracing: b.Traces, Overview: b.Store,
		}),
		Executions: awscall.NewExecutions(b.AWS, b.StateMachine, awslambda.ErrSpent),
		Entries:    awscall.NewEntries(b.AWS, b.SchedulerGroup, b.SchedulerRole, b.SchedulerDead),
		Invoker:    invoker,
	}
}

// Router returns the stream-router, which is also the base of the watchdog.
func Router(b Base) *awslambda.Router {
	return &awslambda.Router{Relay: relay(b), Streams: awslambda.Tables{Store: b.Store}, Bus: awscall.NewBus(b.AWS, b.Bus)}
}

// Watchdog returns the watchdog, with its heartbeat if one is set.
func Watchdog(b Base) *awslambda.Watch {
	w := awslambda.NewWatch(Router(b))
	if b.Heartbeat != "" {
		guard, err := egress.New(b.EgressAllow)
		b.Must(err)
		w.Beat = func(ctx context.Context) error { return beat(ctx, guard.Client(answerWithin), b.Heartbeat) }
	}
	return w
}

// beat pings a URL. The URL may contain a token, so errors do not include it.
func beat(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return errors.New("heartbeat_url cannot be used")
	}
	answer, err := client.Do(r)
	if err != nil {
		return errors.New("send the heartbeat: no answer")
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("send the heartbeat: answered %s", answer.Status)
	}
	return nil
}
