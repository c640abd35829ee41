package otlp

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// encode converts spans to TracesData, which has the wire format of an export request. All spans of
// a process have one resource and one scope.
func encode(spans []sdktrace.ReadOnlySpan) *tracepb.TracesData {
	first := spans[0]
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: first.InstrumentationScope().Name, Version: first.InstrumentationScope().Version}}
	for _, s := range spans {
		scope.Spans = append(scope.Spans, encodeSpan(s))
	}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: attributes(first.Resource().Attributes())}, ScopeSpans: []*tracepb.ScopeSpans{scope},
	}}}
}

func encodeSpan(s sdktrace.ReadOnlySpan) *tracepb.Span {
	id, traceID := s.SpanContext().SpanID(), s.SpanContext().TraceID()
	span := &tracepb.Span{
		TraceId: traceID[:], SpanId: id[:], TraceState: s.SpanContext().TraceState().String(), Flags: uint32(s.SpanContext().TraceFlags()),
		Name: s.Name(), Kind: kind(s.SpanKind()), StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		Attributes: attributes(s.Attributes()), Status: status(s.Status()),
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		span.ParentSpanId = parent[:]
	}
	for _, l := range s.Links() {
		id, traceID := l.SpanContext.SpanID(), l.SpanContext.TraceID()
		span.Links = append(span.Links, &tracepb.Span_Link{TraceId: traceID[:], SpanId: id[:], Attributes: attributes(l.Attributes)})
	}
	return span
}

// kind converts a kind of span: the API's numbers are those of the protocol.
func kind(k trace.SpanKind) tracepb.Span_SpanKind {
	return tracepb.Span_SpanKind(max(k, trace.SpanKindInternal))
}

func status(s sdktrace.Status) *tracepb.Status {
	switch s.Code {
	case codes.Error:
		return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Description}
	case codes.Ok:
		return &tracepb.Status{Code: tracepb.Status_STATUS_CODE_OK}
	case codes.Unset:
	}
	return &tracepb.Status{}
}

func attributes(all []attribute.KeyValue) []*commonpb.KeyValue {
	var encoded []*commonpb.KeyValue
	for _, a := range all {
		encoded = append(encoded, &commonpb.KeyValue{Key: string(a.Key), Value: value(a.Value)})
	}
	return encoded
}

// value encodes the attribute types that Interlock and the SDK use; any other becomes a string.
func value(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v.AsString()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: fmt.Sprint(v.AsInterface())}}
}
