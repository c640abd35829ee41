package redis

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store/redistest"
)

// opened returns an engine that is closed with the test.
func opened(t *testing.T, url string, o Options) *Engine {
	t.Helper()
	e, err := OpenEngine(t.Context(), url, o)
	check(t, err)
	t.Cleanup(func() { _ = e.Close() }) // fails if its server is gone
	return e
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err contains all of says.
func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", says)
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestServersThatLoseDataAreRejectedUnlessUnsafe(t *testing.T) {
	for name, c := range map[string]struct{ args, says []string }{
		"no append-only file": {[]string{"--appendonly", "no"}, []string{"appendonly yes", "--unsafe-redis"}},
		"eviction":            {[]string{"--maxmemory-policy", "allkeys-lru"}, []string{"maxmemory-policy noeviction", `"allkeys-lru"`, "--unsafe-redis"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, c.args...)
			_, err := OpenEngine(t.Context(), server.URL(), Options{})
			refused(t, err, append(c.says, server.Address())...)
			opened(t, server.URL(), Options{Unsafe: true})
		})
	}
}

func TestUnsupportedServersAreRejected(t *testing.T) {
	good := func() map[string]string {
		return map[string]string{
			"redis_version": "7.0.15", "cluster_enabled": "0", "role": "master", "aof_enabled": "1", "maxmemory_policy": "noeviction",
		}
	}
	check(t, serverFits(good(), false))
	for name, c := range map[string]struct{ field, value, says string }{
		"too old":    {"redis_version", "6.2.14", `version "6.2.14"`},
		"no version": {"redis_version", "", "version 7 or later"},
		"replica":    {"role", "slave", "not the primary"},
		"cluster":    {"cluster_enabled", "1", "Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			info := good()
			info[c.field] = c.value
			refused(t, serverFits(info, true), c.says)
		})
	}
}

func TestClusterIsRejected(t *testing.T) {
	server := redistest.Start(t, "--cluster-enabled", "yes")
	_, err := OpenEngine(t.Context(), server.URL(), Options{Unsafe: true})
	refused(t, err, "Cluster", "Sentinel")
}

func TestDataOfANewerProgramIsRejected(t *testing.T) {
	url := redistest.Shared(t)
	e := opened(t, url, Options{})
	check(t, e.client.Set(t.Context(), e.key("schema"), "4", 0).Err())
	_, err := OpenEngine(t.Context(), url, Options{})
	refused(t, err, `format "4"`, "version of Interlock")
}
