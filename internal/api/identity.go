package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// IdentityPath is the path at which a controller proves its Identity.
const IdentityPath = prefix + "/identity"

// Identity is what two controllers compare to find out whether they are replicas on one store.
type Identity struct {
	Store     []byte        // a key that only controllers on the same store have; nil: there is no identity to prove
	Pipelines func() string // a digest of the active pipeline files
}

// Proof proves an Identity to a client that has the same, and reveals nothing to others.
type Proof struct {
	Store     string `json:"store" doc:"The same for all controllers on one store, and different for others: an HMAC of the nonce with a key in the store."`
	Pipelines string `json:"pipelines" doc:"The same for all controllers with the same pipeline files: an HMAC of the nonce with their digest."`
}

// Prove returns the proof for a nonce.
func (i Identity) Prove(nonce string) Proof {
	sign := func(key []byte, what string) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("interlock " + what + " " + nonce)) // never fails
		return hex.EncodeToString(mac.Sum(nil))
	}
	return Proof{Store: sign(i.Store, "store"), Pipelines: sign([]byte(i.Pipelines()), "pipelines")}
}

// isNonce reports whether text has the form of a nonce: 32 bytes in hexadecimal.
func isNonce(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*nonceBytes
}

const nonceBytes = 32

func (a *API) proveIdentity(w http.ResponseWriter, r *http.Request) {
	nonce := r.URL.Query().Get("nonce")
	switch {
	case !isNonce(nonce):
		problem(http.StatusBadRequest, malformed, "the parameter nonce must be %d random bytes in hexadecimal", nonceBytes).write(w, r)
	case a.identity.Store == nil:
		problem(http.StatusNotFound, plainKind, "this server starts no jobs, so it has no identity to prove").write(w, r)
	default:
		writeJSON(w, http.StatusOK, "application/json", a.identity.Prove(nonce))
	}
}
