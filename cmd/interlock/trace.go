package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// tracing creates spans for the controller's work: one per request, change, task and step. Without
// an OTLP endpoint in the environment (OTEL_EXPORTER_OTLP_ENDPOINT,
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) it exports none. It then only propagates the trace of each
// request, through the store, to the jobs.
type tracing struct {
	tracer trace.Tracer
	stop   func(context.Context) error
}

func newTracing(getenv func(string) string) (*tracing, error) {
	config, on, err := otlp.FromEnvironment(getenv)
	if err != nil {
		return nil, err
	}
	if !on {
		return &tracing{tracer: noop.NewTracerProvider().Tracer(""), stop: func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlp.New(config)
	if err != nil {
		return nil, err
	}
	who, err := resource.Merge(
		resource.NewSchemaless(attribute.String("service.name", "interlock"), attribute.String("service.version", version)),
		resource.Environment()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(who), sdktrace.WithSampler(config.Sampler))
	return &tracing{tracer: provider.Tracer("github.com/interlock-go/interlock"), stop: provider.Shutdown}, nil
}

// begin starts a span that continues parent's trace, if there is one. Anything stored with the
// returned context carries the span on to later work.
func (t *tracing) begin(ctx context.Context, parent, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{job.TraceHeader: parent})
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return store.WithTrace(ctx, job.Traceparent(ctx)), span
}

// task traces the handler of a kind of task. All steps of an attempt, and the work they cause, are
// siblings: their parent is the span that opened or woke the attempt.
func (t *tracing) task(kind store.TaskKind, handle func(context.Context, store.Claim) error) func(context.Context, store.Claim) error {
	return func(ctx context.Context, c store.Claim) error {
		ctx, span := t.begin(ctx, c.Task.Trace, "task "+string(kind), trace.WithAttributes(subject(c.Task.Pipeline, c.Task.Key)...))
		if c.Task.Trace != "" {
			ctx = store.WithTrace(ctx, c.Task.Trace)
		}
		return ended(span, handle(ctx, c))
	}
}

// await traces the wait for a job's end, in the trace of its attempt.
func (t *tracing) await(tasks interface {
	Task(ctx context.Context, id string) (store.Task, error)
}, handle func(context.Context, run.Key, int) error,
) func(context.Context, run.Key, int) error {
	return func(ctx context.Context, key run.Key, attempt int) error {
		task, err := tasks.Task(ctx, lifecycle.TaskID(key))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ctx, span := t.begin(ctx, task.Trace, "wait for the job", trace.WithAttributes(
			append(subject(key.Pipeline, key), attribute.Int("interlock.attempt", attempt))...))
		if task.Trace != "" {
			ctx = store.WithTrace(ctx, task.Trace)
		}
		return ended(span, handle(ctx, key, attempt))
	}
}

// change traces the handling of a change.
func (t *tracing) change(handle func(context.Context, store.Change, time.Time) error) func(context.Context, store.Change, time.Time) error {
	return func(ctx context.Context, c store.Change, now time.Time) error {
		attributes := subject(c.Pipeline, c.Run)
		if c.Kind == store.ReadingWritten {
			attributes = append(attributes, attribute.String("interlock.sensor", string(c.Sensor)))
		}
		ctx, span := t.begin(ctx, c.Trace, "change "+string(c.Kind), trace.WithAttributes(attributes...))
		return ended(span, handle(ctx, c, now))
	}
}

// step traces part of a task: a step of an attempt, or the start of its job.
func (t *tracing) step(ctx context.Context, name string, r run.Run) (context.Context, func(error)) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(append(subject(r.Pipeline, r.Key), attribute.Int("interlock.attempt", r.Attempt))...))
	return ctx, func(err error) { _ = ended(span, err) }
}

// requests traces HTTP requests.
func (t *tracing) requests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := t.begin(r.Context(), r.Header.Get(job.TraceHeader), r.Method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", api.LoggedPath(r))))
		defer span.End()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// subject returns the attributes for a pipeline and, if there is one, its run.
func subject(id pipeline.ID, key run.Key) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("interlock.pipeline", string(id))}
	if key != (run.Key{}) {
		all = append(all, attribute.String("interlock.schedule", string(key.Schedule)), attribute.String("interlock.date", key.Period.String()))
	}
	return all
}

func ended(span trace.Span, err error) error {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
	return err
}
