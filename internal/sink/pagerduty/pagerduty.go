// Package pagerduty is the sink that opens and resolves incidents with PagerDuty's Events API v2.
// All alerts of one run are one incident: the first one triggers it, further ones are added to it,
// and the event that settles the matter resolves it. A routed event that is no problem becomes a
// change event, which pages nobody.
package pagerduty

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
)

// Config is the integration of a service.
type Config struct {
	Name       string
	RoutingKey string // of the integration
	APIURL     string
	Client     *http.Client // guarded against private addresses
	Threads    sink.Threads
	Now        func() time.Time
}

// Sink opens incidents in one service.
type Sink struct{ config Config }

var _ sink.Follower = (*Sink)(nil)

// New returns a sink that opens incidents through c's integration.
func New(c Config) *Sink { return &Sink{config: c} }

func (s *Sink) Name() string { return s.config.Name }

// incident is the stored state of a matter.
type incident struct {
	State sink.State `json:"state"`
	Sent  sink.Sent  `json:"told"`
}

// Send reports an alert. If its matter has been settled since, it opens no incident: nothing would
// resolve it.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	if a.Settled && changes(a.Event) {
		return nil
	}
	known, thread, err := s.load(ctx, a)
	if err != nil || known.Sent.Repeats(a) {
		return err
	}
	switch next := known.State.After(a.Event); {
	case next == sink.Opened && changes(a.Event):
		if err := s.enqueue(ctx, trigger(s.config.RoutingKey, a)); err != nil {
			return err
		}
		return s.save(ctx, thread, incident{sink.Opened, known.Sent.With(a.Event.ID)})
	case known.State == sink.Opened && next != sink.Opened:
		return s.resolve(ctx, thread, a, incident{next, known.Sent.With(a.Event.ID)})
	default:
		return s.post(ctx, "v2/change/enqueue", change(s.config.RoutingKey, a))
	}
}

// changes reports whether e is a problem by itself, and not merely an event during one.
func changes(e event.Event) bool { return sink.State("").After(e) == sink.Opened }

// Follow resolves the incident of a settled matter, if there is one.
func (s *Sink) Follow(ctx context.Context, a sink.Alert) error {
	known, thread, err := s.load(ctx, a)
	next := known.State.After(a.Event)
	if err != nil || known.State != sink.Opened || next == sink.Opened {
		return err
	}
	return s.resolve(ctx, thread, a, incident{next, known.Sent.With(a.Event.ID)})
}

// resolve resolves the incident of an alert, and stores next as its state.
func (s *Sink) resolve(ctx context.Context, t sink.Thread, a sink.Alert, next incident) error {
	if err := s.enqueue(ctx, request{RoutingKey: s.config.RoutingKey, Action: "resolve", DedupKey: key(a.Event)}); err != nil {
		return err
	}
	return s.save(ctx, t, next)
}

func (s *Sink) load(ctx context.Context, a sink.Alert) (known incident, t sink.Thread, err error) {
	t, err = sink.LoadThread(ctx, s.config.Threads, s.config.Name+"/"+sink.Matter(a.Event), &known)
	if err != nil {
		return incident{}, t, fmt.Errorf("pagerduty: %w", err)
	}
	return known, t, nil
}

// save stores the state of the incident. Losing a race does no harm: the winner has reported the
// same incident.
func (s *Sink) save(ctx context.Context, t sink.Thread, next incident) error {
	if _, err := sink.SaveThread(ctx, s.config.Threads, t, next, s.config.Now()); err != nil && !errors.Is(err, sink.ErrTaken) {
		return fmt.Errorf("pagerduty: %w", err)
	}
	return nil
}

func (s *Sink) enqueue(ctx context.Context, r request) error { return s.post(ctx, "v2/enqueue", r) }

func (s *Sink) post(ctx context.Context, path string, r request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return &sink.Refused{Reason: fmt.Sprintf("pagerduty: %v", err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.config.APIURL, "/")+"/"+path, bytes.NewReader(body))
	if err != nil {
		return &sink.Misconfigured{Reason: "pagerduty: alerts.pagerduty.apiURL is invalid"}
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := post.Do(s.config.Client, req, "pagerduty", s.config.Now())
	// PagerDuty answers an invalid integration key like any other malformed event.
	if answer.Status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(answer.Body), []byte("routing")) {
		return &sink.Misconfigured{Reason: "PagerDuty rejects the integration key; check alerts.pagerduty in the server's file"}
	}
	return err
}

// PagerDuty's limits, in characters.
const (
	maxSummary  = 1024
	maxDedupKey = 255
	maxDetail   = 4096
)

// request is an event of the Events API v2, or a change event, which has no action and no key.
type request struct {
	RoutingKey string   `json:"routing_key"`
	Action     string   `json:"event_action,omitempty"`
	DedupKey   string   `json:"dedup_key,omitempty"`
	Client     string   `json:"client,omitempty"`
	ClientURL  string   `json:"client_url,omitempty"`
	Payload    *payload `json:"payload,omitempty"`
	Links      []link   `json:"links,omitempty"`
}

type payload struct {
	Summary   string         `json:"summary"`
	Source    string         `json:"source"`
	Severity  string         `json:"severity,omitempty"`
	Timestamp time.Time      `json:"timestamp"`
	Component string         `json:"component,omitempty"`
	Group     string         `json:"group,omitempty"`
	Class     string         `json:"class,omitempty"`
	Details   map[string]any `json:"custom_details,omitempty"`
}

type link struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// trigger opens an incident, or adds to the open one.
func trigger(routingKey string, a sink.Alert) request {
	e := a.Event
	r := change(routingKey, a)
	r.Action, r.DedupKey, r.Client, r.ClientURL = "trigger", key(e), event.Source, a.Links.Pipeline
	r.Payload.Severity = cmp.Or(severities[e.Detail.Severity], "error")
	r.Payload.Component, r.Payload.Group, r.Payload.Class = string(e.Detail.Pipeline), a.Owner, string(e.Type)
	return r
}

// change reports an event that is no problem.
func change(routingKey string, a sink.Alert) request {
	e, s := a.Event, a.Story()
	source := cmp.Or(string(e.Detail.Pipeline), event.Source) // PagerDuty requires one for every event
	r := request{
		RoutingKey: routingKey,
		Payload:    &payload{Summary: excerpt.Runes(s.Title+": "+s.What, maxSummary), Source: source, Timestamp: e.Time, Details: details(s)},
	}
	for _, l := range []link{{a.Links.Run, "Run"}, {a.Links.Pipeline, "Pipeline"}} {
		if l.Href != "" {
			r.Links = append(r.Links, l)
		}
	}
	return r
}

// details returns the custom details of an incident.
func details(s sink.Story) map[string]any {
	all := map[string]any{"what": excerpt.Runes(s.What, maxDetail)}
	for name, text := range map[string]string{"what to do": s.Todo, "by itself": s.Heals, "burst": s.Burst, "why": strings.Join(s.Why, "\n")} {
		if text != "" {
			all[name] = excerpt.Runes(text, maxDetail)
		}
	}
	return all
}

// severities are PagerDuty's words for severities.
var severities = map[event.Severity]string{event.Critical: "critical", event.Warning: "warning", event.Info: "info"}

// key returns the key of the incident: its matter, or a hash of a long one.
func key(e event.Event) string {
	k := event.Source + "/" + sink.Matter(e)
	if len(k) <= maxDedupKey {
		return k
	}
	sum := sha256.Sum256([]byte(k))
	return event.Source + "/" + hex.EncodeToString(sum[:])
}
