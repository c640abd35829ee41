package api

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Callbacks lets each attempt report its own result: it holds the address of its run, and a token
// that is valid only for that attempt. The token is the attempt's id, signed by the replica that
// starts it. So no token is ever stored, and every replica that knows the others' public keys can
// verify it.
type Callbacks struct {
	Base    string             // the server's address, such as http://127.0.0.1:8740; empty: jobs get no callback
	Replica string             // the replica that signs; letters and digits
	Key     ed25519.PrivateKey // the same after a restart; empty: no callbacks
	// KeyOf returns the public key of another replica, or ErrNotFound. It is nil if there is only
	// one replica.
	KeyOf func(ctx context.Context, replica string) (ed25519.PublicKey, error)
}

// callbackPrefix marks callback tokens, so that they differ from those of the server's file.
const callbackPrefix = "ilcb_"

// permitPrefix marks permits, which external workers get for the attempts they claim.
const permitPrefix = "ilpm_"

// For returns the callback of an attempt; the zero Callback if there is no key or no address.
func (c Callbacks) For(key run.Key, attempt int) job.Callback {
	if len(c.Key) == 0 || c.Base == "" {
		return job.Callback{}
	}
	return job.Callback{URL: c.url(key), Token: c.sign(callbackPrefix, key, attempt)}
}

// url returns the address that a run's job reports its result to.
func (c Callbacks) url(key run.Key) string {
	return strings.TrimSuffix(c.Base, "/") + runPath(key) + "/job"
}

// sign returns the token of an attempt, of the kind that prefix names. A replica always returns the
// same token for an attempt. A permit names its run, because the paths of some routes do not.
func (c Callbacks) sign(prefix string, key run.Key, attempt int) string {
	signature := ed25519.Sign(c.Key, signedText(prefix, key, attempt))
	token := prefix + strconv.Itoa(attempt) + "_" + c.Replica + "_" + base64.RawURLEncoding.EncodeToString(signature)
	if prefix == permitPrefix {
		token += "." + base64.RawURLEncoding.EncodeToString([]byte(key.String()))
	}
	return token
}

// runOf returns the run that a permit names, which may be forged.
func runOf(permit string) (run.Key, error) {
	_, encoded, _ := strings.Cut(permit, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return run.Key{}, err
	}
	return run.ParseKey(string(text))
}

// signedText returns the text to sign. It includes the kind, so that neither kind of token is valid
// as the other.
func signedText(prefix string, key run.Key, attempt int) []byte {
	kind := "callback"
	if prefix == permitPrefix {
		kind = "permit"
	}
	return []byte(kind + "\x00" + string(key.Attempt(attempt)))
}

// runPath returns the path of a run.
func runPath(key run.Key) string {
	return prefix + "/runs/" + url.PathEscape(string(key.Pipeline)) + "/" + url.PathEscape(string(key.Schedule)) + "/" + url.PathEscape(key.Period.String())
}

func isCallback(token string) bool {
	return strings.HasPrefix(token, callbackPrefix) || isPermit(token)
}

func isPermit(token string) bool { return strings.HasPrefix(token, permitPrefix) }

// ephemeral returns callbacks with a key of this process, for a server that has no key: permits are
// valid until it stops.
func (c Callbacks) ephemeral() Callbacks {
	if len(c.Key) > 0 {
		return c
	}
	_, key, _ := ed25519.GenerateKey(nil) // never fails
	return Callbacks{Base: c.Base, Replica: "local", Key: key}
}

// attempt verifies a token and returns the attempt of key that it was signed for.
func (c Callbacks) attempt(ctx context.Context, token string, key run.Key) (int, error) {
	kind, what := callbackPrefix, "callback token"
	if isPermit(token) {
		kind, what = permitPrefix, "permit"
	}
	signed, _, _ := strings.Cut(token, ".")
	parts := strings.SplitN(strings.TrimPrefix(signed, kind), "_", 3)
	foreign := problem(http.StatusForbidden, plainKind, "the %s is not valid for run %s", what, key)
	if len(parts) != 3 {
		return 0, foreign
	}
	n, malformed := strconv.Atoi(parts[0])
	signature, undecoded := base64.RawURLEncoding.DecodeString(parts[2])
	if malformed != nil || undecoded != nil || n < 1 {
		return 0, foreign
	}
	public, err := c.keyOf(ctx, parts[1])
	if errors.Is(err, store.ErrNotFound) {
		return 0, foreign
	}
	if err != nil {
		return 0, fmt.Errorf("read the key of replica %s: %w", parts[1], err)
	}
	if !ed25519.Verify(public, signedText(kind, key, n), signature) {
		return 0, foreign
	}
	return n, nil
}

// maxReplica is the longest replica name that is looked up: anyone can send a token that looks like
// a job's.
const maxReplica = 64

func (c Callbacks) keyOf(ctx context.Context, replica string) (ed25519.PublicKey, error) {
	switch {
	case len(c.Key) > 0 && replica == c.Replica:
		return c.Key.Public().(ed25519.PublicKey), nil
	case c.KeyOf == nil || replica == "" || len(replica) > maxReplica:
		return nil, store.ErrNotFound
	}
	public, err := c.KeyOf(ctx, replica)
	if err == nil && len(public) != ed25519.PublicKeySize {
		err = store.ErrNotFound
	}
	return public, err
}
