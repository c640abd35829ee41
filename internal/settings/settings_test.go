package settings_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/settings"
)

func parse(t *testing.T, src string) settings.File {
	t.Helper()
	f, problems := settings.Parse("interlock.yaml", []byte(src))
	for _, p := range problems {
		if p.Severity == document.Error {
			t.Errorf("unexpected problem: %s", p)
		}
	}
	return f
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEmptyFileGetsTheDocumentedDefaults(t *testing.T) {
	f := settings.Default()
	whole := parse(t, read(t, "testdata/whole.yaml"))
	// What the documented file sets to something of its own:
	whole.Auth, whole.Egress, whole.Secrets, whole.Alerts = f.Auth, f.Egress, f.Secrets, f.Alerts
	whole.Archive.DSNEnv, whole.Redis = "", nil
	if diff := cmp.Diff(f, whole); diff != "" {
		t.Errorf("defaults (-ours +documented):\n%s", diff)
	}
	if f.Listen != "127.0.0.1:8740" || f.Engine.Lease.D() != 30*time.Second || f.Retention.Events.D() != 90*24*time.Hour {
		t.Errorf("got %+v", f)
	}
}

func TestFileThatSaysNothingIsTheDefaults(t *testing.T) {
	for name, src := range map[string]string{"empty": "", "blank": "\n\n", "only a mark": "---\n", "only comments": "# listen: 127.0.0.1:8740\n# data: ./interlock-data\n"} {
		if diff := cmp.Diff(settings.Default(), parse(t, src)); diff != "" {
			t.Errorf("%s (-default +got):\n%s", name, diff)
		}
	}
	if _, problems := settings.Parse("interlock.yaml", []byte("null\n")); len(problems) != 1 {
		t.Errorf("null is a file without settings: %v", problems)
	}
}

func TestRetentionThatContradictsItselfIsRejected(t *testing.T) {
	for src, want := range map[string]string{
		"retention: {runs: 99d}":                "at least 100d",
		"retention: {runs: 200d, events: 365d}": "not be shorter than events",
		"retention: {historyBytes: 64KiB}":      "at least 1MiB",
		"retention: {eventsBytes: 1KiB}":        "at least 1MiB",
		"retention: {bytes: 1GiB}":              "unknown key",
	} {
		_, problems := settings.Parse("interlock.yaml", []byte(src+"\n"))
		if len(problems) != 1 || problems[0].Severity != document.Error || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: got %v, want one error with %q", src, problems, want)
		}
	}
	r := parse(t, "retention: {runs: 100d, eventsBytes: 1MiB, historyBytes: 2GiB}\n").Retention
	if r.Runs.D() != 100*24*time.Hour || r.EventsBytes != 1<<20 || r.HistoryBytes != 2<<30 {
		t.Errorf("got %+v", r)
	}
	if r := parse(t, "retention: {runs: 0s}\n").Retention; r.Runs != 0 {
		t.Errorf("got %+v", r)
	}
}

func TestOlderRedisAndArchiverBlocksLoad(t *testing.T) {
	f, problems := settings.Parse("interlock.yaml", []byte(read(t, "testdata/older.yaml")))
	if f.Store != "redis://localhost:6379/0" || f.Archiver == nil || f.Archive.Interval.D() != 5*time.Minute {
		t.Errorf("got store %q, archiver %+v", f.Store, f.Archiver)
	}
	if len(problems) != 1 || problems[0].Severity != document.Warning || strings.Contains(problems[0].Message, "pass@") {
		t.Errorf("want one warning that does not repeat the password, got %v", problems)
	}
}

func TestRedisBlockIsTheSameAsAStore(t *testing.T) {
	for src, want := range map[string]string{
		"redis: {addr: 'cache:6379'}\n":                                "redis://cache:6379/0",
		"redis: {addr: 'cache:6379', db: 2, keyPrefix: team-a}\n":      "redis://cache:6379/2?prefix=team-a",
		"redis: {passwordEnv: PASSWORD}\nstore: rediss://cache:6380\n": "rediss://cache:6380",
		"redis: {passwordEnv: PASSWORD}\n":                             "sqlite",
	} {
		if f := parse(t, src); f.Store != want {
			t.Errorf("%s: store %q, want %q", src, f.Store, want)
		}
	}
}

func TestWhatHasNoEffectIsSaidSo(t *testing.T) {
	const src = "store: redis://ann:hunter2@cache:6379/0\nredis: {runIndexLimit: 7, retentionTTL: 168h, eventStreamMax: 500}\n"
	_, problems := settings.Parse("interlock.yaml", []byte(src))
	var got []string
	for _, p := range problems {
		if p.Severity != document.Warning || strings.Contains(p.Message, "hunter2") {
			t.Errorf("want a warning without the password: %s", p)
		}
		got = append(got, p.Path)
	}
	if diff := cmp.Diff([]string{"store", "redis.runIndexLimit", "redis.eventStreamMax"}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestEveryMistakeIsReportedAtOnce(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{`listen: bad
store: mysql://x
egress: {allow: [10.0.0.0/40, "http://x", "", "host:80", airflow.internal, 192.0.2.10, "[::1]", 10.0.0.0/8]}
alerts: {webhooks: [{url: "ftp://x"}], routes: [{types: [NOPE], severity: high}]}
engine: {lease: 1ms}
`, []string{
			"listen", "store", "egress.allow[0]", "egress.allow[1]", "egress.allow[2]", "egress.allow[3]",
			"alerts.webhooks[0].url", "alerts.routes[0].sinks", "alerts.routes[0].types[0]", "alerts.routes[0].severity", "engine.lease",
		}},
		{"tls: {cert: a, kye: b}\nstore: x\n", []string{"tls.kye", "store"}}, // the key may be meant
		{"tls: {cert: a}\nstor: x\n", []string{"tls.cert", "stor"}},
		{"auth: {tokens: [{name: a, role: boss, tokenEnvv: T}, {name: b, role: viewer}]}\n", []string{"auth.tokens[0].role", "auth.tokens[0].tokenEnvv", "auth.tokens[1]"}},
		{"listen: [a]\nstore: x\n", []string{"listen", "store"}},
	} {
		_, problems := settings.Parse("interlock.yaml", []byte(c.src))
		var got []string
		for _, p := range problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

func TestMistakesSayWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"listen: 8740\n", `interlock.yaml:1:9: listen: expected text, found the number 8740`},
		{"listen: localhost\n", `interlock.yaml:1:9: listen: "localhost" is not an address; write host:port, such as 127.0.0.1:8740`},
		{"tls: {cert: a.pem}\n", `interlock.yaml:1:13: tls.cert: the certificate and the key must be set together (see tls.key at `},
		{"store: mysql://x\n", `store: "mysql://…" is not a store`},
		{"store: rediss://x:6379/0\nredis: {addr: 'y:6379'}\n", `redis.addr: store is already set`},
		{"store: sqlite\nredis: {addr: 'y:6379'}\n", `redis.addr: store is already set`},
		{"listn: x\n", `unknown key "listn"; did you mean "listen"?`},
		{"auth: {tokens: [{name: a, role: boss, tokenEnv: X}]}\n", `auth.tokens[0].role: unknown value "boss"`},
		{"http: {trustedProxies: [10.0.0.0/8, proxy.internal]}\n", `http.trustedProxies[1]: "proxy.internal" is neither an address nor a CIDR block; write 10.0.0.0/8 or 192.0.2.10`},
		{"auth: {tokens: [{name: a, role: admin}]}\n", `auth.tokens[0]: the token of "a" must be set in exactly one place: tokenEnv or tokenFile`},
		{"listen: 'unix:'\ncallbackURL: http://a\n", `has no socket path`},
		{"listen: 'unix:/s'\ncallbackURL: http://a\ntls: {cert: a, key: b}\n", `a socket has no TLS`},
		{"auth: {oidc: {issuer: nowhere, clientID: a, redirectURL: 'https://a/api/v1/session/oidc/callback', roles: [{group: a, role: viewer}]}}\n", `auth.oidc.issuer: is not an http or https URL`},
		{"auth: {oidc: {issuer: 'https://a', clientID: a, redirectURL: 'https://a/', roles: [{group: a, role: viewer}]}}\n", `is not the callback URL of this server`},
		{"auth: {oidc: {issuer: 'https://a', clientID: a, redirectURL: 'https://a/api/v1/session/oidc/callback', roles: []}}\n", `is empty, so no user could log in`},
		{"auth: {oidc: {issuer: 'https://a', clientID: a, redirectURL: 'https://a/api/v1/session/oidc/callback', scopes: [email], roles: [{group: a, role: viewer}]}}\n", `must contain openid`},
		{"auth: {oidc: {issuer: 'https://a', clientID: a, clientSecretEnv: A, clientSecretFile: b, redirectURL: 'https://a/api/v1/session/oidc/callback', roles: [{group: a, role: viewer}]}}\n", `the client secret is set twice`},
		{"tls: {clientCA: a}\n", `client certificates need TLS`},
		{"tls: {cert: a, key: b, requireClientCert: true}\n", `needs tls.clientCA`},
		{"auth: {certificates: [{name: a, role: viewer, subject: CN=a}]}\n", `certificate "a" can never be accepted`},
		{"tls: {cert: a, key: b, clientCA: c}\nauth: {certificates: [{name: a, role: viewer}]}\n", `certificate "a" matches nothing`},
		{"tls: {cert: a, key: b, clientCA: c}\nauth: {certificates: [{name: a, role: admin, san: a, pipelines: [b]}]}\n", `an admin certificate cannot be limited`},
		{"auth: {tokens: [{name: a, role: admin, tokenEnv: X, pipelines: [b]}]}\n", `an admin token cannot be limited to pipelines`},
		{"egress: {allow: [10.0.0.0/99]}\n", `egress.allow[0]: "10.0.0.0/99" is not a CIDR block`},
		{"redis: {password: hunter2}\n", `redis.password: a password does not belong in the file`},
		{"alerts: {webhooks: [{url: ftp://x}]}\n", `alerts.webhooks[0].url: is not an http or https URL`},
		{"alerts: {webhooks: [{url: 'https://a'}, {name: webhook-1, url: 'https://b'}]}\n", `alerts.webhooks[1].name: there is another sink named "webhook-1"`},
		{"alerts: {webhooks: [{url: 'https://a', secretEnv: A, secretFile: b}]}\n", `alerts.webhooks[0].secretFile: the secret is set twice`},
		{"alerts: {webhooks: [{url: 'https://a', secret: hunter2}]}\n", `unknown key "secret"; did you mean "secretEnv"?`},
		{"alerts: {slack: {channel: '#data'}}\n", `alerts.slack: the bot token must be set in exactly one place: tokenEnv or tokenFile`},
		{"alerts: {slack: {channel: '#data', tokenEnv: A, apiURL: slack.com}}\n", `alerts.slack.apiURL: is not an http or https URL`},
		{"alerts: {slack: {channel: '#data', token: hunter2}}\n", `alerts.slack.token: unknown key "token"`},
		{"alerts: {pagerduty: {routingKeyEnv: A, routingKeyFile: b}}\n", `alerts.pagerduty: the integration key must be set in exactly one place`},
		{"alerts: {email: {host: 'smtp://x', from: a@b.c, to: [d@e.f]}}\n", `alerts.email.host: `},
		{"alerts: {email: {host: x, from: nobody, to: [d@e.f]}}\n", `alerts.email.from: "nobody" is not an e-mail address`},
		{"alerts: {email: {host: x, from: a@b.c, to: [d@e.f, '']}}\n", `alerts.email.to[1]: "" is not an e-mail address`},
		{"alerts: {email: {host: x, from: a@b.c, to: []}}\n", `alerts.email.to: has no recipient`},
		{"alerts: {email: {host: x, from: a@b.c, to: [d@e.f], username: u}}\n", `alerts.email: the password must be set in exactly one place: passwordEnv or passwordFile`},
		{"alerts: {email: {host: x, from: a@b.c, to: [d@e.f], passwordEnv: P}}\n", `alerts.email.username: username and password must be set together`},
		{"alerts: {email: {host: x, from: a@b.c, to: [d@e.f], username: u, passwordEnv: P, tls: none}}\n", `alerts.email.tls: the password would be sent unencrypted`},
		{"alerts: {email: {host: x, from: a@b.c, to: [d@e.f], tls: maybe}}\n", `alerts.email.tls: unknown value "maybe"`},
		{"alerts: {routes: [{pipelines: ['['], sinks: []}]}\n", `alerts.routes[0].pipelines[0]: "[" is not a pattern`},
		{"alerts: {routes: [{owners: [''], sinks: []}]}\n", `alerts.routes[0].owners[0]: "" is not a pattern`},
		{"alerts: {routes: [{severity: critical}]}\n", `alerts.routes[0].sinks: is required`},
		{"alerts: {routes: [{sinks: [log, slak]}], slack: {channel: '#a', tokenEnv: T}}\n", `interlock.yaml:1:33: alerts.routes[0].sinks[1]: there is no sink "slak"; did you mean "slack"?`},
		{"alerts: {routes: [{sinks: [pager]}]}\n", `alerts.routes[0].sinks[0]: there is no sink "pager"; use one of log`},
		{"alerts: {routes: [{sinks: [log], types: [SLA_BREACHED]}]}\n", `alerts.routes[0].types[0]: there is no event type "SLA_BREACHED"; did you mean "SLA_BREACH"?`},
		{"alerts: {routes: [{sinks: [log], groupBy: [team], interval: 5m}]}\n", `alerts.routes[0].groupBy[0]: there is no field "team"; use one of pipeline, schedule, date, type, severity, owner`},
		{"alerts: {routes: [{sinks: [log], groupBy: [pipeline]}]}\n", `alerts.routes[0].groupBy: needs an interval`},
		{"alerts: {routes: [{name: a, sinks: [log]}, {name: a, sinks: [log]}]}\n", `alerts.routes[1].name: there is another route named "a"`},
		{"alerts: {webhooks: [{name: log, url: 'https://x.example'}]}\n", `alerts.webhooks[0].name: there is another sink named "log"`},
		{"alerts: {routes: [{sinks: [log], severity: critical}]}\n", `alerts.routes: warnings that match no route are not sent`},
		{"alerts: {default: {sinks: [nobody]}}\n", `alerts.default.sinks[0]: there is no sink "nobody"`},
		{"alerts: {baseURL: interlock}\n", `alerts.baseURL: is not an http or https URL`},
		{"engine: {workers: 0}\n", `engine.workers: `},
		{"callbackURL: interlock\n", `callbackURL: is not an http or https URL`},
		{"watchdog: {heartbeatURL: nowhere}\n", `watchdog.heartbeatURL: is not an http or https URL`},
	} {
		_, problems := settings.Parse("interlock.yaml", []byte(c.src))
		if len(problems) == 0 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s got %v, want %q", c.src, problems, c.want)
		}
		for _, p := range problems {
			if strings.Contains(p.Message, "hunter2") {
				t.Errorf("a password is in the message: %s", p)
			}
		}
	}
}

func TestSinksAreNamed(t *testing.T) {
	f := parse(t, `alerts:
  slack: {channel: "#data", tokenFile: /run/secrets/slack}
  pagerduty: {routingKeyEnv: PD}
  email: {host: smtp.example.com, from: "Interlock <interlock@example.com>", to: [ops@example.com], username: u, passwordEnv: P}
  webhooks: [{url: "https://a"}, {name: ops, url: "https://b", secretFile: s}]
`)
	if diff := cmp.Diff([]string{"log", "slack", "pagerduty", "email", "webhook-1", "ops"}, f.Alerts.SinkNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Alerts.Email.TLS != "starttls" || f.Alerts.PagerDuty.APIURL != "https://events.pagerduty.com/" || f.Alerts.Slack.APIURL != "https://slack.com/api/" {
		t.Errorf("defaults: %+v", f.Alerts)
	}
}

func TestOnlyLoopbackNeedsNoTokens(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:8740": true, "localhost:1": true, "[::1]:80": true, "127.8.9.10:0": true,
		"unix:/run/i.sock": true, "0.0.0.0:8740": false, ":8740": false, "[::]:80": false, "10.1.2.3:80": false, "example.com:80": false,
	} {
		f := parse(t, "listen: '"+address+"'\n")
		if got := f.Loopback(); got != want {
			t.Errorf("%s: loopback is %t, want %t", address, got, want)
		}
	}
}

func TestRoutesMayBeWrittenInFull(t *testing.T) {
	f := parse(t, `
alerts:
  baseURL: https://interlock.example.com
  concurrency: 8
  webhooks: [{url: "https://a.example"}, {name: ops, url: "https://b.example"}]
  routes:
    - {name: quiet, pipelines: ["sandbox-*"], sinks: []}
    - {types: [SLA_BREACH], severity: info, owners: [finance], tags: {layer: gold}, sinks: [ops, webhook-1], groupBy: [pipeline], interval: 5m}
  default: {sinks: [log], interval: 1m}
`)
	a := f.Alerts
	if diff := cmp.Diff([]string{"log", "webhook-1", "ops"}, a.SinkNames()); diff != "" {
		t.Errorf("sinks (-want +got):\n%s", diff)
	}
	if a.RouteName(0) != "quiet" || a.RouteName(1) != "route-2" || a.Routes[1].Interval.D() != 5*time.Minute || a.Default.Severity != "warning" || a.Concurrency != 8 {
		t.Errorf("got %+v", a)
	}
}

func TestSecretVariablesAreAllThatTheFileNames(t *testing.T) {
	f, problems := settings.Parse("f", []byte(`
auth: {tokens: [{name: a, role: admin, tokenEnv: TOKEN_A}, {name: b, role: viewer, tokenFile: /b}]}
secrets: {env: [DB_URL, API_KEY]}
redis: {addr: "host:6379", passwordEnv: REDIS}
archive: {dsnEnv: DSN}
alerts:
  slack: {channel: "#data", tokenEnv: SLACK}
  webhooks: [{url: "https://a.example", secretEnv: HOOK}, {url: "https://b.example"}]
  pagerduty: {routingKeyEnv: PAGER}
  email: {host: mail, from: a@b.c, to: [d@e.f], username: u, passwordEnv: MAIL}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := f.SecretVariables()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"API_KEY", "DB_URL", "DSN", "HOOK", "MAIL", "PAGER", "REDIS", "SLACK", "TOKEN_A"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSecretFilesAreAllThatTheFileNames(t *testing.T) {
	f, problems := settings.Parse("f", []byte(`
tls: {cert: /c, key: /k}
auth: {tokens: [{name: a, role: admin, tokenFile: /a}, {name: b, role: viewer, tokenEnv: B}]}
secrets: {files: [/run/secrets]}
jobs: {command: off, user: nobody}
alerts: {webhooks: [{url: "https://a.example", secretFile: /hook}]}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"/run/secrets", "/a", "/hook", "/k"}, f.SecretFiles()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Jobs.Command != "off" || f.Jobs.User != "nobody" {
		t.Errorf("jobs: %+v", f.Jobs)
	}
}

func TestExamplesOfTheManualsAreRight(t *testing.T) {
	for _, page := range []string{"SERVER.md", "ALERTS.md"} {
		blocks := strings.Split(read(t, "../../docs/"+page), "```yaml\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no example", page)
		}
		for _, block := range blocks {
			text, _, _ := strings.Cut(block, "```")
			if _, problems := settings.Parse(page, []byte(text)); len(problems) > 0 {
				t.Errorf("%v in\n%s", problems, text)
			}
		}
	}
}
