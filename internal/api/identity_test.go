package api_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
)

const (
	nonce  = "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b"
	proved = "/api/v1/identity?nonce="
)

// identified gives an API that identity.
func identified(store, pipelines string) func(*api.Deps) {
	return func(d *api.Deps) {
		d.Identity = api.Identity{Store: []byte(store), Pipelines: func() string { return pipelines }}
	}
}

func TestOnlyControllersOnOneStoreProveTheSame(t *testing.T) {
	prove := func(store, pipelines, nonce string) (any, any) {
		got := newWorld(t, withTokens, identified(store, pipelines)).get(proved + nonce).object(200)
		return got["store"], got["pipelines"]
	}
	store, pipelines := prove("a", "p", nonce)
	if s, p := prove("a", "p", nonce); s != store || p != pipelines {
		t.Errorf("a replica proves %v and %v, want %v and %v", s, p, store, pipelines)
	}
	if s, p := prove("b", "p", nonce); s == store || p != pipelines {
		t.Errorf("another store with the same pipelines proves %v and %v", s, p)
	}
	if s, p := prove("a", "q", nonce); s != store || p == pipelines {
		t.Errorf("the same store with other pipelines proves %v and %v", s, p)
	}
	if s, p := prove("a", "p", strings.Repeat("0", 64)); s == store || p == pipelines {
		t.Error("an old answer is valid for another nonce")
	}
}

func TestProofNeedsAProperNonce(t *testing.T) {
	w := newWorld(t, identified("a", "p"))
	for _, wrong := range []string{"", "abc", strings.Repeat("x", 64), nonce + "0"} {
		w.get(proved + wrong).problem(400)
	}
	newWorld(t).get(proved+nonce).problem(404, "no identity to prove")
}
