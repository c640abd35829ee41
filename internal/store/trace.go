package store

import "context"

type traceKey struct{}

// WithTrace makes everything stored with ctx part of a trace, named by a traceparent (W3C Trace
// Context): each change appended, and each attempt step scheduled, carries it. So a trace that
// begins with a write extends to the end of the job that the write starts, across processes and
// restarts. A step that is stored again without a trace keeps its trace. No decision depends on it.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// TraceOf returns the trace of ctx; "" if none.
func TraceOf(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceKey{}).(string)
	return traceparent
}

// Traced reports whether tasks of the kind carry a trace. Timers do not: a fire schedules the next
// one, so its trace would never end.
func (k TaskKind) Traced() bool { return k == Advance || k == AdvanceDry || k == CheckLeft }
