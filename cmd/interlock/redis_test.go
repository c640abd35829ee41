//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// isReady waits until a controller is ready or, if why is not "", unready for that reason.
func (d *daemon) isReady(why string) {
	d.Helper()
	until(d.T, "readiness: "+why, func() bool {
		_, err := d.api.Ready(d.Context())
		if why == "" {
			return err == nil
		}
		var problem *client.Problem
		return errors.As(err, &problem) && problem.Status == http.StatusServiceUnavailable && strings.Contains(fmt.Sprint(problem.Errors), why)
	})
}

// again retries a write until it is acknowledged.
func (d *daemon) again(pipeline, key string) {
	d.Helper()
	until(d.T, "an acknowledged write", func() bool {
		_, err := d.api.PutSensor(d.Context(), pipeline, key, map[string]any{"n": 1})
		return err == nil
	})
}

// TestTroubleWithRedisIsReportedAndPasses puts Redis into every kind of trouble that an
// administrator knows, while a controller runs.
func TestTroubleWithRedisIsReportedAndPasses(t *testing.T) {
	server, all := replicas(t, 1, "")
	t.Parallel()
	g := all[0]
	g.pipeline("orders", prompt)
	d := g.start()
	do := func(parts ...string) func() {
		return func() {
			t.Helper()
			if _, err := server.Do(parts...); err != nil {
				t.Fatal(err)
			}
		}
	}
	for day, c := range []struct {
		why        string
		status     int // of a write
		begin, end func()
	}{
		{"out of memory", http.StatusInsufficientStorage, do("CONFIG", "SET", "maxmemory", "1"), do("CONFIG", "SET", "maxmemory", "0")},
		{"read-only replica", http.StatusInsufficientStorage, do("REPLICAOF", "127.0.0.1", "1"), do("REPLICAOF", "NO", "ONE")},
		{"too few replicas", http.StatusServiceUnavailable, do("CONFIG", "SET", "min-replicas-to-write", "1"), do("CONFIG", "SET", "min-replicas-to-write", "0")},
		{"no connection to redis at redis://" + server.Address(), http.StatusServiceUnavailable, func() { g.check(server.Freeze()) }, func() { g.check(server.Thaw()) }},
		{"no connection to redis at redis://" + server.Address(), http.StatusServiceUnavailable, func() { g.check(server.Kill()) }, func() { g.check(server.Again()) }},
	} {
		c.begin()
		d.isReady(c.why)
		var problem *client.Problem
		date := fmt.Sprintf("2026-03-%02d", day+1)
		if _, err := d.api.PutSensor(t.Context(), "orders", "landed#"+date, map[string]any{"n": 1}); !errors.As(err, &problem) || problem.Status != c.status {
			t.Errorf("%s: a write got %v", c.why, err)
		}
		c.end()
		d.isReady("")
		d.again("orders", "landed#"+date)
		d.reaches("orders/stream/"+date, client.Completed)
	}
	for day := range 5 {
		d.reaches(fmt.Sprintf("orders/stream/2026-03-%02d", day+1), client.Completed)
	}
	d.stop()
}

// TestFailoverIsFollowed kills the primary. Its replica takes over, and controllers follow.
func TestFailoverIsFollowed(t *testing.T) {
	primary := redistest.Start(t)
	host, port, _ := strings.Cut(primary.Address(), ":")
	follower := redistest.Start(t, "--replicaof", host+" "+port)
	sentinel := redistest.Watch(t, primary)
	g := newGround(t, builtBinary(t), fmt.Sprintf("store: redis://%s/0?sentinel=%s\n", sentinel.Address(), redistest.Watched))
	t.Parallel()
	g.pipeline("orders", prompt)
	d := g.start()
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	until(t, "the replica has everything", func() bool {
		there, err := primary.Do("WAIT", "1", "1000")
		known, asked := sentinel.Do("SENTINEL", "REPLICAS", redistest.Watched)
		return err == nil && asked == nil && there == ":1" && known == "*1"
	})
	g.check(primary.Kill())
	d.isReady("redis")
	d.isReady("")
	if role, err := follower.Do("ROLE"); err != nil || role == "" {
		t.Errorf("the replica's role is %q, %v", role, err)
	}
	d.again("orders", "landed#2026-03-04")
	d.reaches("orders/stream/2026-03-04", client.Completed)
	d.reaches("orders/stream/2026-03-03", client.Completed)
	d.stop()
}

func TestRedisThatMayLoseWritesIsRejectedUnlessAllowed(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
	g := newGround(t, builtBinary(t), "store: "+server.URL()+"\n")
	t.Parallel()
	g.pipeline("orders", prompt)
	g.refuses("appendonly yes", "noeviction", "--unsafe-redis")
	d := g.launch("--unsafe-redis")
	if !d.ready() || !strings.Contains(d.said(), "may lose") {
		t.Fatalf("log:\n%s", d.said())
	}
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	g.refusedWith([]string{"--unsafe-redis"}, "in use by process", g.path("data")) // each replica needs its own data directory
}

func TestPasswordOfRedisComesFromTheEnvironment(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "hunter2")
	g := newGround(t, builtBinary(t), fmt.Sprintf("redis: {addr: %q, passwordEnv: REDIS_PASSWORD, keyPrefix: team-a}\n", server.Address()))
	g.pipeline("orders", prompt)
	g.refuses("redis.passwordEnv", "REDIS_PASSWORD is not set")
	t.Setenv("REDIS_PASSWORD", "hunter2")
	d := g.start()
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	if said := d.said(); strings.Contains(said, "hunter2") {
		t.Errorf("the log contains the password:\n%s", said)
	}
	t.Setenv("REDIS_PASSWORD", "wrong-secret")
	d.stop()
	last := g.launch()
	if code := last.exit(); code == 0 || !strings.Contains(last.said(), "user and password") || strings.Contains(last.said(), "wrong-secret") {
		t.Errorf("exit code %d:\n%s", code, last.said())
	}
}

// The file names the user and the environment holds the password; no other user has access.
func TestUserOfRedisIsInTheURL(t *testing.T) {
	server := redistest.Start(t, "--user", "default", "off", "~*", "&*", "+@all", "--user", "ann", "on", ">hunter2", "~team-a:*", "&team-a:*", "+@all")
	g := newGround(t, builtBinary(t), fmt.Sprintf("store: redis://ann@%s/0?prefix=team-a\nredis: {passwordEnv: REDIS_PASSWORD}\n", server.Address()))
	g.pipeline("orders", prompt)
	t.Setenv("REDIS_PASSWORD", "hunter2")
	d := g.start()
	d.put("orders", "landed#2026-03-03", map[string]any{"n": 1})
	d.reaches("orders/stream/2026-03-03", client.Completed)
	d.stop()
	if said := d.said(); strings.Contains(said, "hunter2") {
		t.Errorf("the log contains the password:\n%s", said)
	}
}
