package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// Schema is the JSON Schema of the server's file.
func Schema() *jsonschema.Schema {
	return document.Schema(File{}, "server", "Interlock server",
		"The server's file, interlock.yaml: its address, its clients and their roles, its store, and its alerts.")
}

// Default returns the settings without a file.
func Default() File {
	f, _ := Parse("", []byte("{}"))
	return f
}

// Parse parses the server's file, which may be empty. A file with errors among its problems must
// not be used.
func Parse(name string, src []byte) (File, []document.Problem) {
	var f File
	doc, problems := document.ParseOptional(name, src)
	if doc == nil {
		return f, problems
	}
	problems = append(problems, doc.Decode(&f)...)
	wrong := make([]string, len(problems))
	for i, p := range problems {
		wrong[i] = p.Path
	}
	problems = append(problems, doc.Resolve(doc.Root().Independent(f.check(doc.Has("store")), wrong)...)...)
	document.SortProblems(problems)
	f.complete()
	return f, problems
}

// complete sets defaults that tags cannot express.
func (f *File) complete() {
	for dir, list := range map[string]*document.TextOrList{"./pipelines": &f.Pipelines, "./calendars": &f.Calendars, "./archetypes": &f.Archetypes, "./sources": &f.Sources} {
		if list.Values == nil {
			list.Values = []string{dir}
		}
	}
	if o := f.Auth.OIDC; o != nil && len(o.Scopes) == 0 {
		o.Scopes = []string{"openid", "profile", "email", "groups"}
	}
	if f.Redis != nil && f.Redis.Addr != "" && f.Store == "sqlite" {
		f.Store = f.Redis.url()
	}
	if a := f.Archiver; a != nil && a.Enabled {
		f.Archive.Interval = a.Interval
	}
}

// Loopback reports whether the server can only be reached from its own machine.
func (f *File) Loopback() bool {
	if _, ok := f.Socket(); ok {
		return true
	}
	host, ok := listenHost(f.Listen)
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return ok && err == nil && addr.IsLoopback()
}

// Socket returns the path of the Unix socket that the server listens on; false if it listens on an
// address.
func (f *File) Socket() (string, bool) { return strings.CutPrefix(f.Listen, socketPrefix) }

const socketPrefix = "unix:"

// SecretVariables lists the environment variables that hold secrets: those in secrets.env, and
// every one that a key named …Env names.
func (f *File) SecretVariables() []string {
	return append(slices.Clone(f.Secrets.Env), textsOf(reflect.ValueOf(*f), "Env")...)
}

// SecretFiles lists the files and directories that hold secrets: those in secrets.files, the TLS
// key, and every one that a key named …File names.
func (f *File) SecretFiles() []string {
	files := append(slices.Clone(f.Secrets.Files), textsOf(reflect.ValueOf(*f), "File")...)
	if f.TLS.Key != "" {
		files = append(files, f.TLS.Key)
	}
	return files
}

// textsOf lists the texts in v whose keys have that ending.
func textsOf(v reflect.Value, ending string) []string {
	var texts []string
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			texts = textsOf(v.Elem(), ending)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts = append(texts, textsOf(v.Index(i), ending)...)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Type.Kind() == reflect.String && strings.HasSuffix(field.Tag.Get("yaml"), ending) && value.String() != "" {
				texts = append(texts, value.String())
			}
			texts = append(texts, textsOf(value, ending)...)
		}
	}
	return texts
}

// CheckListen returns an error unless text is an address or a socket to listen on.
func CheckListen(text string) error {
	if path, isSocket := strings.CutPrefix(text, socketPrefix); isSocket {
		if path == "" {
			return errors.New("has no socket path; write unix:/path/to/socket")
		}
		return nil
	}
	if _, isAddress := listenHost(text); !isAddress {
		return fmt.Errorf("%q is not an address; write host:port, such as 127.0.0.1:8740, or unix:/path/to/socket", text)
	}
	return nil
}

// listenHost returns the host of host:port; an IPv6 address is in brackets.
func listenHost(address string) (string, bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 {
		return "", false
	}
	host := address[:i]
	if port, err := strconv.ParseUint(address[i+1:], 10, 16); err != nil || port > 65535 {
		return "", false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		return strings.CutSuffix(inner, "]")
	}
	return host, !strings.Contains(host, ":")
}

// check reports mistakes that the struct tags cannot express. storeSet says whether the file names a
// store, be it the default.
func (f *File) check(storeSet bool) []document.Finding {
	return slices.Concat(
		f.checkAddresses(),
		document.Each("auth.tokens", f.Auth.Tokens, Token.check),
		document.Each("auth.certificates", f.Auth.Certificates, func(c Certificate) []document.Finding { return c.check(f.TLS) }),
		document.Each("http.trustedProxies", f.HTTP.TrustedProxies, checkProxy),
		section("auth.oidc", f.Auth.OIDC, (*OIDC).check),
		document.Each("egress.allow", f.Egress.Allow, checkEgress),
		section("redis", f.Redis, func(r *Redis) []document.Finding { return r.check(storeSet) }),
		document.When(f.Archiver != nil && f.Archiver.DSN != "", document.Finding{Path: "archiver.dsn", Severity: document.Warning, Message: "contains a password; put it into an environment variable and name the variable in archive.dsnEnv"}),
		document.Under("retention", f.Retention.check()),
		f.Alerts.check(),
	)
}

// leastRuns is longer than a quarter: a quarterly pipeline may wait for the runs of all its days.
const leastRuns = 100 * 24 * time.Hour

// leastBytes is the smallest limit of bytes that is not a mistake in its unit.
const leastBytes = 1 << 20

func (r Retention) check() []document.Finding {
	others := max(r.Events, r.History, r.JobLog)
	small := func(path string, s document.Size) []document.Finding {
		return document.When(s > 0 && s < leastBytes, document.Finding{Path: path, Message: fmt.Sprintf("must be at least 1MiB, or 0 for no limit, found %s", s)})
	}
	return slices.Concat(
		document.When(r.Runs > 0 && r.Runs.D() < leastRuns, document.Finding{Path: "runs", Message: "must be at least 100d, because a quarterly pipeline may wait for the runs of all its days; 0s keeps them forever"}),
		document.When(r.Runs > 0 && r.Runs < others, document.Finding{Path: "runs", Message: "must not be shorter than events, history and jobLog, which are about runs"}),
		small("eventsBytes", r.EventsBytes), small("historyBytes", r.HistoryBytes),
	)
}

func checkProxy(text string) []document.Finding {
	_, err := parseNetwork(text)
	return document.When(err != nil, document.Finding{Message: fmt.Sprintf("%q is neither an address nor a CIDR block; write 10.0.0.0/8 or 192.0.2.10", text)})
}

// checkEgress accepts what package egress accepts.
func checkEgress(text string) []document.Finding {
	_, noNetwork := netip.ParsePrefix(text)
	_, noAddress := netip.ParseAddr(strings.Trim(text, "[]"))
	switch isNetwork := strings.Contains(text, "/") && !strings.Contains(text, "://"); {
	case isNetwork && noNetwork != nil:
		return []document.Finding{{Message: fmt.Sprintf("%q is not a CIDR block; write 10.0.0.0/8, or a host name", text)}}
	case !isNetwork && noAddress != nil && (text == "" || strings.ContainsAny(text, "/:*@ \t?#")):
		return []document.Finding{{Message: fmt.Sprintf("%q is not a host; write its name without scheme, port or wildcard, such as airflow.internal", text)}}
	}
	return nil
}

func (f *File) checkAddresses() []document.Finding {
	tls := f.TLS
	listen := CheckListen(f.Listen)
	findings := slices.Concat(
		document.When(listen != nil, document.Finding{Path: "listen", Message: fmt.Sprint(listen)}),
		document.When((tls.Cert == "") != (tls.Key == ""), document.Finding{Path: "tls.cert", Also: []string{"tls.key"}, Message: "the certificate and the key must be set together"}),
		document.When(tls.ClientCA != "" && tls.Cert == "", document.Finding{Path: "tls.clientCA", Also: []string{"tls.cert"}, Message: "client certificates need TLS; set tls.cert and tls.key"}),
		document.When(tls.RequireClientCert && tls.ClientCA == "", document.Finding{Path: "tls.requireClientCert", Also: []string{"tls.clientCA"}, Message: "needs tls.clientCA, the certificate authorities to accept"}),
		checkStore(f.Store),
		document.When(f.CallbackURL != "" && !isHTTP(f.CallbackURL), notHTTP("callbackURL")),
		document.When(f.Watchdog.HeartbeatURL != "" && !isHTTP(f.Watchdog.HeartbeatURL), notHTTP("watchdog.heartbeatURL")),
	)
	if _, isSocket := f.Socket(); isSocket {
		findings = append(findings, f.checkSocket()...)
	}
	return findings
}

func (f *File) checkSocket() []document.Finding {
	return slices.Concat(
		document.When(f.TLS.Cert != "", document.Finding{Path: "tls.cert", Also: []string{"listen"}, Message: "a socket has no TLS; remove tls, or listen on an address"}),
		document.When(f.CallbackURL == "", document.Finding{Path: "listen", Severity: document.Warning, Message: "jobs get no callback URL, because a socket has none; if they need one, set callbackURL to a proxy in front of the socket"}),
	)
}

func (t Token) check() []document.Finding {
	findings := oneOf(fmt.Sprintf("the token of %q", t.Name), "tokenEnv", t.TokenEnv, "tokenFile", t.TokenFile)
	return append(findings, checkLimit("token", t.Role, t.Pipelines)...)
}

func (c Certificate) check(t TLS) []document.Finding {
	return slices.Concat(
		document.When(t.ClientCA == "", document.Finding{Path: "name", Message: fmt.Sprintf("certificate %q can never be accepted; set tls.clientCA to the authorities that issue it", c.Name)}),
		document.When(c.Subject == "" && c.SAN == "", document.Finding{Path: "name", Message: fmt.Sprintf("certificate %q matches nothing; set subject or san", c.Name)}),
		checkLimit("certificate", c.Role, c.Pipelines),
	)
}

// callbackPath is where a provider redirects browsers to.
const callbackPath = "/api/v1/session/oidc/callback"

func (o *OIDC) check() []document.Finding {
	return slices.Concat(
		checkHTTP("issuer", o.Issuer),
		document.When(!isHTTP(o.RedirectURL) || !strings.HasSuffix(o.RedirectURL, callbackPath), document.Finding{Path: "redirectURL", Message: "is not the callback URL of this server; write https://HOST" + callbackPath}),
		document.When(o.ClientSecretEnv != "" && o.ClientSecretFile != "", document.Finding{Path: "clientSecretEnv", Also: []string{"clientSecretFile"}, Message: "the client secret is set twice; use clientSecretEnv or clientSecretFile"}),
		document.When(len(o.Scopes) > 0 && !slices.Contains(o.Scopes, "openid"), document.Finding{Path: "scopes", Message: "must contain openid: without it the provider sends no ID token"}),
		document.When(len(o.Roles) == 0, document.Finding{Path: "roles", Message: "is empty, so no user could log in; write [{group: data, role: viewer}]"}),
		document.Each("roles", o.Roles, func(r GroupRole) []document.Finding { return checkLimit("group", r.Role, r.Pipelines) }),
	)
}

// checkLimit checks the pipelines that a token or certificate is limited to.
func checkLimit(what, role string, patterns []string) []document.Finding {
	return append(document.When(len(patterns) > 0 && role == "admin", document.Finding{
		Path: "pipelines", Also: []string{"role"}, Message: "an admin " + what + " cannot be limited to pipelines; use the role operator, or remove pipelines",
	}), document.Each("pipelines", patterns, checkPattern)...)
}

func checkPattern(pattern string) []document.Finding {
	_, err := path.Match(pattern, "")
	return document.When(err != nil || pattern == "", document.Finding{Message: fmt.Sprintf("%q is not a pattern; write an id, with * for any characters", pattern)})
}

func (a Alerts) check() []document.Finding {
	return slices.Concat(
		document.Under("alerts", a.checkPlaces()),
		document.When(a.BaseURL != "" && !isHTTP(a.BaseURL), document.Finding{Path: "alerts.baseURL", Message: "is not an http or https URL; write the public URL, such as https://interlock.example.com"}),
		a.checkRoutes(),
	)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil
}
