// Package alertmanager is the sink that raises and resolves alerts in Prometheus Alertmanager, over
// its API v2. A matter has one alert for each type of event raised about it; the event that settles
// the matter resolves them. Alertmanager keeps alerts in memory and lets them expire, so open ones
// are sent again every minute.
package alertmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
)

// Config is a cluster of Alertmanagers.
type Config struct {
	Name          string
	URLs          []string // of all its members
	Authorization string   // the header; "" for none
	Labels        map[string]string
	Client        *http.Client // guarded against private addresses
	Threads       sink.Threads
	Now           func() time.Time
}

// Sink raises alerts in one cluster.
type Sink struct{ config Config }

var (
	_ sink.Follower = (*Sink)(nil)
	_ sink.Repeater = (*Sink)(nil)
)

// New returns a sink that raises alerts in c's cluster.
func New(c Config) *Sink { return &Sink{config: c} }

func (s *Sink) Name() string { return s.config.Name }

const (
	// life is how long Alertmanager keeps an alert that is not sent again. If the controller is
	// down for longer, alerts expire although nothing was resolved.
	life = time.Hour
	// brief is the life of an alert that no later event settles.
	brief = 15 * time.Minute
	// longest is how long an open alert is sent again. By then it has been seen, or never will be.
	longest = 7 * 24 * time.Hour
	// maxOpen bounds the open alerts that are remembered, newest first.
	maxOpen = 500
)

// alert is an alert in the API's form.
type alert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// open is the unresolved alerts, by matter.
type open map[string][]alert

// Send raises an alert, or resolves those of a matter that the event settles. A late alert raises
// nothing: its matter is settled.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	switch matter, now := sink.Matter(a.Event), s.config.Now(); {
	case sink.Settles(a.Event):
		return s.resolve(ctx, matter)
	case a.Settled:
		return nil
	case !lasting(a.Event):
		return s.post(ctx, s.alert(a, now.Add(brief)))
	default:
		raised := s.alert(a, now.Add(life))
		if err := s.post(ctx, raised); err != nil {
			return err
		}
		return s.change(ctx, func(o open) {
			kept := slices.DeleteFunc(o[matter], func(old alert) bool { return maps.Equal(old.Labels, raised.Labels) })
			o[matter] = append(kept, raised)
		})
	}
}

// lasting reports whether e opens something that a later event may settle.
func lasting(e event.Event) bool {
	return sink.State("").After(e) == sink.Opened && !strings.HasPrefix(sink.Matter(e), "event/")
}

// Follow resolves the alerts of a settled matter.
func (s *Sink) Follow(ctx context.Context, a sink.Alert) error {
	if !sink.Settles(a.Event) {
		return nil
	}
	return s.resolve(ctx, sink.Matter(a.Event))
}

func (s *Sink) resolve(ctx context.Context, matter string) error {
	known, _, err := s.load(ctx)
	if err != nil || len(known[matter]) == 0 {
		return err
	}
	ended := known[matter]
	for i := range ended {
		ended[i].EndsAt = s.config.Now()
	}
	if err := s.post(ctx, ended...); err != nil {
		return err
	}
	return s.change(ctx, func(o open) { delete(o, matter) })
}

// Repeat sends all open alerts again.
func (s *Sink) Repeat(ctx context.Context) error {
	known, _, err := s.load(ctx)
	if err != nil {
		return err
	}
	now := s.config.Now()
	var all []alert
	var over []string
	for matter, alerts := range known {
		if now.Sub(alerts[len(alerts)-1].StartsAt) > longest {
			over = append(over, matter)
			continue
		}
		for _, a := range alerts {
			a.EndsAt = now.Add(life)
			all = append(all, a)
		}
	}
	if len(over) > 0 {
		err := s.change(ctx, func(o open) {
			maps.DeleteFunc(o, func(matter string, _ []alert) bool { return slices.Contains(over, matter) })
		})
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b alert) int { return a.StartsAt.Compare(b.StartsAt) })
	return s.post(ctx, all...)
}

// alert converts a to the API's form.
func (s *Sink) alert(a sink.Alert, until time.Time) alert {
	e, d, story := a.Event, a.Event.Detail, a.Story()
	labels := maps.Clone(s.config.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	annotations := map[string]string{}
	set := func(to map[string]string, name, value string) {
		if value != "" {
			to[name] = value
		}
	}
	set(labels, "alertname", string(e.Type))
	set(labels, "severity", string(d.Severity))
	set(labels, "pipeline", string(d.Pipeline))
	set(labels, "schedule", string(d.Schedule))
	set(labels, "date", d.Date.String())
	set(labels, "owner", a.Owner)
	if alarm, ok := d.Extra.(event.Alarm); ok {
		set(labels, "alarm", alarm.Alarm)
	}
	set(annotations, "summary", excerpt.Runes(story.Title, maxSummary))
	set(annotations, "description", excerpt.Runes(story.What, maxText))
	set(annotations, "why", excerpt.Runes(strings.Join(story.Why, "\n"), maxText))
	set(annotations, "remedy", excerpt.Runes(story.Todo, maxText))
	set(annotations, "burst", story.Burst)
	set(annotations, "dashboard", a.Links.Run)
	return alert{Labels: labels, Annotations: annotations, StartsAt: e.Time.UTC(), EndsAt: until.UTC(), GeneratorURL: a.Links.Pipeline}
}

// The limits of texts, in characters.
const (
	maxSummary = 300
	maxText    = 4000
)

// post sends alerts to every member of the cluster, as Prometheus does. One success is enough: the
// members replicate alerts.
func (s *Sink) post(ctx context.Context, alerts ...alert) error {
	body, err := json.Marshal(alerts)
	if err != nil {
		return &sink.Refused{Reason: fmt.Sprintf("alertmanager: %v", err)}
	}
	var failure error
	accepted := false
	for _, url := range s.config.URLs {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(url, "/")+"/api/v2/alerts", bytes.NewReader(body))
		if err != nil {
			failure = &sink.Misconfigured{Reason: "alertmanager: alerts.alertmanager.url is invalid"}
			continue
		}
		req.Header.Set("Content-Type", "application/json")
		if s.config.Authorization != "" {
			req.Header.Set("Authorization", s.config.Authorization)
		}
		if _, err := post.Do(s.config.Client, req, "alertmanager", s.config.Now()); err != nil {
			failure = err
			continue
		}
		accepted = true
	}
	if accepted {
		return nil
	}
	return failure
}

// load reads the open alerts.
func (s *Sink) load(ctx context.Context) (open, sink.Thread, error) {
	known := open{}
	t, err := sink.LoadThread(ctx, s.config.Threads, s.config.Name+"/open", &known)
	if err != nil {
		return nil, t, fmt.Errorf("alertmanager: %w", err)
	}
	return known, t, nil
}

// tries is how often a conflicting change is retried.
const tries = 20

// change applies f to the open alerts and stores them.
func (s *Sink) change(ctx context.Context, f func(open)) error {
	for range tries {
		known, t, err := s.load(ctx)
		if err != nil {
			return err
		}
		f(known)
		bound(known)
		_, err = sink.SaveThread(ctx, s.config.Threads, t, known, s.config.Now())
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, sink.ErrTaken):
			return fmt.Errorf("alertmanager: %w", err)
		}
	}
	return errors.New("alertmanager: the open alerts keep changing")
}

// bound drops the oldest matters if there are too many.
func bound(o open) {
	for len(o) > maxOpen {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(o)), func(a, b string) int { return o[a][0].StartsAt.Compare(o[b][0].StartsAt) })
		delete(o, oldest)
	}
}
