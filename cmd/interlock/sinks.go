package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/alertmanager"
	"github.com/interlock-go/interlock/internal/sink/email"
	logsink "github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/sink/pagerduty"
	"github.com/interlock-go/interlock/internal/sink/slack"
	"github.com/interlock-go/interlock/internal/sink/webhook"
	"github.com/interlock-go/interlock/internal/template"
)

// answerWithin is the timeout for a sink's answer.
const answerWithin = 30 * time.Second

// sinkParts is what the sinks are built from.
type sinkParts struct {
	guard   *egress.Guard
	getenv  func(string) string
	threads sink.Threads
	logger  *slog.Logger
}

// newSinks creates the alert sinks. The log is always one of them.
func newSinks(a settings.Alerts, p sinkParts) ([]sink.Sink, error) {
	sinks := []sink.Sink{logsink.New(p.logger)}
	var first error
	add := func(s sink.Sink, err error) {
		sinks, first = append(sinks, s), cmp.Or(first, err)
	}
	if a.Slack != nil {
		add(p.slack(*a.Slack))
	}
	if a.PagerDuty != nil {
		add(p.pagerDuty(*a.PagerDuty))
	}
	if a.Email != nil {
		add(p.email(*a.Email))
	}
	if a.Alertmanager != nil {
		add(p.alertmanager(*a.Alertmanager))
	}
	for i := range a.Webhooks {
		add(p.webhook(a, i))
	}
	if first != nil {
		return nil, first
	}
	return sinks, nil
}

func (p sinkParts) slack(f settings.Slack) (sink.Sink, error) {
	token, err := readSecret("the bot token of alerts.slack", f.TokenEnv, f.TokenFile, p.getenv)
	return slack.New(slack.Config{
		Name: settings.SlackSink, Channel: f.Channel, Token: token, APIURL: strings.TrimSuffix(f.APIURL, "/") + "/",
		Client: p.guard.Client(answerWithin), Threads: p.threads, Logger: p.logger, Now: time.Now,
	}), err
}

func (p sinkParts) pagerDuty(f settings.PagerDuty) (sink.Sink, error) {
	key, err := readSecret("the integration key of alerts.pagerduty", f.RoutingKeyEnv, f.RoutingKeyFile, p.getenv)
	return pagerduty.New(pagerduty.Config{
		Name: settings.PagerDutySink, RoutingKey: key, APIURL: f.APIURL, Client: p.guard.Client(answerWithin), Threads: p.threads, Now: time.Now,
	}), err
}

func (p sinkParts) email(f settings.Email) (sink.Sink, error) {
	password, err := readOptionalSecret("the password of alerts.email", f.PasswordEnv, f.PasswordFile, p.getenv)
	return email.New(email.Config{
		Name: settings.EmailSink, Host: f.Host, Port: f.Port, Security: email.Security(f.TLS), Username: f.Username, Password: password,
		From: f.From, To: f.To, Timeout: answerWithin, Dial: p.guard.DialContext,
	}), err
}

func (p sinkParts) webhook(a settings.Alerts, i int) (sink.Sink, error) {
	w := a.Webhooks[i]
	secret, err := readOptionalSecret(fmt.Sprintf("the signing secret of alerts.webhooks[%d]", i), w.SecretEnv, w.SecretFile, p.getenv)
	if err != nil {
		return nil, err
	}
	config := webhook.Config{
		Name: a.WebhookName(i), URL: w.URL, Secret: secret, Source: p.source(a), ContentType: w.ContentType, Client: p.guard.Client(answerWithin), Now: time.Now,
	}
	if config.Authorization, err = readOptionalSecret(fmt.Sprintf("the Authorization header of alerts.webhooks[%d]", i), w.AuthorizationEnv, w.AuthorizationFile, p.getenv); err != nil {
		return nil, err
	}
	if w.Template != "" {
		if config.Template, err = template.Parse(w.Template); err != nil {
			return nil, fmt.Errorf("alerts.webhooks[%d].template: %w", i, err)
		}
	}
	s := webhook.New(config)
	if err := s.Try(time.Now()); err != nil {
		return nil, fmt.Errorf("alerts.webhooks[%d]: %w", i, err)
	}
	return s, nil
}

// source names this server in CloudEvents: by its public URL, or else by its host name.
func (p sinkParts) source(a settings.Alerts) string {
	if a.BaseURL != "" {
		return a.BaseURL
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "urn:interlock:" + host
}

func (p sinkParts) alertmanager(f settings.Alertmanager) (sink.Sink, error) {
	header, err := readOptionalSecret("the Authorization header of alerts.alertmanager", f.AuthorizationEnv, f.AuthorizationFile, p.getenv)
	return alertmanager.New(alertmanager.Config{
		Name: settings.AlertmanagerSink, URLs: f.URL.Values, Authorization: header, Labels: f.Labels, Client: p.guard.Client(answerWithin), Threads: p.threads, Now: time.Now,
	}), err
}

// repeatTick resends open alerts to sinks that would otherwise drop them; no tick without such a
// sink.
func repeatTick(sinks []sink.Sink) []engine.Tick {
	var repeaters []sink.Repeater
	for _, s := range sinks {
		if r, ok := s.(sink.Repeater); ok {
			repeaters = append(repeaters, r)
		}
	}
	if len(repeaters) == 0 {
		return nil
	}
	return []engine.Tick{{Name: "open alerts", Every: time.Minute, First: true, One: true, Do: func(ctx context.Context, _ time.Time) error {
		var failures []error
		for _, r := range repeaters {
			failures = append(failures, r.Repeat(ctx))
		}
		return errors.Join(failures...)
	}}}
}

// readSecret reads a secret from the environment variable or file named in the server's file.
func readSecret(what, env, file string, getenv func(string) string) (string, error) {
	secret, from := getenv(env), "environment variable "+env
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read %s: %w", what, err)
		}
		secret, from = strings.TrimSpace(string(data)), "file "+file
	}
	if secret == "" {
		return "", fmt.Errorf("%s is empty: check %s", what, from)
	}
	return secret, nil
}

// readOptionalSecret is like readSecret, but returns "" if neither is named.
func readOptionalSecret(what, env, file string, getenv func(string) string) (string, error) {
	if env == "" && file == "" {
		return "", nil
	}
	return readSecret(what, env, file, getenv)
}

// alerts returns how alerts are sent, by the settings of the server's file.
func (c *controller) alerts(sinks []sink.Sink) *notify.Options {
	a := c.file.Alerts
	return &notify.Options{Store: c.store, Sinks: sinks, Routes: routes(&a), BaseURL: a.BaseURL, Concurrency: a.Concurrency, Since: c.began}
}

// routes returns the alert routes of the server's file, the default last.
func routes(a *settings.Alerts) []notify.Route {
	var list []notify.Route
	for i, r := range a.Routes {
		route := notify.Route{
			Name: a.RouteName(i), Severity: event.Severity(r.Severity), Pipelines: r.Pipelines, Owners: r.Owners, Tags: r.Tags, Sinks: r.Sinks,
		}
		for _, t := range r.Types {
			route.Types = append(route.Types, event.Type(t))
		}
		list = append(list, grouped(route, r.Grouping))
	}
	if d := a.Default; d != nil {
		list = append(list, grouped(notify.Route{Name: settings.DefaultName, Severity: event.Severity(d.Severity), Sinks: d.Sinks}, d.Grouping))
	}
	return list
}

func grouped(r notify.Route, g settings.Grouping) notify.Route {
	if r.Interval = g.Interval.D(); r.Interval == 0 {
		return r
	}
	r.GroupBy = notify.UsualGroup
	if len(g.GroupBy) > 0 {
		r.GroupBy = nil
		for _, field := range g.GroupBy {
			r.GroupBy = append(r.GroupBy, notify.Field(field))
		}
	}
	return r
}
