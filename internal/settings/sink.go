package settings

import (
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/template"
)

// Slack is a channel and the bot that writes to it.
type Slack struct {
	Channel   string `yaml:"channel" required:"true" doc:"The channel's id, or its name with #."`
	TokenEnv  string `yaml:"tokenEnv" doc:"Environment variable with the bot token."`
	TokenFile string `yaml:"tokenFile" doc:"File with the bot token."`
	APIURL    string `yaml:"apiURL" default:"https://slack.com/api/" doc:"The URL of the API."`
}

// Webhook is an address that events are posted to.
type Webhook struct {
	Name       string `yaml:"name" doc:"The sink's name in routes; default webhook-1, webhook-2 and so on."`
	URL        string `yaml:"url" required:"true" doc:"The URL to post to."`
	SecretEnv  string `yaml:"secretEnv" doc:"Environment variable with the signing secret."`
	SecretFile string `yaml:"secretFile" doc:"File with the signing secret."`

	Template          string `yaml:"template" doc:"A Go template for the body, for receivers with their own format; default CloudEvents JSON."`
	ContentType       string `yaml:"contentType" default:"application/json" doc:"Content type of a template body."`
	AuthorizationEnv  string `yaml:"authorizationEnv" doc:"Environment variable with the Authorization header, such as GenieKey …"`
	AuthorizationFile string `yaml:"authorizationFile" doc:"File with the Authorization header."`
}

// Alertmanager is a Prometheus Alertmanager, or a cluster of them.
type Alertmanager struct {
	URL               document.TextOrList `yaml:"url" required:"true" doc:"Its URL, or the URLs of all cluster members."`
	Labels            map[string]string   `yaml:"labels" doc:"Labels to add to every alert."`
	AuthorizationEnv  string              `yaml:"authorizationEnv" doc:"Environment variable with the Authorization header, such as Bearer …"`
	AuthorizationFile string              `yaml:"authorizationFile" doc:"File with the Authorization header."`
}

// labelName matches what Prometheus accepts as a label name.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (m *Alertmanager) check() []document.Finding {
	var findings []document.Finding
	for i, url := range m.URL.Values {
		path := fmt.Sprintf("url[%d]", i)
		if m.URL.IsText {
			path = "url"
		}
		findings = append(findings, checkHTTP(path, url)...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		findings = append(findings, document.When(!labelName.MatchString(name), document.Finding{Path: "labels." + name, Message: "is not a label name; use letters, digits and underscores"})...)
	}
	return slices.Concat(
		document.When(len(m.URL.Values) == 0, document.Finding{Path: "url", Message: "is empty; set the URL of Alertmanager, such as http://alertmanager:9093"}),
		findings,
		atMostOne("the Authorization header", "authorizationEnv", m.AuthorizationEnv, "authorizationFile", m.AuthorizationFile),
	)
}

// atMostOne reports a secret that is set in two places.
func atMostOne(what, env, envValue, file, fileValue string) []document.Finding {
	return document.When(envValue != "" && fileValue != "", document.Finding{
		Path: file, Also: []string{env}, Message: fmt.Sprintf("%s is set twice; use %s or %s, not both", what, env, file),
	})
}

// PagerDuty is a service with an Events API v2 integration.
type PagerDuty struct {
	RoutingKeyEnv  string `yaml:"routingKeyEnv" doc:"Environment variable with the integration key."`
	RoutingKeyFile string `yaml:"routingKeyFile" doc:"File with the integration key."`
	APIURL         string `yaml:"apiURL" default:"https://events.pagerduty.com/" doc:"The URL of the API; https://events.eu.pagerduty.com/ for accounts in the EU."`
}

// Email is a mail server, and the recipients.
type Email struct {
	Host         string   `yaml:"host" required:"true" pattern:"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$" hint:"write the mail server's name alone, such as smtp.example.com" doc:"The mail server."`
	Port         int      `yaml:"port" min:"0" max:"65535" default:"0" doc:"The port; default 587, with implicit TLS 465, without TLS 25."`
	TLS          string   `yaml:"tls" enum:"starttls,implicit,none" default:"starttls" doc:"starttls: the connection must be upgraded with STARTTLS. implicit: TLS from the start. none: unencrypted."`
	Username     string   `yaml:"username" doc:"The user name, if the mail server requires a login."`
	PasswordEnv  string   `yaml:"passwordEnv" doc:"Environment variable with the password."`
	PasswordFile string   `yaml:"passwordFile" doc:"File with the password."`
	From         string   `yaml:"from" required:"true" doc:"The sender's address."`
	To           []string `yaml:"to" required:"true" doc:"The recipients' addresses."`
}

// checkPlaces checks the alert destinations.
func (a *Alerts) checkPlaces() []document.Finding {
	return slices.Concat(
		document.Each("webhooks", a.Webhooks, Webhook.check),
		section("slack", a.Slack, (*Slack).check),
		section("pagerduty", a.PagerDuty, (*PagerDuty).check),
		section("email", a.Email, (*Email).check),
		section("alertmanager", a.Alertmanager, (*Alertmanager).check),
	)
}

// section checks a section of the file, if it is there.
func section[T any](path string, s *T, check func(*T) []document.Finding) []document.Finding {
	if s == nil {
		return nil
	}
	return document.Under(path, check(s))
}

func (w Webhook) check() []document.Finding {
	findings := append(checkHTTP("url", w.URL), atMostOne("the secret", "secretEnv", w.SecretEnv, "secretFile", w.SecretFile)...)
	if _, err := template.Parse(w.Template); err != nil {
		findings = append(findings, document.Finding{Path: "template", Message: err.Error() + "; write a Go template, such as {\"text\": {{json .Message}}}"})
	}
	return append(findings, atMostOne("the Authorization header", "authorizationEnv", w.AuthorizationEnv, "authorizationFile", w.AuthorizationFile)...)
}

func (s *Slack) check() []document.Finding {
	return append(checkHTTP("apiURL", s.APIURL), oneOf("the bot token", "tokenEnv", s.TokenEnv, "tokenFile", s.TokenFile)...)
}

func (p *PagerDuty) check() []document.Finding {
	return append(checkHTTP("apiURL", p.APIURL), oneOf("the integration key", "routingKeyEnv", p.RoutingKeyEnv, "routingKeyFile", p.RoutingKeyFile)...)
}

func (e *Email) check() []document.Finding {
	findings := slices.Concat(
		document.Under("from", checkAddress(e.From)),
		document.Each("to", e.To, checkAddress),
		document.When(len(e.To) == 0, document.Finding{Path: "to", Message: "has no recipient; add at least one address"}),
	)
	secret := e.PasswordEnv != "" || e.PasswordFile != ""
	switch {
	case secret && e.TLS == "none":
		findings = append(findings, document.Finding{Path: "tls", Message: "the password would be sent unencrypted; use starttls or implicit, or remove the password"})
	case secret && e.Username == "":
		findings = append(findings, document.Finding{Path: "username", Message: "username and password must be set together"})
	case e.Username != "":
		findings = append(findings, oneOf("the password", "passwordEnv", e.PasswordEnv, "passwordFile", e.PasswordFile)...)
	}
	return findings
}

// oneOf reports a secret that is set in no place or in two.
func oneOf(what, env, envValue, file, fileValue string) []document.Finding {
	return document.When((envValue == "") == (fileValue == ""), document.Finding{Message: fmt.Sprintf("%s must be set in exactly one place: %s or %s", what, env, file)})
}

func checkHTTP(path, text string) []document.Finding {
	return document.When(!isHTTP(text), notHTTP(path))
}

func notHTTP(path string) document.Finding {
	return document.Finding{Path: path, Message: "is not an http or https URL"}
}

// checkAddress checks for one mail address, with or without a display name.
func checkAddress(text string) []document.Finding {
	_, err := mail.ParseAddress(text)
	return document.When(err != nil || strings.ContainsAny(text, "\r\n"), document.Finding{Message: fmt.Sprintf("%q is not an e-mail address; write one such as data-team@example.com", text)})
}
