package job

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

// TraceHeader is the header of W3C Trace Context. In the environment of a program it is TRACEPARENT.
const TraceHeader = "traceparent"

// Traceparent is the span that ctx belongs to, for a job that continues its trace; "" if nothing is traced.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(TraceHeader)
}
