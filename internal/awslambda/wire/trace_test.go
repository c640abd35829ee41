package wire

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/interlock-go/interlock/internal/otlp"
	"github.com/interlock-go/interlock/internal/otlp/otlptest"
)

// traced is a handler that makes one span, and sends it to a collector.
func traced(t *testing.T, endpoint string, more map[string]string) flushing {
	t.Helper()
	tracing, err := otlp.NewTracing(func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return endpoint
		}
		return more[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return flushing{lambda.NewHandler(func(ctx context.Context) (string, error) {
		_, span := tracing.Begin(ctx, "", "a call")
		span.End()
		return "done", nil
	}), Base{Traces: tracing, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}}
}

func TestSpansAreSentBeforeTheAnswer(t *testing.T) {
	for name, want := range map[string]int{"": 1, "OTEL_SDK_DISABLED": 0} {
		collector := otlptest.NewReceiver(t)
		answer, err := traced(t, collector.URL, map[string]string{name: "true"}).Invoke(t.Context(), []byte("{}"))
		if err != nil || string(answer) != `"done"` {
			t.Errorf("answered %s, %v", answer, err)
		}
		if got := collector.Traces(); len(got) != want {
			t.Errorf("with %s: traces %v, want %d", name, got, want)
		}
	}
}

func TestCollectorThatHangsDelaysNoAnswerBeyondItsCall(t *testing.T) {
	free := make(chan struct{})
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-free }))
	t.Cleanup(collector.Close)
	t.Cleanup(func() { close(free) })
	ctx, cancel := context.WithTimeout(t.Context(), answerTime+time.Millisecond)
	defer cancel()
	answer, err := traced(t, collector.URL, nil).Invoke(ctx, []byte("{}"))
	if err != nil || string(answer) != `"done"` {
		t.Errorf("answered %s, %v", answer, err)
	}
}
