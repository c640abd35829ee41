package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
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

func (a *API) identityRoutes(h huma.API) {
	out := get("/identity", "prove-identity", "Server", "Prove which store the controller uses and which pipelines it has, without revealing either")
	out.role, out.public = RoleNone, true
	register(h, out, a.proveIdentity)
}

func (a *API) proveIdentity(_ context.Context, in *struct {
	Nonce string `query:"nonce" required:"true" pattern:"^[0-9a-f]{64}$" doc:"32 random bytes in hexadecimal, new for each request."`
},
) (*output[Proof], error) {
	if a.identity.Store == nil {
		return nil, problem(http.StatusNotFound, plainKind, "this server starts no jobs, so it has no identity to prove")
	}
	return answer(a.identity.Prove(in.Nonce)), nil
}
