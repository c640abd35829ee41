package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
	"github.com/interlock-go/interlock/internal/sink/webhook"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func alert() event.Event {
	return event.New(event.SLABreach, event.About{Pipeline: "orders", Schedule: pipeline.ByCron, At: noon}, "late", event.Deadline{})
}

func hook(url, secret string) *webhook.Sink {
	return webhook.New(webhook.Config{
		Name: "ops", URL: url, Secret: secret, Client: http.DefaultClient, Now: func() time.Time { return noon },
	})
}

func TestWebhookKeepsTheContract(t *testing.T) {
	sinktest.RunHTTP(t, func(url string, client *http.Client) sink.Sink {
		return webhook.New(webhook.Config{Name: "ops", URL: url + "/" + sinktest.Secret, Secret: sinktest.Secret, Client: client, Now: sinktest.Clock})
	})
}

func TestEventIsPostedAsASignedCloudEvent(t *testing.T) {
	var header http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	e := alert()
	if err := hook(server.URL, "s3cret").Send(context.Background(), sink.Alert{Event: e, Count: 1}); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"specversion": "1.0", "id": e.ID, "source": "interlock", "type": "SLA_BREACH", "subject": "orders",
		"time": "2026-03-03T12:00:00Z", "datacontenttype": "application/json",
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if got := header.Get("Content-Type"); got != "application/cloudevents+json" {
		t.Errorf("content type %q", got)
	}
	if _, burst := got["count"]; burst {
		t.Error("a single event has a count")
	}
	if data, _ := got["data"].(map[string]any); data["pipelineId"] != "orders" || data["message"] != "late" {
		t.Errorf("data is %v", got["data"])
	}
	mac := hmac.New(sha256.New, []byte("s3cret"))
	mac.Write([]byte("1772539200."))
	mac.Write(body)
	if want := "t=1772539200,v1=" + hex.EncodeToString(mac.Sum(nil)); header.Get("Interlock-Signature") != want {
		t.Errorf("signature %q, want %q", header.Get("Interlock-Signature"), want)
	}
}

func TestBurstSaysHowManyEventsItStandsFor(t *testing.T) {
	body, err := webhook.Body(sink.Alert{Event: alert(), Count: 12, Since: noon.Add(-time.Hour)}, "https://interlock.example.com")
	var got struct {
		Count int       `json:"count"`
		Since time.Time `json:"since"`
	}
	if err != nil || json.Unmarshal(body, &got) != nil || got.Count != 12 || !got.Since.Equal(noon.Add(-time.Hour)) {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestMissingAddressIsMisconfigured(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	err := hook(server.URL, "").Send(context.Background(), sink.Alert{Event: alert(), Count: 1})
	if !errors.As(err, new(*sink.Misconfigured)) || !strings.Contains(err.Error(), "webhook ops answered 404") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsDoNotContainTheAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := hook(server.URL+"/services/T0/s3cret", "").Send(context.Background(), sink.Alert{Event: alert(), Count: 1})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}
