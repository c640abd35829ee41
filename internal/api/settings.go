package api

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
)

// Settings says who may use an API, and its limits.
type Settings struct {
	Loopback     bool   // the server can be reached only from its own machine
	ReadOnly     string // why changes are rejected, and what to do instead; empty: they are allowed
	Tokens       []Token
	Certificates []Certificate // of clients that the server has verified
	OIDC         *OIDC         // login at an OpenID Connect provider; nil: none
	Callbacks    Callbacks
	Proxies      Proxies       // proxies whose X-Forwarded headers are trusted
	MaxFuture    time.Duration // how far ahead a reading may be dated; 400 days by default
	Heartbeat    time.Duration // interval between heartbeats of an event stream; 15s by default
	MaxStreams   int           // event streams at once; 256 by default

	StreamsPerToken int           // event streams of one token at once; 64 by default
	SessionLifetime time.Duration // of a browser's session, from login; 7 days by default
	SessionIdle     time.Duration // after this long without a request a session ends; 24 hours by default
	Limits          Limits        // of each pipeline and token; DefaultLimits where 0
}

// minSecret is the minimum length of a token: shorter ones can be guessed.
const minSecret = 16

// SetTokens replaces the tokens that the API accepts. Sessions and event streams of removed tokens
// end. It returns an error, and keeps the current tokens, if the settings with the new ones are
// invalid.
func (a *API) SetTokens(tokens []Token) error {
	next := a.settings
	next.Tokens = tokens
	if err := next.Check(); err != nil {
		return err
	}
	if !next.requiresAuth() && a.requiresAuth() {
		return errors.New("tokens cannot all be removed while the server runs: restart it without auth.tokens")
	}
	a.keys.Store(newKeys(tokens))
	return nil
}

// Check returns an error if s is invalid.
func (s Settings) Check() error {
	if !s.Loopback && !s.requiresAuth() {
		return errors.New("listening on a non-loopback address needs tokens: add auth.tokens to the server's file, or listen on 127.0.0.1")
	}
	seen := map[string]string{}
	for _, t := range s.Tokens {
		switch other, repeated := seen[t.Secret]; {
		case t.Role == RoleNone:
			return fmt.Errorf("token %q has no role", t.Name)
		case len(t.Secret) < minSecret:
			return fmt.Errorf("token %q has %d characters; make it at least %d long", t.Name, len(t.Secret), minSecret)
		case isCallback(t.Secret):
			return fmt.Errorf("token %q begins with %s, as only callback tokens and permits do", t.Name, t.Secret[:len(callbackPrefix)])
		case repeated:
			return fmt.Errorf("tokens %q and %q are the same", other, t.Name)
		}
		seen[t.Secret] = t.Name
	}
	return nil
}

// requiresAuth reports whether requests need a token, a certificate or a session.
func (s Settings) requiresAuth() bool {
	return len(s.Tokens) > 0 || len(s.Certificates) > 0 || s.OIDC != nil
}

// withDefaults returns s with the defaults of the values that are not set.
func (s Settings) withDefaults() Settings {
	s.Heartbeat = cmp.Or(s.Heartbeat, 15*time.Second)
	s.MaxFuture = cmp.Or(s.MaxFuture, catalog.MaxFuture)
	s.MaxStreams = cmp.Or(s.MaxStreams, 256)
	s.StreamsPerToken = cmp.Or(s.StreamsPerToken, 64)
	s.SessionLifetime = cmp.Or(s.SessionLifetime, 7*24*time.Hour)
	s.SessionIdle = cmp.Or(s.SessionIdle, 24*time.Hour)
	s.Limits.SensorKeys = cmp.Or(s.Limits.SensorKeys, DefaultLimits.SensorKeys)
	s.Limits.SensorBytes = cmp.Or(s.Limits.SensorBytes, DefaultLimits.SensorBytes)
	s.Limits.OpenRuns = cmp.Or(s.Limits.OpenRuns, DefaultLimits.OpenRuns)
	s.Limits.WriteBytes = cmp.Or(s.Limits.WriteBytes, DefaultLimits.WriteBytes)
	s.Limits.TokenWriteBytes = cmp.Or(s.Limits.TokenWriteBytes, DefaultLimits.TokenWriteBytes)
	return s
}
