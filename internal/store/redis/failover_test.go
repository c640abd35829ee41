package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// Sentinels that were reset, or have just been set up anew, do not know the primary and say "nothing": the same as Redis says of a
// record that is not there.
func TestPrimaryThatNoSentinelKnowsIsNoRecordThatIsNotThere(t *testing.T) {
	primary := redistest.Start(t)
	sentinel := redistest.Watch(t, primary)
	s := opened(t, "redis://"+sentinel.Address()+"?sentinel="+redistest.Watched, Options{})
	check(t, s.Commit(t.Context(), marking("before"), noon))

	watcher := redis.NewClient(&redis.Options{Addr: sentinel.Address()})
	defer func() { _ = watcher.Close() }()
	check(t, watcher.Do(t.Context(), "SENTINEL", "REMOVE", redistest.Watched).Err())
	check(t, primary.Kill())
	check(t, primary.Again())

	away := func(err error) {
		t.Helper()
		if errors.Is(err, store.ErrNotFound) || !errors.Is(err, store.ErrAway) {
			t.Errorf("error %v, want that the store is not available", err)
		}
	}
	for range 3 { // connections that are broken are found out by using them
		_, err := s.Run(t.Context(), run.Key{})
		away(err)
		_, err = s.RunsAt(t.Context(), []run.Key{{}})
		away(err)
		_, err = s.Cursor(t.Context(), "mail")
		away(err)
		away(s.Commit(t.Context(), marking("after"), noon))
		_, err = s.Trim(t.Context(), store.Retention{History: 1}, noon)
		away(err)
	}
}

// A failover may lose the last changes, and give their positions to others. Redis goes back here to what it was.
func TestChangeInThePlaceOfOneThatWasLostIsReceived(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	put(t, s, 1)
	first := receive(t, s, 1)
	names := []string{s.key("changes"), s.key("counter", "position")}
	var before []string
	for _, name := range names {
		before = append(before, s.client.Dump(t.Context(), name).Val())
	}
	put(t, s, 2)
	lost := receive(t, s, 1)
	for i, name := range names {
		check(t, s.client.RestoreReplace(t.Context(), name, 0, before[i]).Err())
	}

	put(t, s, 3)
	next := receive(t, s, 1)
	if len(next) != 1 || next[0].Position != lost[0].Position || next[0].Version == lost[0].Version {
		t.Fatalf("received %+v after %+v, want the change that came into its place", next, lost)
	}
	check(t, s.Done(t.Context(), "router", append(first, lost...)))
	if n, _, err := s.Backlog(t.Context(), "router"); n != 1 || err != nil {
		t.Errorf("backlog %d, error %v: the change was finished by finishing the one that was lost", n, err)
	}
	check(t, s.Done(t.Context(), "router", next))
	if n, _, err := s.Backlog(t.Context(), "router"); n != 0 || err != nil {
		t.Errorf("backlog %d, error %v", n, err)
	}
}

// followed returns the events after a position, as a sink, a stream or another replica reads them.
func followed(t *testing.T, s *Store, after store.Position) []store.StoredEvent {
	t.Helper()
	var events []store.StoredEvent
	check(t, again(t, func() (err error) {
		events, err = s.EventsAfter(t.Context(), after, 100)
		return err
	}))
	return events
}

func emit(t *testing.T, s *Store, which string) {
	t.Helper()
	b := store.Batch{ID: "emit " + which}
	b.Emit(event.New(event.ConfigAccepted, event.About{Pipeline: "orders", Which: which, At: noon}, which, event.Config{}))
	check(t, again(t, func() error { return s.Commit(t.Context(), b, noon) }))
}

// A follower that has read events which a failover lost keeps its position, in memory or by a cursor that it sets afterwards.
func TestEventsAfterALossComeAfterThoseThatWereLost(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	losses := map[string]func(t *testing.T) (lose func()){
		"restart": func(t *testing.T) func() {
			rollBack, err := server.Checkpoint()
			check(t, err)
			return func() { check(t, rollBack()) }
		},
		"promotion": func(t *testing.T) func() {
			before := map[string]string{}
			for _, name := range []string{"events", "events:orders", "eventids", "counter:event", "server"} {
				before[s.key(name)] = s.client.Dump(t.Context(), s.key(name)).Val()
			}
			return func() {
				for name, value := range before {
					check(t, s.client.RestoreReplace(t.Context(), name, 0, value).Err())
				}
				for _, primary := range [][2]string{{"127.0.0.1", "1"}, {"no", "one"}} {
					_, err := server.Do("REPLICAOF", primary[0], primary[1])
					check(t, err)
				}
			}
		},
	}
	for name, how := range losses {
		t.Run(name, func(t *testing.T) {
			emit(t, s, name+" kept")
			lose := how(t)
			for _, which := range []string{"a", "b", "c"} {
				emit(t, s, name+" lost "+which)
			}
			all := followed(t, s, 0)
			at := all[len(all)-1].Position
			lose()
			emit(t, s, name+" new")
			check(t, s.SetCursor(t.Context(), "hook", at))
			got := followed(t, s, at)
			if len(got) != 1 || got[0].Event.Detail.Message != name+" new" {
				t.Fatalf("after position %d come %+v, want the new event", at, got)
			}
			emit(t, s, name+" newer")
			if next := followed(t, s, got[0].Position); len(next) != 1 || next[0].Position != got[0].Position+1 {
				t.Errorf("after position %d comes %+v, want the next position", got[0].Position, next)
			}
		})
	}
}

// late is a context whose time is over, and which has not noticed yet.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestConnectionThatIsCutByTheDeadlineOfItsCallerIsNotLost(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	put(t, s, 1)
	if _, err := s.receive(late{t.Context()}, "router", "one", 1); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the time is over", err)
	}
}

func TestConnectionThatIsNotToBeHadIsAway(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	if err := s.fault(redis.ErrPoolTimeout); !errors.Is(err, store.ErrAway) {
		t.Errorf("error %v, want that the store is not available", err)
	}
}
