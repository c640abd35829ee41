package otlp

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Tracing creates spans for the controller's work. Without an OTLP endpoint in the environment
// (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) it exports none. It then only
// propagates the trace of each change, through the store, to the jobs.
type Tracing struct {
	trace.Tracer
	provider *sdktrace.TracerProvider // nil: nothing is exported
}

// Off returns a Tracing that exports nothing.
func Off() *Tracing { return &Tracing{Tracer: noop.NewTracerProvider().Tracer("")} }

// NewTracing reads the environment. who are attributes of the process; OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES override them.
func NewTracing(getenv func(string) string, who ...attribute.KeyValue) (*Tracing, error) {
	config, on, err := FromEnvironment(getenv)
	if err != nil {
		return nil, err
	}
	if !on {
		return Off(), nil
	}
	exporter, err := New(config)
	if err != nil {
		return nil, err
	}
	all, err := resource.Merge(resource.NewSchemaless(append(who, attribute.String("service.name", "interlock"))...), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(all), sdktrace.WithSampler(config.Sampler))
	return &Tracing{Tracer: provider.Tracer("github.com/interlock-go/interlock"), provider: provider}, nil
}

// Exports reports whether spans are sent.
func (t *Tracing) Exports() bool { return t.provider != nil }

// Flush sends the spans that have ended.
func (t *Tracing) Flush(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Stop sends the spans that have ended, and records no more.
func (t *Tracing) Stop(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Begin starts a span that continues parent's trace, if there is one. Anything stored with the
// returned context carries the span on to later work.
func (t *Tracing) Begin(ctx context.Context, parent, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{job.TraceHeader: parent})
	}
	ctx, span := t.Start(ctx, name, options...)
	return store.WithTrace(ctx, job.Traceparent(ctx)), span
}

// Task starts the span of a task, and returns the function that ends it and returns its error. All
// steps of an attempt, and the work they cause, are siblings: their parent is the span that opened or
// woke the attempt.
func (t *Tracing) Task(ctx context.Context, of store.Task) (context.Context, func(error) error) {
	return t.Within(ctx, of.Trace, "task "+string(of.Kind), Subject(of.Pipeline, of.Key)...)
}

// Within starts a span in a trace. What is stored with the returned context becomes its sibling.
func (t *Tracing) Within(ctx context.Context, parent, name string, attributes ...attribute.KeyValue) (context.Context, func(error) error) {
	ctx, span := t.Begin(ctx, parent, name, trace.WithAttributes(attributes...))
	if parent != "" {
		ctx = store.WithTrace(ctx, parent)
	}
	return ctx, ends(span)
}

// Change starts the span of handling a change, as Task does.
func (t *Tracing) Change(ctx context.Context, c store.Change) (context.Context, func(error) error) {
	attributes := Subject(c.Pipeline, c.Run)
	if c.Kind == store.ReadingWritten {
		attributes = append(attributes, attribute.String("interlock.sensor", string(c.Sensor)))
	}
	ctx, span := t.Begin(ctx, c.Trace, "change "+string(c.Kind), trace.WithAttributes(attributes...))
	return ctx, ends(span)
}

// Step starts the span of a part of a task: a step of an attempt, or the start of its job.
func (t *Tracing) Step(ctx context.Context, name string, r run.Run) (context.Context, func(error)) {
	ctx, span := t.Start(ctx, name, trace.WithAttributes(append(Subject(r.Pipeline, r.Key), attribute.Int("interlock.attempt", r.Attempt))...))
	end := ends(span)
	return ctx, func(err error) { _ = end(err) }
}

// Subject returns the attributes for a pipeline and, if there is one, its run.
func Subject(id pipeline.ID, key run.Key) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("interlock.pipeline", string(id))}
	if key != (run.Key{}) {
		all = append(all, attribute.String("interlock.schedule", string(key.Schedule)), attribute.String("interlock.date", key.Period.String()))
	}
	return all
}

func ends(span trace.Span) func(error) error {
	return func(err error) error {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
		return err
	}
}
