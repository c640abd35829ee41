package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
)

func TestFullMemoryTakesNothingAndRecovers(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	put(t, e, 1)
	limit := func(bytes string) { check(t, e.client.ConfigSet(t.Context(), "maxmemory", bytes).Err()) }
	limit("1")
	err := e.Apply(t.Context(), marking("full"), noon)
	refused(t, err, "out of memory", "maxmemory")
	if !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
	refused(t, e.Apply(t.Context(), reading(2), noon), "out of memory")
	_, err = e.Next(t.Context(), 1)
	refused(t, err, "out of memory")
	_, err = e.Receive(t.Context(), "router", "one", 10)
	refused(t, err, "out of memory")
	if marked(t, e, "full") || len(scan(t, e, row.Range{Kind: row.Tasks, List: "tasks:timers"})) > 0 {
		t.Error("a part of the transaction was stored")
	}
	limit("0")
	check(t, e.Apply(t.Context(), marking("full"), noon))
	put(t, e, 2)
	if n := backlog(t, e); n != 2 {
		t.Errorf("backlog %d, want the two writes that were stored", n)
	}
}

// Deleting data is the remedy for full memory.
func TestFullMemoryDoesNotKeepRowsFromBeingDeleted(t *testing.T) {
	e := opened(t, redistest.Start(t).URL(), Options{})
	everyKind(t, e)
	check(t, e.Ack(t.Context(), "router", receive(t, e, 100)))
	check(t, e.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	rows := append(kinds(), scan(t, e, row.Range{Kind: row.Events, List: "events"})...)
	if n, err := e.Drop(t.Context(), rows); err != nil || n != len(rows) {
		t.Errorf("%d rows of %d were deleted, error %v", n, len(rows), err)
	}
	if _, err := e.Trim(t.Context(), noon, 100); err != nil {
		t.Error(err)
	}
}

func TestTroubleIsKnownWhileItLasts(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	knows := func(want string) error {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for time.Now().Before(deadline) {
			if err := e.Trouble(); want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) {
				return err
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("trouble is %v, want %q", e.Trouble(), want)
		return nil
	}
	knows("")
	check(t, e.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	if f := store.FaultOf(knows("out of memory")); f == nil || f.Kind != store.Full {
		t.Errorf("a Redis without memory is %v, want a full store", f)
	}
	check(t, e.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	knows("")
	check(t, server.Kill())
	knows("no connection to redis at redis://" + server.Address())
	check(t, server.Again())
	knows("")
}

// An emptied Redis must not look like a new one.
func TestLostDataIsNotMistakenForANewStore(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	put(t, e, 1)
	check(t, e.client.FlushAll(t.Context()).Err())
	refused(t, e.Apply(t.Context(), marking("a"), noon), "emptied or replaced")
	other := opened(t, server.URL(), Options{}) // starts with new data
	check(t, other.Apply(t.Context(), marking("a"), noon))
	refused(t, e.Apply(t.Context(), reading(2), noon), "emptied or replaced")
	refused(t, e.beat(t.Context()), "emptied or replaced")
	_, err := e.Get(t.Context(), []row.Ref{{Kind: "mark", Key: "a"}})
	refused(t, err, "emptied or replaced")
}

func TestReadOnlyReplicaSaysSo(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	check(t, e.client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	err := e.Apply(t.Context(), marking("a"), noon)
	refused(t, err, "read-only replica")
	if f := store.FaultOf(err); f == nil || f.Kind != store.ReadOnly {
		t.Errorf("a replica is %v, want a read-only store", err)
	}
	_, err = OpenEngine(t.Context(), server.URL(), Options{})
	refused(t, err, "not the primary", "Sentinel")
	check(t, e.client.ReplicaOf(t.Context(), "NO", "ONE").Err())
	check(t, e.Apply(t.Context(), marking("a"), noon))
}

func TestRestartLosesNothingThatWasAcknowledged(t *testing.T) {
	for name, end := range map[string]func(*redistest.Server) error{
		"stopped": (*redistest.Server).Stop, "killed": (*redistest.Server).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			e := opened(t, server.URL(), Options{})
			check(t, e.Apply(t.Context(), marking("before"), noon))
			put(t, e, 1)
			check(t, end(server))
			refused(t, e.Apply(t.Context(), marking("away"), noon), "no connection to redis at redis://"+server.Address())
			check(t, server.Again())
			check(t, again(t, func() error { return e.Apply(t.Context(), marking("away"), noon) }))
			for _, name := range []string{"before", "away"} {
				if !marked(t, e, name) {
					t.Errorf("mark %q is lost", name)
				}
			}
			if changes := receive(t, e, 10); len(changes) != 1 {
				t.Errorf("received %d changes, want the one from before", len(changes))
			}
		})
	}
}

// again repeats a call until the connection is back: a broken one is noticed when it is used.
func again(t *testing.T, call func() error) (err error) {
	t.Helper()
	for range 100 {
		if err = call(); err == nil || !strings.Contains(err.Error(), "no connection") {
			return err
		}
	}
	return err
}

func TestWaitersAreWokenAfterARestart(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	changed := e.Changed(row.TaskTopic)
	check(t, server.Kill())
	check(t, server.Again())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-changed: // by the renewed subscription
	case <-ctx.Done():
		t.Fatal("no waiter was woken, and messages may have been lost")
	}
}

func TestForgottenScriptsAreSentAgain(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	check(t, e.Apply(t.Context(), marking("a"), noon))
	check(t, e.client.ScriptFlush(t.Context()).Err())
	check(t, e.Apply(t.Context(), marking("b"), noon))
	if !marked(t, e, "b") {
		t.Error("the transaction was not applied")
	}
}

// A server that answers every command with one error.
func TestRejectionsAreExplained(t *testing.T) {
	for says, want := range map[string]string{
		"LOADING Redis is loading the dataset in memory":               "reading its data after a start",
		"MISCONF Redis is configured to save":                          "cannot write its data to disk",
		"NOREPLICAS Not enough good replicas to write":                 "too few replicas",
		"MASTERDOWN Link with MASTER is down":                          "lost its primary",
		"NOAUTH Authentication required.":                              "user and a password",
		"WRONGPASS invalid username-password pair or user is disabled": "does not know this user",
		"NOPERM this user has no permissions":                          "docs/REDIS.md",
		"ERR The user executing the script can't run this command or":  "docs/REDIS.md",
		"ERR max number of clients reached":                            "maxclients",
	} {
		address := refusing(t, says)
		_, err := OpenEngine(t.Context(), "redis://ann:secret@"+address, Options{})
		refused(t, err, want, address)
		if !errors.Is(err, store.ErrAway) {
			t.Errorf("error %v, want that the store is not available", err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func refusing(t *testing.T, says string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "*") {
						if _, err := fmt.Fprintf(c, "-%s\r\n", says); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestUnreachableServerSaysSo(t *testing.T) {
	_, err := OpenEngine(t.Context(), "redis://127.0.0.1:1", Options{})
	refused(t, err, "no connection to redis", "127.0.0.1:1")
	if !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = OpenEngine(ctx, redistest.Shared(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
