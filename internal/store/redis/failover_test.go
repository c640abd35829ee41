package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
