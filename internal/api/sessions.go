package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// maxSessionID is the longest session id that is looked up.
const maxSessionID = 64

// touchParts divides the idle time: the last use of a session is stored once per part, so that a
// dashboard's reads do not each write a row.
const touchParts = 16

// sessions manages the sessions of browsers. Each is a note in the store, so that every replica
// accepts it, it survives a restart, and a logout ends it everywhere. The store holds only hashes
// of session ids and tokens.
type sessions struct {
	store interface {
		store.Committer
		Note(ctx context.Context, kind store.NoteKind, key string) (store.Note, error)
	}
	oidc     *OIDC         // nil: no sessions without a token
	lifetime time.Duration // from login
	idle     time.Duration // since the last request
}

// session is the stored form of a session.
type session struct {
	// Binding is a hash of the session's id and its token's hash. A session is valid for as long as
	// the server still has the token, and has the role that the token has now.
	Binding []byte    `json:"binding,omitempty"`
	User    *oidcUser `json:"user,omitempty"` // the user that logged in at an OpenID Connect provider, without a token
	Opened  time.Time `json:"opened"`
	Used    time.Time `json:"used"`
	Revoked bool      `json:"revoked,omitempty"`
}

// expires returns when a session ends, used or not.
func (s *sessions) expires(of session) time.Time { return of.Opened.Add(s.lifetime) }

// until returns when a session ends unless it is used again.
func (s *sessions) until(of session) time.Time {
	return period.Earlier(s.expires(of), of.Used.Add(s.idle))
}

// open stores a new session, for a token or for next.User. It returns the session's id, which only
// the browser keeps, and when the session ends.
func (s *sessions) open(ctx context.Context, next session, token *key, now time.Time) (id string, expires time.Time, err error) {
	id = rand.Text()
	next.Opened, next.Used = now, now
	if token != nil {
		next.Binding = binding(id, token)
	}
	if err := s.swap(ctx, id, store.Note{}, next, now); err != nil {
		return "", time.Time{}, fmt.Errorf("store the session: %w", err)
	}
	return id, s.expires(next), nil
}

// find returns the client that logged in with a session; false if the session is unknown, revoked
// or expired, its token is no longer among keys, or its user's groups no longer have a role.
func (s *sessions) find(ctx context.Context, id string, keys *keys, now time.Time) (principal, bool, error) {
	note, of, err := s.read(ctx, id)
	if err != nil || note.Version == 0 || of.Revoked || !now.Before(s.until(of)) {
		return principal{}, false, err
	}
	who, ok := s.principal(id, of, keys)
	if !ok {
		return principal{}, false, nil
	}
	if now.Sub(of.Used) >= s.idle/touchParts {
		of.Used = now
		// On a conflict, another request has stored its use, or a logout has ended the session.
		if err := s.swap(ctx, id, note, of, now); err != nil && !errors.Is(err, store.ErrConflict) {
			return principal{}, false, fmt.Errorf("store the use of the session: %w", err)
		}
	}
	who.expires = s.expires(of)
	return who, true, nil
}

// principal returns what the client of a session may do now.
func (s *sessions) principal(id string, of session, keys *keys) (principal, bool) {
	if of.User != nil {
		return s.oidc.principal(*of.User)
	}
	if token := keys.bound(id, of.Binding); token != nil {
		return token.principal, true
	}
	return principal{}, false
}

// revoke ends a session. It does nothing if there is none.
func (s *sessions) revoke(ctx context.Context, id string, now time.Time) error {
	return store.Again(func() error {
		note, of, err := s.read(ctx, id)
		if err != nil || note.Version == 0 || of.Revoked {
			return err
		}
		of.Revoked = true
		if err := s.swap(ctx, id, note, of, now); err != nil {
			return fmt.Errorf("end the session: %w", err)
		}
		return nil
	})
}

// read returns the note of a session; the zero Note if there is none.
func (s *sessions) read(ctx context.Context, id string) (store.Note, session, error) {
	note, err := store.IfFound(s.store.Note(ctx, store.SessionNote, sessionKey(id)))
	var of session
	if err == nil && note.Version > 0 {
		err = json.Unmarshal(note.Data, &of)
	}
	if err != nil {
		return store.Note{}, session{}, fmt.Errorf("read the session: %w", err)
	}
	return note, of, nil
}

func (s *sessions) swap(ctx context.Context, id string, read store.Note, next session, now time.Time) error {
	key := sessionKey(id)
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("session/%s/v%d/%s", key, read.Version, rand.Text())}
	b.SwapNote(read, store.Note{Kind: store.SessionNote, Key: key, Data: data, Until: s.until(next)})
	return s.store.Commit(ctx, b, now)
}

// sessionKey returns the name of a session in the store, which does not reveal its id.
func sessionKey(id string) string {
	sum := sha256.Sum256([]byte("session\x00" + id))
	return hex.EncodeToString(sum[:])
}

// binding ties a session to its token. Without the session's id, which is not in the store, it
// reveals nothing about the token.
func binding(id string, token *key) []byte {
	sum := sha256.Sum256([]byte("binding\x00" + id + "\x00" + string(token.hash[:])))
	return sum[:]
}

// bound returns the token that a session was opened with; nil if it was removed.
func (k *keys) bound(id string, to []byte) *key {
	var found *key
	for i := range k.who {
		if subtle.ConstantTimeCompare(binding(id, &k.who[i]), to) == 1 {
			found = &k.who[i]
		}
	}
	return found
}
