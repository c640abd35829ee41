package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// tracing creates spans for the server's work: one per request, change, task and step.
type tracing struct{ *otlp.Tracing }

func newTracing(getenv func(string) string) (*tracing, error) {
	t, err := otlp.NewTracing(getenv, attribute.String("service.version", version))
	return &tracing{t}, err
}

// task traces the handler of tasks.
func (t *tracing) task(handle func(context.Context, store.Claim) error) func(context.Context, store.Claim) error {
	return func(ctx context.Context, c store.Claim) error {
		ctx, end := t.Task(ctx, c.Task)
		return end(handle(ctx, c))
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
		ctx, end := t.Within(ctx, task.Trace, "wait for the job", append(otlp.Subject(key.Pipeline, key), attribute.Int("interlock.attempt", attempt))...)
		return end(handle(ctx, key, attempt))
	}
}

// change traces the handling of a change.
func (t *tracing) change(handle func(context.Context, store.Change, time.Time) error) func(context.Context, store.Change, time.Time) error {
	return func(ctx context.Context, c store.Change, now time.Time) error {
		ctx, end := t.Change(ctx, c)
		return end(handle(ctx, c, now))
	}
}

// requests traces HTTP requests.
func (t *tracing) requests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := t.Begin(r.Context(), r.Header.Get(job.TraceHeader), r.Method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("url.path", api.LoggedPath(r))))
		defer span.End()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
