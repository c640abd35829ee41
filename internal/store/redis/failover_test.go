package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Sentinels that were reset, or have just been set up, do not know the primary and answer with
// nothing, like Redis for a missing row.
func TestUnknownPrimaryIsNotAMissingRow(t *testing.T) {
	primary := redistest.Start(t)
	sentinel := redistest.Watch(t, primary)
	e := opened(t, "redis://"+sentinel.Address()+"?sentinel="+redistest.Watched, Options{})
	check(t, e.Apply(t.Context(), marking("before"), noon))

	watcher := redis.NewClient(&redis.Options{Addr: sentinel.Address()})
	defer func() { _ = watcher.Close() }()
	check(t, watcher.Do(t.Context(), "SENTINEL", "REMOVE", redistest.Watched).Err())
	check(t, primary.Kill())
	check(t, primary.Again())

	away := func(err error) {
		t.Helper()
		if !errors.Is(err, store.ErrAway) {
			t.Errorf("error %v, want that the store is not available", err)
		}
	}
	for range 3 { // a broken connection is noticed when it is used
		_, err := e.Get(t.Context(), []row.Ref{{Kind: "run"}})
		away(err)
		_, err = e.Scan(t.Context(), []row.Range{{Kind: "run", Limit: 1}})
		away(err)
		_, err = e.Next(t.Context(), 1)
		away(err)
		away(e.Apply(t.Context(), marking("after"), noon))
		_, err = e.Trim(t.Context(), noon, 1)
		away(err)
	}
}

// A failover may lose the last changes while a consumer holds them. Here Redis is reset to its
// earlier state.
func TestChangeAfterALostOneIsReceived(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	put(t, e, 1)
	first := receive(t, e, 1)
	lose := e.promotion(t, server, "changes", "counter:change", "counter:number", "server")
	put(t, e, 2)
	lost := receive(t, e, 1)
	lose()

	put(t, e, 3)
	next := receive(t, e, 1)
	if len(next) != 1 || string(next[0].Body) != `{"count":3}` {
		t.Fatalf("received %+v after %+v, want the change after the one that was lost", next, lost)
	}
	check(t, e.Ack(t.Context(), "router", append(first, lost...)))
	if n := backlog(t, e); n != 1 {
		t.Errorf("backlog %d: acknowledging the lost change acknowledged another", n)
	}
	check(t, e.Ack(t.Context(), "router", next))
	if n := backlog(t, e); n != 0 {
		t.Errorf("backlog %d, want none", n)
	}
}

// promotion returns a function that restores keys to their current values, and makes the server the
// new primary: one that did not receive what was written in between.
func (e *Engine) promotion(t *testing.T, server *redistest.Server, names ...string) func() {
	t.Helper()
	before := map[string]string{}
	for _, name := range names {
		before[e.key(name)] = e.client.Dump(t.Context(), e.key(name)).Val()
	}
	return func() {
		for name, value := range before {
			check(t, e.client.RestoreReplace(t.Context(), name, 0, value).Err())
		}
		for _, primary := range [][2]string{{"127.0.0.1", "1"}, {"no", "one"}} {
			_, err := server.Do("REPLICAOF", primary[0], primary[1])
			check(t, err)
		}
	}
}

// followed returns the events after a position, as a sink, a stream or another replica reads them.
func followed(t *testing.T, e *Engine, after string) []row.Row {
	t.Helper()
	var pages []row.Page
	check(t, again(t, func() (err error) {
		pages, err = e.Scan(t.Context(), []row.Range{{Kind: row.Events, List: "events", From: after + "\x00", Limit: 100}})
		return err
	}))
	return pages[0].Rows
}

// emit appends an event and draws a number.
func emit(t *testing.T, e *Engine, body string) (number int64) {
	t.Helper()
	one := row.Event{ID: body, Part: "orders", Type: "T", At: noon, Body: []byte(body)}
	tx := row.Tx{ID: "emit " + body, Events: []row.Event{one}}
	check(t, again(t, func() error { return e.Apply(t.Context(), tx, noon) }))
	check(t, again(t, func() (err error) {
		number, err = e.Next(t.Context(), 1)
		return err
	}))
	return number
}

// A follower that has read events which a failover lost keeps its position.
func TestEventsAfterALossComeAfterThoseThatWereLost(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	losses := map[string]func(t *testing.T) (lose func()){
		"restart": func(t *testing.T) func() {
			rollBack, err := server.Checkpoint()
			check(t, err)
			return func() { check(t, rollBack()) }
		},
		"promotion": func(t *testing.T) func() {
			return e.promotion(t, server, "events", "events:orders", "eventids", "counter:number", "server")
		},
	}
	for name, how := range losses {
		t.Run(name, func(t *testing.T) {
			emit(t, e, name+" kept")
			lose := how(t)
			var last int64
			for _, which := range []string{"a", "b", "c"} {
				last = emit(t, e, name+" lost "+which)
			}
			all := followed(t, e, "")
			at := all[len(all)-1].Key
			lose()
			if n := emit(t, e, name+" new"); n <= last {
				t.Errorf("number %d follows %d", n, last)
			}
			got := followed(t, e, at)
			if len(got) != 1 || string(got[0].Body) != name+" new" {
				t.Fatalf("after position %s got %+v, want the new event", at, got)
			}
			emit(t, e, name+" newer")
			if next := followed(t, e, got[0].Key); len(next) != 1 || string(next[0].Body) != name+" newer" {
				t.Errorf("after position %s got %+v, want the next event", got[0].Key, next)
			}
		})
	}
}

// late is a context whose deadline has passed but which has not ended yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestConnectionCutByTheCallersDeadlineIsNotLost(t *testing.T) {
	e := opened(t, redistest.Shared(t), Options{})
	put(t, e, 1)
	_, err := e.receive(late{t.Context()}, "router", "one", 1)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
}

func TestUnavailableConnectionIsErrAway(t *testing.T) {
	e := opened(t, redistest.Shared(t), Options{})
	if err := e.fault(redis.ErrPoolTimeout); !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
}
