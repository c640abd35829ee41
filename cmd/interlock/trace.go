package main

import (
	"context"
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
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/store"
)

// tracing makes spans of what the controller does: one per request, change and task. Without an OTLP endpoint in the
// environment (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) it does nothing and costs nothing.
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
		resource.Environment()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	if err != nil {
		return nil, fmt.Errorf("set up tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(who))
	return &tracing{tracer: provider.Tracer("github.com/interlock-go/interlock"), stop: provider.Shutdown}, nil
}

// task traces the handler of a kind of task.
func (t *tracing) task(kind store.TaskKind, handle func(context.Context, store.Claim) error) func(context.Context, store.Claim) error {
	return func(ctx context.Context, c store.Claim) error {
		ctx, span := t.tracer.Start(ctx, "task "+string(kind), trace.WithAttributes(
			attribute.String("interlock.pipeline", string(c.Task.Pipeline)), attribute.String("interlock.date", c.Task.Key.Period.String())))
		return ended(span, handle(ctx, c))
	}
}

// change traces the handling of a change.
func (t *tracing) change(handle func(context.Context, store.Change, time.Time) error) func(context.Context, store.Change, time.Time) error {
	return func(ctx context.Context, c store.Change, now time.Time) error {
		ctx, span := t.tracer.Start(ctx, "change "+string(c.Kind), trace.WithAttributes(attribute.String("interlock.pipeline", string(c.Pipeline))))
		return ended(span, handle(ctx, c, now))
	}
}

// requests traces what is asked over HTTP.
func (t *tracing) requests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parent := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(parent, r.Method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", api.LoggedPath(r))))
		defer span.End()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

func ended(span trace.Span, err error) error {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
	return err
}
