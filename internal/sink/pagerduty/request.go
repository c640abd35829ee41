package pagerduty

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sink"
)

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
		Payload:    &payload{Summary: sink.Cut(s.Title+": "+s.What, maxSummary), Source: source, Timestamp: e.Time, Details: details(s)},
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
	all := map[string]any{"what": sink.Cut(s.What, maxDetail)}
	for name, text := range map[string]string{"what to do": s.Todo, "by itself": s.Heals, "burst": s.Burst, "why": strings.Join(s.Why, "\n")} {
		if text != "" {
			all[name] = sink.Cut(text, maxDetail)
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
