package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/sinktest"
	"github.com/interlock-go/interlock/internal/sink/webhook"
	"github.com/interlock-go/interlock/internal/template"
)

// templated returns a webhook with that template.
func templated(t *testing.T, text, url string, client *http.Client) *webhook.Sink {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return webhook.New(webhook.Config{Name: "teams", URL: url, Template: parsed, Authorization: "GenieKey " + sinktest.Secret, Client: client, Now: sinktest.Clock})
}

func TestTemplateWebhookKeepsTheContract(t *testing.T) {
	sinktest.RunHTTP(t, func(url string, client *http.Client) sink.Sink {
		return templated(t, `{"text": {{json .Message}}}`, url, client)
	})
}

func TestBodyByTemplate(t *testing.T) {
	var body, kind, authorization string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, kind, authorization = string(text), r.Header.Get("Content-Type"), r.Header.Get("Authorization")
	}))
	defer server.Close()
	s := templated(t, `{"text": {{json (printf "%s: %s" .Type .Message)}}, "count": {{.Count}}}`, server.URL, sinktest.Client(t))
	if err := s.Send(t.Context(), sink.Alert{Event: alert(), Count: 1}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Text  string
		Count int
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || !strings.Contains(got.Text, ": ") || got.Count != 1 {
		t.Errorf("%s: %v", body, err)
	}
	if kind != "application/json" || authorization != "GenieKey "+sinktest.Secret {
		t.Errorf("Content-Type %q, Authorization %q", kind, authorization)
	}
}

func TestMistakeInATemplateIsFoundAtTheStart(t *testing.T) {
	if err := templated(t, `{{.Mesage}}`, "http://127.0.0.1:1", nil).Try(noon); err == nil || !strings.Contains(err.Error(), "Mesage") {
		t.Errorf("error %v", err)
	}
}

// The templates of the manual render valid JSON.
func TestTemplatesOfTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/ALERTS.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)      template: \|\n(.*?)\n    - |(?s)      template: \|\n(.*?)\n\x60\x60\x60`).FindAllStringSubmatch(string(manual), -1)
	if len(found) < 2 {
		t.Fatalf("%d templates", len(found))
	}
	for _, m := range found {
		text := m[1] + m[2]
		var body string
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			body = string(sent)
		}))
		err := templated(t, text, server.URL, sinktest.Client(t)).Send(t.Context(), webhook.Sample(noon))
		server.Close()
		if err != nil || !json.Valid([]byte(body)) {
			t.Errorf("%v\n%s", err, body)
		}
	}
}
