package api

import (
	"errors"
	"fmt"
	"time"
)

// Settings is who may use an API, and its limits.
type Settings struct {
	Loopback   bool   // it can be reached from its own machine only
	ReadOnly   string // why nobody may change anything, and what to do instead; empty: whoever has the role may
	Tokens     []Token
	Callbacks  Callbacks
	MaxFuture  time.Duration // how far ahead a reading may be dated; 400 days unless given
	Heartbeat  time.Duration // between two signs of life of an event stream; 15s unless said
	MaxStreams int           // event streams at once; 256 unless said
}

// minSecret is how long a token must be: shorter ones can be guessed.
const minSecret = 16

// Check says why an API must not be started with s.
func (s Settings) Check() error {
	if !s.Loopback && len(s.Tokens) == 0 {
		return errors.New("listening on other than a loopback address needs tokens: add auth.tokens to the server's file, or listen on 127.0.0.1")
	}
	seen := map[string]string{}
	for _, t := range s.Tokens {
		switch other, repeated := seen[t.Secret]; {
		case t.Role == RoleNone:
			return fmt.Errorf("token %q has no role", t.Name)
		case len(t.Secret) < minSecret:
			return fmt.Errorf("token %q has %d characters; make it at least %d long", t.Name, len(t.Secret), minSecret)
		case isCallback(t.Secret):
			return fmt.Errorf("token %q begins with %s, as only callback tokens do", t.Name, callbackPrefix)
		case repeated:
			return fmt.Errorf("tokens %q and %q are the same", other, t.Name)
		}
		seen[t.Secret] = t.Name
	}
	return nil
}

func (s Settings) complete() Settings {
	if s.Heartbeat <= 0 {
		s.Heartbeat = 15 * time.Second
	}
	if s.MaxFuture <= 0 {
		s.MaxFuture = 400 * 24 * time.Hour
	}
	if s.MaxStreams <= 0 {
		s.MaxStreams = 256
	}
	return s
}
