// Package webhook is the sink that posts events as CloudEvents 1.0 JSON to an HTTP address, signed, so that the receiver
// can tell that they come from this controller and when they were sent.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

// SignatureHeader is "t=<unix seconds>,v1=<hex of the HMAC-SHA256 of "t.body">".
const SignatureHeader = "Interlock-Signature"

// maxWait bounds what a receiver may ask for with Retry-After.
const maxWait = time.Hour

// Config is one webhook.
type Config struct {
	Name   string
	URL    string
	Secret string           // signs the body; empty: unsigned
	Client *http.Client     // guarded against private addresses
	Now    func() time.Time // for the signature's timestamp
}

// Sink posts to one address.
type Sink struct{ config Config }

var _ sink.Sink = (*Sink)(nil)

// New is a sink that posts to c.URL.
func New(c Config) *Sink { return &Sink{config: c} }

// Name is the webhook's own.
func (s *Sink) Name() string { return s.config.Name }

// cloudEvent is the structured form of CloudEvents 1.0.
type cloudEvent struct {
	SpecVersion string          `json:"specversion"`
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Type        string          `json:"type"`
	Subject     string          `json:"subject,omitempty"`
	Time        time.Time       `json:"time"`
	ContentType string          `json:"datacontenttype"`
	Data        json.RawMessage `json:"data"`
}

// Body is the event as it is posted.
func Body(e event.Event) ([]byte, error) {
	whole, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	var part struct {
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(whole, &part); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: event.Source, Type: string(e.Type), Subject: string(e.Detail.Pipeline),
		Time: e.Time, ContentType: "application/json", Data: part.Detail,
	})
}

// Sign is the value of the signature header for a body sent at that time.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Send posts one event. 2xx is taken, 429 and 503 may ask for a pause, 408, 425 and 5xx are tried again, anything else is
// refused for good.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	e := a.Event
	body, err := Body(e)
	if err != nil {
		return &sink.Refused{Reason: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.URL, bytes.NewReader(body))
	if err != nil {
		return &sink.Refused{Reason: fmt.Sprintf("post to webhook %s: the address cannot be used", s.config.Name)}
	}
	req.Header.Set("Content-Type", "application/cloudevents+json")
	if s.config.Secret != "" {
		req.Header.Set(SignatureHeader, Sign(s.config.Secret, s.config.Now(), body))
	}
	resp, err := s.config.Client.Do(req)
	if err != nil {
		return fmt.Errorf("post to webhook %s: %w", s.config.Name, cause(err))
	}
	defer resp.Body.Close()
	// The answer is not used; reading a little of it lets the connection be used again.
	_, _ = io.CopyN(io.Discard, resp.Body, 4096)
	return s.judge(resp)
}

// cause leaves the address out of an error: it may hold a secret.
func cause(err error) error {
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) {
		if inner := wrapped.Unwrap(); inner != nil {
			return inner
		}
	}
	return err
}

func (s *Sink) judge(resp *http.Response) error {
	reason := fmt.Sprintf("webhook %s answered %s", s.config.Name, resp.Status)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && after > 0 {
			return &sink.Busy{After: min(time.Duration(after)*time.Second, maxWait), Reason: reason}
		}
		return errors.New(reason)
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code >= 500:
		return errors.New(reason)
	default:
		return &sink.Refused{Reason: reason}
	}
}
