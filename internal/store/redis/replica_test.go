package redis

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// pair is two replicas on one Redis, which tells the time.
func pair(t *testing.T) (a, b *Store) {
	t.Helper()
	url := redistest.Shared(t)
	return opened(t, url, Options{}), opened(t, url, Options{})
}

// dies ends what a replica does in the background, and lets the time pass for which it counts as alive. It says nothing to
// anybody, as a process that was killed.
func (s *Store) dies(t *testing.T) {
	t.Helper()
	close(s.closed)
	s.ended.Wait()
	check(t, s.client.Del(t.Context(), s.key("alive", s.instance)).Err())
	s.once.Do(func() { s.err = s.client.Close() })
}

func receive(t *testing.T, s *Store, limit int) []store.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	changes, err := s.Receive(ctx, "router", "one", limit)
	check(t, err)
	return changes
}

func TestChangesOfADeadReplicaAreGivenToAnother(t *testing.T) {
	a, b := pair(t)
	for n := range int64(3) {
		put(t, a, n)
	}
	held := receive(t, a, 2)
	if got := receive(t, b, 10); len(got) != 1 || got[0].Position <= held[1].Position {
		t.Fatalf("the other replica received %+v while the first held %+v", got, held)
	}
	a.dies(t)
	if got := receive(t, b, 10); !slices.Equal(got, held) {
		t.Errorf("received %+v, want what the dead replica held: %+v", got, held)
	}
}

// Redis was killed, or the connection broke, between what it did and what it said.
func TestChangesWhoseAnswerWasLostAreGivenAgain(t *testing.T) {
	a, b := pair(t)
	for n := range int64(3) {
		put(t, a, n)
	}
	first := receive(t, a, 1)
	lost, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.given(t.Context(), receiveScript, "router", "one", 1) // nobody hears of it
	check(t, err)
	if _, err := a.receive(lost, "router", "one", 1); err == nil {
		t.Fatal("an answer came")
	}
	a.held.doubt(consumerName("router", "one"), true)
	second := receive(t, a, 10)
	if len(second) != 1 || second[0].Position != first[0].Position+1 {
		t.Errorf("received %+v after %+v, want the one whose answer was lost", second, first)
	}
	if third := receive(t, a, 10); len(third) != 1 || third[0].Position != first[0].Position+2 {
		t.Errorf("received %+v, want the last one", third)
	}
	check(t, a.Done(t.Context(), "router", append(first, second...)))
	if n, _, err := b.Backlog(t.Context(), "router"); n != 1 || err != nil {
		t.Errorf("backlog %d, error %v", n, err)
	}
}

func TestReceiveThatFailedIsInDoubt(t *testing.T) {
	server := redistest.Start(t)
	s := opened(t, server.URL(), Options{})
	put(t, s, 1)
	check(t, server.Kill())
	if _, err := s.Receive(t.Context(), "router", "one", 1); err == nil {
		t.Fatal("received something of a Redis that is gone")
	}
	if !s.held.doubts(consumerName("router", "one")) {
		t.Error("nobody doubts that nothing was given")
	}
	check(t, server.Again())
	check(t, again(t, func() error {
		_, err := s.Receive(t.Context(), "router", "one", 1)
		return err
	}))
	if s.held.doubts(consumerName("router", "one")) {
		t.Error("there is an answer, and it is still in doubt")
	}
}

func TestAReplicaThatLivesKeepsItsChanges(t *testing.T) {
	a, b := pair(t)
	put(t, a, 1)
	held := receive(t, a, 1)
	if got, err := b.receive(t.Context(), "router", "one", 10); len(got) != 0 || err != nil {
		t.Errorf("received %+v, which a living replica holds; error %v", got, err)
	}
	check(t, a.Done(t.Context(), "router", held))
	if n, _, err := b.Backlog(t.Context(), "router"); n != 0 || err != nil {
		t.Errorf("backlog %d, error %v", n, err)
	}
}

func TestAliveIsSaidForLongerThanItTakesToSayItAgain(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	left, err := s.client.PTTL(t.Context(), s.key("alive", s.instance)).Result()
	check(t, err)
	if left <= 2*aliveBeat || left > aliveFor {
		t.Errorf("counts as alive for %s more, and says so every %s", left, aliveBeat)
	}
}

func TestLeasesGoByTheClockOfRedis(t *testing.T) {
	a, b := pair(t)
	check(t, a.Commit(t.Context(), marking("task"), noon))
	claim := func(s *Store, lease time.Duration, now time.Time) []store.Claim {
		t.Helper()
		claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 1, Lease: lease}, now)
		check(t, err)
		return claims
	}
	held := claim(a, time.Hour, noon)
	if len(held) != 1 {
		t.Fatalf("claimed %v, want the task", held)
	}
	if got := claim(b, time.Hour, noon.AddDate(10, 0, 0)); len(got) != 0 {
		t.Errorf("a replica whose clock is ahead was given %v", got)
	}
	under := store.Batch{ID: "late", Lease: &held[0].Lease}
	check(t, a.Commit(t.Context(), under, noon.AddDate(10, 0, 0)))

	kept, err := a.Renew(t.Context(), []store.Lease{held[0].Lease}, time.Microsecond, noon)
	check(t, err)
	if len(kept) != 1 {
		t.Fatal("the lease was lost")
	}
	var taken []store.Claim
	for len(taken) == 0 && t.Context().Err() == nil {
		taken = claim(b, time.Hour, noon) // its clock stands still
	}
	fenced := store.Batch{ID: "fenced", Lease: &held[0].Lease}
	refused(t, a.Commit(t.Context(), fenced, noon), store.ErrConflict.Error(), "lease on task task is lost")
	check(t, b.Commit(t.Context(), store.Batch{ID: "new", Lease: &taken[0].Lease}, noon))
}

func claimed(t *testing.T, s *Store) []store.Claim {
	t.Helper()
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 1, Lease: time.Hour}, noon)
	check(t, err)
	return claims
}

func TestLeasesOfADeadReplicaAreFree(t *testing.T) {
	a, b := pair(t)
	check(t, a.Commit(t.Context(), marking("task"), noon))
	held := claimed(t, a)
	if got := claimed(t, b); len(held) != 1 || len(got) != 0 {
		t.Fatalf("one replica was given %v and the other %v of one task", held, got)
	}
	a.dies(t)
	if got := claimed(t, b); len(got) != 1 || got[0].Lease.Token <= held[0].Lease.Token {
		t.Errorf("claimed %v, want what the dead replica held", got)
	}
}

// It was only asleep, or could not reach Redis for a while.
func TestReplicaThatWasTakenForDeadChangesNothingMore(t *testing.T) {
	a, b := pair(t)
	check(t, a.Commit(t.Context(), marking("task"), noon))
	held := claimed(t, a)[0].Lease
	silent := func() { check(t, a.client.Del(t.Context(), a.key("alive", a.instance)).Err()) }
	silent()
	check(t, a.Commit(t.Context(), store.Batch{ID: "nobody else wanted it", Lease: &held}, noon))
	var taken []store.Claim
	for len(taken) == 0 { // it may just have given a sign
		silent()
		taken = claimed(t, b)
	}
	check(t, a.beat(t.Context()))
	refused(t, a.Commit(t.Context(), store.Batch{ID: "late", Lease: &held}, noon), store.ErrConflict.Error(), "is lost")
	kept, err := a.Renew(t.Context(), []store.Lease{held}, time.Hour, noon)
	check(t, err)
	check(t, a.Release(t.Context(), []store.Lease{held}, noon))
	if len(kept) != 0 || len(claimed(t, a)) != 0 {
		t.Error("a lease that was taken over could be renewed or given back")
	}
	check(t, b.Commit(t.Context(), store.Batch{ID: "its own", Lease: &taken[0].Lease}, noon))
}

// A failover may lose the last tokens that were given out, and give them out again.
func TestLeaseOfTheSameTokenIsStillSomebodyElses(t *testing.T) {
	a, b := pair(t)
	check(t, a.Commit(t.Context(), marking("task"), noon))
	held := claimed(t, a)[0].Lease
	refused(t, b.Commit(t.Context(), store.Batch{ID: "theirs", Lease: &held}, noon), store.ErrConflict.Error(), "is lost")
}

func TestOneReplicaWakesTheOther(t *testing.T) {
	a, b := pair(t)
	tasks, events := b.TasksChanged(), b.EventsChanged()
	check(t, a.Commit(t.Context(), marking("task"), noon))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-tasks:
	case <-ctx.Done():
		t.Fatal("the other replica was not told of the task")
	}
	select {
	case <-events:
		t.Error("it was told of an event that nobody announced")
	default:
	}
}

func TestOwnChangesAreKnownAtOnce(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	tasks := s.TasksChanged()
	check(t, s.Commit(t.Context(), marking("task"), noon))
	select {
	case <-tasks:
	default:
		t.Error("the task was stored, and nobody here knows")
	}
}

// What is old is found, and then a run is opened whose period it is of.
func TestReadingsOfARunThatIsOpenedMeanwhileStay(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	day, err := period.Parse("2026-03-01")
	check(t, err)
	old := write(1)
	old[0].Reading.Period = day
	_, err = s.PutReadings(t.Context(), append(old, write(2)...), noon)
	check(t, err)
	late := &oldWrites{trim: &trim{Store: s, now: noon.AddDate(1, 0, 0)}}
	late.cutoff = store.Nanos(late.now)
	open, err := late.openPeriods(t.Context())
	check(t, err)
	late.open = &open
	keys := []string{"orders:rows"}
	found, _, _, err := late.find(t.Context(), keys, "")
	check(t, err)
	if len(found) != 1 || found[0].period != day {
		t.Fatalf("found %+v, want the reading of that day", found)
	}
	b := store.Batch{ID: "open"}
	b.Create(run.Run{Key: run.Key{Pipeline: "silver", Schedule: pipeline.ByCron, Period: day}, Version: 1, Status: run.Pending})
	check(t, s.Commit(t.Context(), b, noon))
	if n, err := late.forget(t.Context(), found, keys); n != -1 || err != nil {
		t.Errorf("forgot %d by what was open before, error %v", n, err)
	}
	_, err = s.Trim(t.Context(), store.Retention{History: time.Hour}, late.now)
	check(t, err)
	answers, err := s.Readings(t.Context(), []store.ReadingQuery{{Pipeline: "orders", Key: "rows", Period: day}})
	check(t, err)
	if len(answers[0]) != 2 {
		t.Errorf("%d readings are left, want that of the day and the undated one", len(answers[0]))
	}
}

func TestClocksCarryMicrosecondsOver(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	got, err := s.client.Eval(t.Context(), commonLua(t)+"return later('1700000000999999000', 2000001)", nil, s.prefix, s.data).Text()
	check(t, err)
	if want := "1700000003000000000"; got != want {
		t.Errorf("2.000001 s after 0.999999 s it is %s, want %s", got, want)
	}
}

func commonLua(t *testing.T) string {
	t.Helper()
	text, err := lua.ReadFile("lua/common.lua")
	check(t, err)
	return string(text)
}
