package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// Role says what a client may do. Each role includes the roles before it, except that a runner may
// not write readings: a worker that could would open its own gate.
type Role uint8

// The roles, from least to most.
const (
	RoleNone     Role = iota
	RoleViewer        // reads
	RoleSensor        // writes readings
	RoleRunner        // claims, runs and reports jobs of other schedulers, opens on-demand runs
	RoleOperator      // opens, repeats and ends runs, pauses pipelines
	RoleAdmin         // everything
)

// ParseRole parses a role as the server's file names it.
func ParseRole(name string) (Role, error) {
	for r := RoleViewer; r <= RoleAdmin; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return RoleNone, fmt.Errorf("role %.40q is unknown: use viewer, sensor, runner, operator or admin", name)
}

// String returns the role's name in the server's file.
func (r Role) String() string {
	return [...]string{"none", "viewer", "sensor", "runner", "operator", "admin"}[r]
}

// includes reports whether r may do what requires the other role.
func (r Role) includes(other Role) bool {
	return r >= other && !(r == RoleRunner && other == RoleSensor)
}

// Token is a bearer token with its role and pipelines.
type Token struct {
	Name      string // the client's name, recorded with its actions
	Role      Role
	Pipelines []string // patterns of the pipelines it is limited to; empty: all
	Secret    string   // the token itself
}

// principal is the client that makes a request.
type principal struct {
	name      string
	role      Role
	pipelines []string
	callback  string    // the callback token of the request, checked against the run it is used for
	expires   time.Time // when its session ends; zero without a session
}

// sees reports whether p may see a pipeline.
func (p principal) sees(id pipeline.ID) bool {
	return p.unlimited() || slices.ContainsFunc(p.pipelines, func(pattern string) bool {
		ok, err := path.Match(pattern, string(id))
		return err == nil && ok
	})
}

// seesAbout reports whether p may see an item about a pipeline. An item about none is for clients
// that see all of them.
func (p principal) seesAbout(id pipeline.ID) bool {
	if id == "" {
		return p.unlimited()
	}
	return p.sees(id)
}

// unlimited reports whether p may see all pipelines.
func (p principal) unlimited() bool { return len(p.pipelines) == 0 }

// may returns nil if p has the role and, if id is given, may see that pipeline; otherwise the
// Problem says why not.
func (p principal) may(role Role, id pipeline.ID) *Problem {
	switch {
	case !p.role.includes(role):
		return problem(http.StatusForbidden, plainKind, "this needs the role %s; the token has the role %s", role, p.role)
	case id != "" && !p.sees(id):
		return problem(http.StatusForbidden, plainKind, "the token is limited to pipelines other than %.140q", id)
	}
	return nil
}

// by returns the name to record: the token's name, with the person that the request names.
func (p principal) by(said string) string {
	switch {
	case p.name == "":
		return said
	case said == "":
		return p.name
	}
	return said + " (" + p.name + ")"
}

// keys recognises tokens. It keeps only their hashes and compares all of them, so that the response
// time does not show how close a guess was.
type keys struct{ who []key }

type key struct {
	principal
	hash   [sha256.Size]byte
	logins *allowance // for sessions: each is a row in the store
}

func newKeys(tokens []Token) *keys {
	k := &keys{}
	for _, t := range tokens {
		k.who = append(k.who, key{principal{name: t.Name, role: t.Role, pipelines: t.Pipelines}, sha256.Sum256([]byte(t.Secret)), new(allowance)})
	}
	return k
}

// find returns the token with that secret; nil if there is none.
func (k *keys) find(secret string) *key {
	hash := sha256.Sum256([]byte(secret))
	var found *key
	for i := range k.who {
		if subtle.ConstantTimeCompare(hash[:], k.who[i].hash[:]) == 1 {
			found = &k.who[i]
		}
	}
	return found
}

// authenticate returns the client that makes a request. On a server without tokens, every client on
// a loopback address is an admin, and all others are rejected.
//
// A known token is always accepted, however many unknown tokens came from its address: many clients
// share an address behind a proxy, and a misconfigured one must not block the others.
func (a *API) authenticate(r *http.Request, c *call) (principal, *Problem) {
	secret, given := bearer(r)
	if given && isCallback(secret) {
		name := "the job itself"
		if isPermit(secret) {
			name = "the worker"
		}
		return principal{name: name, callback: secret}, nil
	}
	keys := a.keys.Load()
	if !a.requiresAuth() {
		if !a.settings.Loopback {
			return principal{}, unauthorized("the server has no tokens, so it accepts requests on loopback addresses only")
		}
		if a.settings.ReadOnly != "" {
			return principal{role: RoleViewer}, nil
		}
		return principal{role: RoleAdmin}, nil
	}
	if given {
		if token := keys.find(secret); token != nil {
			return token.principal, nil
		}
		return principal{}, a.unknownToken(c, "authenticate").with("WWW-Authenticate", `Bearer realm="interlock", error="invalid_token"`)
	}
	if id, given := sessionID(r); given {
		who, ok, err := a.sessions.find(r.Context(), id, keys, a.now())
		switch {
		case ok:
			return who, nil
		case err != nil && !public(r):
			return principal{}, problemOf(err)
		}
	}
	cert := clientCertificate(r)
	for _, c := range a.settings.Certificates {
		if cert != nil && c.fits(cert) {
			return principal{name: c.Name, role: c.Role, pipelines: c.Pipelines}, nil
		}
	}
	if public(r) {
		return principal{}, nil
	}
	if cert != nil {
		return principal{}, unauthorized("the client certificate is valid, but auth.certificates has no entry for subject %.200q or its alternative names %.400q", cert.Subject, alternativeNames(cert))
	}
	return principal{}, unauthorized("this request needs a token; send the header Authorization: Bearer TOKEN, or log in")
}

func unauthorized(format string, args ...any) *Problem {
	return problem(http.StatusUnauthorized, plainKind, format, args...).with("WWW-Authenticate", `Bearer realm="interlock"`)
}

// unknownToken counts and records a request with an unknown token, and returns its response.
func (a *API) unknownToken(c *call, action string) *Problem {
	a.guesses.failed(c.address(), a.now())
	p := unauthorized("unknown token")
	a.recordRefusal(c, action, &a.auditor.unknown, p)
	return p
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (string, bool) {
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	return strings.TrimSpace(secret), true
}

// public reports whether a request needs no token: those that show nothing about pipelines, the proof
// of the controller's identity, and the dashboard's files, which ask the user to log in.
func public(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/openapi.json":
		return true
	case "/metrics":
		return false
	case cloudEventsPath:
		return r.Method == http.MethodOptions
	case sessionPath:
		return r.Method == http.MethodPost || r.Method == http.MethodDelete
	case prefix + oidcPath, OIDCCallback, prefix + "/session/methods", IdentityPath:
		return reads(r)
	}
	return !strings.HasPrefix(r.URL.Path, prefix+"/") && reads(r)
}

// Certificate is a client certificate and what its holder may do. The server has verified that a
// trusted authority issued it.
type Certificate struct {
	Name      string // recorded with its actions
	Role      Role
	Pipelines []string // patterns of the pipelines it is limited to; empty: all
	Subject   string   // the whole subject, as in CN=etl,O=Data; empty: any
	SAN       string   // one of the alternative names; empty: any
}

// fits reports whether cert matches c. A Certificate with neither Subject nor SAN matches none.
func (c Certificate) fits(cert *x509.Certificate) bool {
	if c.Subject == "" && c.SAN == "" {
		return false
	}
	return (c.Subject == "" || c.Subject == cert.Subject.String()) && (c.SAN == "" || slices.Contains(alternativeNames(cert), c.SAN))
}

// alternativeNames returns the DNS names, URIs, e-mail and IP addresses of a certificate.
func alternativeNames(cert *x509.Certificate) []string {
	names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// clientCertificate returns the verified certificate of a connection; nil if there is none.
func clientCertificate(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}
