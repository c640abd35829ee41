// Package webhook is the sink that posts events as CloudEvents 1.0 JSON to an HTTP address. The
// body is signed, so that the receiver can verify that it comes from this controller and when it
// was sent.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
	"github.com/interlock-go/interlock/internal/template"
)

// SignatureHeader is "t=<unix seconds>,v1=<hex of the HMAC-SHA256 of "t.body">".
const SignatureHeader = "Interlock-Signature"

// Config is one webhook.
type Config struct {
	Name   string
	URL    string
	Secret string // signs the body; empty: unsigned
	Source string // of CloudEvents: identifies the server; "" for event.Source

	Template      *template.Template // of the body; nil: CloudEvents JSON
	ContentType   string             // of a templated body
	Authorization string             // the header; "" for none

	Client *http.Client     // guarded against private addresses
	Now    func() time.Time // for the signature's timestamp
}

// Sink posts to one address.
type Sink struct{ config Config }

var _ sink.Sink = (*Sink)(nil)

// New returns a sink that posts to c.URL.
func New(c Config) *Sink { return &Sink{config: c} }

func (s *Sink) Name() string { return s.config.Name }

// cloudEvent is the structured form of CloudEvents 1.0, which requires lower-case extension names.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Subject     string          `json:"subject,omitempty"`
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"`

	Count int       `json:"count,omitempty"` // of a burst
	Since time.Time `json:"since,omitzero"`  // the first of a burst
}

// Body renders the alert as CloudEvents JSON. source identifies the server.
func Body(a sink.Alert, source string) ([]byte, error) {
	e := a.Event
	detail, err := e.DetailJSON()
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	c := cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: cmp.Or(source, event.Source), Type: string(e.Type), Subject: string(e.Detail.Pipeline),
		Time: e.Time, ContentType: "application/json", Data: detail,
	}
	if a.Count > 1 {
		c.Count, c.Since = a.Count, a.Since.UTC()
	}
	return json.Marshal(c)
}

func (s *Sink) body(a sink.Alert) (body []byte, contentType string, err error) {
	if s.config.Template == nil {
		body, err = Body(a, s.config.Source)
		return body, "application/cloudevents+json", err
	}
	body, err = rendered(s.config.Template, a)
	return body, cmp.Or(s.config.ContentType, "application/json"), err
}

// Try renders the template with a sample, so that a mistake is found at start-up.
func (s *Sink) Try(at time.Time) error {
	if s.config.Template == nil {
		return nil
	}
	_, err := rendered(s.config.Template, Sample(at))
	return err
}

// Sign returns the value of the signature header for a body sent at that time.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Send posts one alert; post.Do classifies the answer.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	who := "webhook " + s.config.Name
	body, contentType, err := s.body(a)
	if err != nil {
		return &sink.Refused{Reason: who + ": " + err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(body))
	if err != nil {
		return &sink.Misconfigured{Reason: who + ": its address is invalid"}
	}
	now := s.config.Now()
	req.Header.Set("Content-Type", contentType)
	if s.config.Authorization != "" {
		req.Header.Set("Authorization", s.config.Authorization)
	}
	if s.config.Secret != "" {
		req.Header.Set(SignatureHeader, Sign(s.config.Secret, now, body))
	}
	_, err = post.Do(s.config.Client, req, who, now)
	return err
}

// Sample returns an alert to test a template with.
func Sample(at time.Time) sink.Alert {
	about := event.About{Pipeline: "orders", Schedule: "cron", Attempt: 1, At: at}
	return sink.Alert{Event: event.New(event.JobFailed, about, "the job failed: exit code 1", event.Finished{}), Count: 1, Since: at}
}

// rendered renders the body of an alert with a template.
func rendered(t *template.Template, a sink.Alert) ([]byte, error) {
	data, err := fields(a)
	if err != nil {
		return nil, err
	}
	body, err := t.Render(data)
	if err != nil {
		return nil, fmt.Errorf("its template: %w", err)
	}
	return []byte(body), nil
}

// fields returns the fields that a template may use.
func fields(a sink.Alert) (map[string]any, error) {
	e, d, story := a.Event, a.Event.Detail, a.Story()
	text, err := e.DetailJSON()
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	var detail map[string]any
	if err := json.Unmarshal(text, &detail); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	why := make([]any, len(story.Why))
	for i, line := range story.Why {
		why[i] = line
	}
	return map[string]any{
		"ID": e.ID, "Type": string(e.Type), "Severity": string(d.Severity), "Time": period.Stamp(e.Time),
		"Pipeline": string(d.Pipeline), "Schedule": string(d.Schedule), "Date": d.Date.String(), "Attempt": d.Attempt,
		"Title": story.Title, "Message": d.Message, "Why": why, "Remedy": story.Todo, "Owner": a.Owner,
		"Count": max(a.Count, 1), "Since": period.Stamp(a.Since), "RunURL": a.Links.Run, "PipelineURL": a.Links.Pipeline,
		"Key": sink.Matter(e), "Settles": sink.Settles(e), "Detail": detail,
	}, nil
}
