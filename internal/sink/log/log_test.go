package log_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
)

func TestAlertIsOneLineAtItsLevel(t *testing.T) {
	var out bytes.Buffer
	s := log.New(slog.New(slog.NewJSONHandler(&out, nil)))
	at := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	e := event.New(event.RetryExhausted, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, Attempt: 2, At: at}, "spent", event.Budget{})
	if err := s.Send(context.Background(), sink.Alert{Event: e, Count: 1}); err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"level": "ERROR", "msg": "alert", "type": "RETRY_EXHAUSTED", "pipeline": "orders", "schedule": "cron", "attempt": 2.0, "message": "spent"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
}

func TestBurstSaysHowManyEventsItStandsFor(t *testing.T) {
	var out bytes.Buffer
	a := sinktest.Alert(event.JobFailed, "failed", event.Finished{})
	a.Count = 7
	if err := log.New(slog.New(slog.NewTextHandler(&out, nil))).Send(context.Background(), a); err != nil || !bytes.Contains(out.Bytes(), []byte("count=7 since=2026-03-03T12:00:00")) {
		t.Errorf("%s%v", &out, err)
	}
}
