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

// Callbacks gives each attempt the means to report its own result: the address of its run, and a token that is good
// for that attempt and nothing else. The token is the attempt's id as the replica that starts it has signed it, so that none is ever
// stored, and every replica that knows the others' public keys can tell whether it is genuine.
type Callbacks struct {
	Base    string             // the server's address, such as http://127.0.0.1:8740; empty: jobs are given no callback
	Replica string             // who signs; letters and digits
	Key     ed25519.PrivateKey // the same after a restart; without it there are no callbacks
	// KeyOf gives the public key of another replica, ErrNotFound if there is no such replica. It is nil where there is only one.
	KeyOf func(ctx context.Context, replica string) (ed25519.PublicKey, error)
}

// callbackPrefix tells callback tokens from those of the server's file.
const callbackPrefix = "ilcb_"

// permitPrefix tells permits, which workers outside are given for the attempts that they claim.
const permitPrefix = "ilpm_"

// For returns the callback of an attempt; the zero Callback where there is no key to make it with, or no address.
func (c Callbacks) For(key run.Key, attempt int) job.Callback {
	if len(c.Key) == 0 || c.Base == "" {
		return job.Callback{}
	}
	return job.Callback{URL: c.url(key), Token: c.sign(callbackPrefix, key, attempt)}
}

// url is where the result of a run's job is reported.
func (c Callbacks) url(key run.Key) string {
	return strings.TrimSuffix(c.Base, "/") + runPath(key) + "/job"
}

// sign makes the token of an attempt, of the kind that begins with prefix. The same replica makes the same token each time.
func (c Callbacks) sign(prefix string, key run.Key, attempt int) string {
	signature := ed25519.Sign(c.Key, signedText(prefix, key, attempt))
	return prefix + strconv.Itoa(attempt) + "_" + c.Replica + "_" + base64.RawURLEncoding.EncodeToString(signature)
}

// signedText is what is signed: neither kind of token passes for the other.
func signedText(prefix string, key run.Key, attempt int) []byte {
	kind := "callback"
	if prefix == permitPrefix {
		kind = "permit"
	}
	return []byte(kind + "\x00" + string(key.Attempt(attempt)))
}

// runPath is where a run is found under the server's address.
func runPath(key run.Key) string {
	return prefix + "/runs/" + url.PathEscape(string(key.Pipeline)) + "/" + url.PathEscape(string(key.Schedule)) + "/" + url.PathEscape(key.Period.String())
}

func isCallback(token string) bool {
	return strings.HasPrefix(token, callbackPrefix) || isPermit(token)
}

func isPermit(token string) bool { return strings.HasPrefix(token, permitPrefix) }

// ephemeral is callbacks of this process alone, for a server that has no key: it makes and recognises permits as long as it runs.
func (c Callbacks) ephemeral() Callbacks {
	if len(c.Key) > 0 {
		return c
	}
	_, key, _ := ed25519.GenerateKey(nil) // it never fails
	return Callbacks{Base: c.Base, Replica: "local", Key: key}
}

// attempt is the attempt of key that token was made for.
func (c Callbacks) attempt(ctx context.Context, token string, key run.Key) (int, error) {
	kind, what := callbackPrefix, "callback token"
	if isPermit(token) {
		kind, what = permitPrefix, "permit"
	}
	parts := strings.SplitN(strings.TrimPrefix(token, kind), "_", 3)
	foreign := problem(http.StatusForbidden, plainKind, "the %s was not made for run %s", what, key)
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

// maxReplica bounds what is looked up for those who only say that they are a job.
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
