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

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

func write(count int64) []store.Write {
	return []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": count}}}}
}

func put(t *testing.T, s *Store, count int64) {
	t.Helper()
	_, err := s.PutReadings(t.Context(), write(count), noon)
	check(t, err)
}

// marking is a Batch that sets a mark and stores a task.
func marking(name string) store.Batch {
	b := store.Batch{ID: "mark " + name}
	b.SetMark(name, time.Time{})
	b.Schedule(store.Task{ID: name, Kind: store.Fire, Pipeline: "orders", Due: noon})
	return b
}

func marked(t *testing.T, s *Store, name string) bool {
	t.Helper()
	set, err := s.Marked(t.Context(), []string{name})
	check(t, err)
	return set[name]
}

func TestFullMemoryTakesNothingAndIsTakenUpAgain(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	put(t, s, 1)
	limit := func(bytes string) { check(t, s.client.ConfigSet(t.Context(), "maxmemory", bytes).Err()) }
	limit("1")
	refused(t, s.Commit(t.Context(), marking("full"), noon), "out of memory", "maxmemory")
	_, err := s.PutReadings(t.Context(), write(2), noon)
	refused(t, err, "out of memory")
	if !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
	_, err = s.Receive(t.Context(), "router", "one", 10)
	refused(t, err, "out of memory")
	if marked(t, s, "full") {
		t.Error("a part of the batch was taken")
	}
	if due, err := s.NextDue(t.Context(), store.ClaimQuery{}); err != nil || !due.IsZero() {
		t.Errorf("a task is due at %v, error %v; none was taken", due, err)
	}
	limit("0")
	check(t, s.Commit(t.Context(), marking("full"), noon))
	put(t, s, 2)
	if n, _, err := s.Backlog(t.Context(), "router"); n != 2 || err != nil {
		t.Errorf("backlog %d, error %v; two writes were taken", n, err)
	}
}

// To keep less is what helps when memory is full.
func TestFullMemoryIsNoReasonToForgetNothing(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	everyKind(t, s)
	put(t, s, 2)
	put(t, s, 3)
	check(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	old := noon.Add(365 * 24 * time.Hour)
	n, err := s.Trim(t.Context(), store.Retention{Events: time.Hour, History: time.Hour, JobLog: time.Hour}, old)
	if err != nil || n == 0 {
		t.Errorf("%d rows were forgotten, error %v", n, err)
	}
}

func TestTroubleIsKnownWhileItLasts(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	knows := func(want string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for time.Now().Before(deadline) {
			if err := s.Trouble(); want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("trouble is %v, want %q", s.Trouble(), want)
	}
	knows("")
	check(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	knows("out of memory")
	if f := store.FaultOf(s.Trouble()); f == nil || f.Kind != store.Full {
		t.Errorf("a Redis without memory is %v, want a full store", s.Trouble())
	}
	check(t, s.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	knows("")
	check(t, server.Kill())
	knows("no connection to redis at redis://" + server.Address())
	check(t, server.Again())
	knows("")
}

// Nobody may take an empty Redis for one in which nothing has happened yet.
func TestDataThatIsGoneIsNotTakenForABeginning(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	put(t, s, 1)
	check(t, s.client.FlushAll(t.Context()).Err())
	refused(t, s.Commit(t.Context(), marking("a"), noon), "emptied or replaced")
	other := opened(t, server.URL(), Options{}) // began anew
	check(t, other.Commit(t.Context(), marking("a"), noon))
	_, err := s.PutReadings(t.Context(), write(2), noon)
	refused(t, err, "emptied or replaced")
	refused(t, s.beat(t.Context()), "emptied or replaced")
	// A place among the events that are gone would make a follower pass over those that come.
	refused(t, s.SetCursor(t.Context(), "mail", 5000), "emptied or replaced")
	check(t, other.SetCursor(t.Context(), "archive", 1))
	refused(t, s.DropCursor(t.Context(), "archive"), "emptied or replaced")
	for name, want := range map[string]store.Position{"mail": 0, "archive": 1} {
		if at, err := other.Cursor(t.Context(), name); at != want || err != nil {
			t.Errorf("cursor %s is at %d, error %v, want %d", name, at, err, want)
		}
	}
}

func TestReadOnlyReplicaSaysSo(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	check(t, s.client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	err := s.Commit(t.Context(), marking("a"), noon)
	refused(t, err, "read-only replica")
	if f := store.FaultOf(err); f == nil || f.Kind != store.ReadOnly {
		t.Errorf("a replica is %v, want a read-only store", err)
	}
	_, err = Open(t.Context(), server.URL(), Options{})
	refused(t, err, "not the primary", "Sentinel")
	check(t, s.client.ReplicaOf(t.Context(), "NO", "ONE").Err())
	check(t, s.Commit(t.Context(), marking("a"), noon))
}

func TestRestartLosesNothingThatWasAcknowledged(t *testing.T) {
	for name, end := range map[string]func(*redistest.Server) error{
		"stopped": (*redistest.Server).Stop, "killed": (*redistest.Server).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			s := opened(t, server.URL(), Options{})
			check(t, s.Commit(t.Context(), marking("before"), noon))
			put(t, s, 1)
			check(t, end(server))
			refused(t, s.Commit(t.Context(), marking("away"), noon), "no connection to redis at redis://"+server.Address())
			check(t, server.Again())
			check(t, again(t, func() error { return s.Commit(t.Context(), marking("away"), noon) }))
			for _, name := range []string{"before", "away"} {
				if !marked(t, s, name) {
					t.Errorf("mark %q is lost", name)
				}
			}
			if changes := receive(t, s, 10); len(changes) != 1 {
				t.Errorf("received %d changes, want the one from before", len(changes))
			}
		})
	}
}

// again makes a call until the connection is there again: one that is broken is found out by using it.
func again(t *testing.T, call func() error) (err error) {
	t.Helper()
	for range 100 {
		if err = call(); err == nil || !strings.Contains(err.Error(), "no connection") {
			return err
		}
	}
	return err
}

func TestWhoWaitsIsWokenAfterARestart(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	changed := s.TasksChanged()
	check(t, server.Kill())
	check(t, server.Again())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-changed: // by the subscription that was made again
	case <-ctx.Done():
		t.Fatal("nobody was told that messages may have been lost")
	}
}

func TestForgottenScriptsAreGivenAgain(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	check(t, s.Commit(t.Context(), marking("a"), noon))
	check(t, s.client.ScriptFlush(t.Context()).Err())
	check(t, s.Commit(t.Context(), marking("b"), noon))
	if !marked(t, s, "b") {
		t.Error("the batch was not taken")
	}
}

// A server that answers every command with one refusal.
func TestRefusalsSayWhatTheyMean(t *testing.T) {
	for says, want := range map[string]string{
		"LOADING Redis is loading the dataset in memory":               "reading its data after a start",
		"MISCONF Redis is configured to save":                          "cannot write its data to disk",
		"NOREPLICAS Not enough good replicas to write":                 "too few replicas",
		"MASTERDOWN Link with MASTER is down":                          "lost its primary",
		"NOAUTH Authentication required.":                              "user and a password",
		"WRONGPASS invalid username-password pair or user is disabled": "does not know this user",
		"NOPERM this user has no permissions":                          "docs/REDIS.md",
		"ERR max number of clients reached":                            "maxclients",
	} {
		address := refusing(t, says)
		_, err := Open(t.Context(), "redis://ann:secret@"+address, Options{})
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	_, err = Open(t.Context(), "redis://"+l.Addr().String(), Options{})
	refused(t, err, "no connection to redis", l.Addr().String())
	if !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Open(ctx, redistest.Shared(t), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
