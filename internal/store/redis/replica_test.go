package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
)

// pair returns two replicas on one Redis.
func pair(t *testing.T) (a, b *Engine) {
	t.Helper()
	url := redistest.Shared(t)
	return opened(t, url, Options{}), opened(t, url, Options{})
}

// kill stops the background work of a replica and expires its heartbeat. It sends no message, like
// a killed process.
func (e *Engine) kill(t *testing.T) {
	t.Helper()
	close(e.closed)
	e.ended.Wait()
	check(t, e.client.ZRem(t.Context(), e.key("alive"), e.instance).Err())
	e.closing.Do(func() { e.err = e.client.Close() })
}

func TestChangesOfADeadReplicaGoToAnother(t *testing.T) {
	a, b := pair(t)
	for n := range int64(3) {
		put(t, a, n)
	}
	held := receive(t, a, 2)
	if got := receive(t, b, 10); len(got) != 1 || got[0].Position <= held[1].Position {
		t.Fatalf("the other replica received %+v while the first held %+v", got, held)
	}
	a.kill(t)
	if diff := cmp.Diff(held, receive(t, b, 10)); diff != "" {
		t.Errorf("changes of the dead replica (-) and those that the other received (+):\n%s", diff)
	}
}

// Redis was killed, or the connection broke, after the script and before its reply.
func TestChangesWhoseAnswerWasLostAreReceived(t *testing.T) {
	a, b := pair(t)
	for n := range int64(3) {
		put(t, a, n)
	}
	first := receive(t, a, 1)
	_, err := a.hand(t.Context(), "router", "one", 1, "") // its reply is lost
	check(t, err)
	a.unsure.Store("router/one", true)
	second := receive(t, a, 10)
	if len(second) != 1 || second[0].Position != first[0].Position+1 {
		t.Errorf("received %+v after %+v, want the one in the lost reply", second, first)
	}
	if third := receive(t, a, 10); len(third) != 1 || third[0].Position != first[0].Position+2 {
		t.Errorf("received %+v, want the last one", third)
	}
	check(t, a.Ack(t.Context(), "router", append(first, second...)))
	if n := backlog(t, b); n != 1 {
		t.Errorf("backlog %d, want 1", n)
	}
}

func TestReceiveThatFailedIsUnsure(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	put(t, e, 1)
	check(t, server.Kill())
	if _, err := e.Receive(t.Context(), "router", "one", 1); err == nil {
		t.Fatal("received something from a Redis that is gone")
	}
	if _, is := e.unsure.Load("router/one"); !is {
		t.Error("the engine does not ask again for changes that Redis may have assigned")
	}
	check(t, server.Again())
	check(t, again(t, func() error {
		_, err := e.Receive(t.Context(), "router", "one", 1)
		return err
	}))
	if _, is := e.unsure.Load("router/one"); is {
		t.Error("the engine is still unsure after a reply")
	}
}

func TestLiveReplicaKeepsItsChanges(t *testing.T) {
	a, b := pair(t)
	put(t, a, 1)
	held := receive(t, a, 1)
	check(t, a.beat(t.Context()))
	if got, err := b.receive(t.Context(), "router", "one", 10); len(got) != 0 || err != nil {
		t.Errorf("received %+v, which a live replica holds; error %v", got, err)
	}
	check(t, a.Ack(t.Context(), "router", held))
	if n := backlog(t, b); n != 0 {
		t.Errorf("backlog %d, want none", n)
	}
}

func TestHeartbeatsLastLongerThanTheirInterval(t *testing.T) {
	e := opened(t, redistest.Shared(t), Options{})
	now := func() time.Time {
		at, err := e.client.Time(t.Context()).Result()
		check(t, err)
		return at
	}
	before := now()
	check(t, e.beat(t.Context()))
	score, err := e.client.ZScore(t.Context(), e.key("alive"), e.instance).Result()
	check(t, err)
	until, after := time.UnixMilli(int64(score)), now()
	if until.Sub(before) < aliveFor-time.Millisecond || until.Sub(after) > aliveFor {
		t.Errorf("counts as alive until %s, after a heartbeat between %s and %s", until, before, after)
	}
	if aliveFor < 3*aliveBeat {
		t.Error("a replica that misses two heartbeats counts as dead")
	}
}

func TestPeersKnowWhoIsDead(t *testing.T) {
	a, b := pair(t)
	alive := b.Peers().Alive
	if a.Peers().Self == b.Peers().Self {
		t.Error("two replicas have the same name")
	}
	for _, other := range []string{a.instance, b.instance, "an instance that may have started just now"} {
		if !alive(other) {
			t.Errorf("%s counts as dead", other)
		}
	}
	check(t, b.beat(t.Context()))
	if !alive(a.instance) || !alive(b.instance) || alive("an instance that may have started just now") {
		t.Error("after a heartbeat, the two replicas and no other must be alive")
	}
	tasks := b.Changed(row.TaskTopic)
	a.kill(t)
	check(t, b.beat(t.Context()))
	if alive(a.instance) {
		t.Error("the dead replica counts as alive")
	}
	select {
	case <-tasks:
	default:
		t.Error("the tasks of the dead replica can be claimed, but no waiter was woken")
	}
	woke := redis.Z{Member: a.instance, Score: float64(time.Now().Add(time.Minute).UnixMilli())}
	check(t, b.client.ZAdd(t.Context(), b.key("alive"), woke).Err())
	check(t, b.beat(t.Context()))
	if !alive(a.instance) {
		t.Error("a replica that was only suspended still counts as dead")
	}
}

// Other replicas need not wait for one that was closed.
func TestClosedReplicaCountsAsDeadAtOnce(t *testing.T) {
	a, b := pair(t)
	check(t, b.beat(t.Context()))
	tasks, left := b.Changed(row.TaskTopic), b.signals[leaveTopic].Next()
	check(t, a.Close())
	if _, err := b.client.ZScore(t.Context(), b.key("alive"), a.instance).Result(); !errors.Is(err, redis.Nil) {
		t.Errorf("the heartbeat of the replica that left is still there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-left:
	case <-ctx.Done():
		t.Fatal("the replica did not say that it leaves")
	}
	for b.Peers().Alive(a.instance) {
		select {
		case <-tasks:
			tasks = b.Changed(row.TaskTopic)
		case <-ctx.Done():
			t.Fatal("the replica that left still counts as alive")
		}
	}
}

// A process wakes its waiters when its transaction has been applied. The message of that
// transaction comes later, and would wake them again for nothing.
func TestAProcessIgnoresItsOwnMessages(t *testing.T) {
	a, b := pair(t)
	put(t, a, 1)
	changes, events := a.signals[changeTopic].Next(), a.signals[eventTopic].Next()
	other := b.signals[eventTopic].Next()
	check(t, a.client.Publish(t.Context(), a.key("wake"), "c "+a.instance).Err())
	check(t, a.client.Publish(t.Context(), a.key("wake"), "e "+b.instance).Err())
	check(t, a.client.Publish(t.Context(), a.key("wake"), "e "+a.instance).Err())
	for _, woken := range []<-chan struct{}{events, other} { // messages arrive in their order
		select {
		case <-woken:
		case <-time.After(2 * time.Minute):
			t.Fatal("the message of another instance woke no waiter")
		}
	}
	select {
	case <-changes:
		t.Error("its own message woke a waiter")
	default:
	}
}

func TestALostReplyWakesWaiters(t *testing.T) {
	server := redistest.Start(t)
	e := opened(t, server.URL(), Options{})
	check(t, server.Kill())
	changes, tasks := e.signals[changeTopic].Next(), e.Changed(row.TaskTopic)
	if err := e.Apply(t.Context(), row.Tx{ID: "x"}, noon); err == nil {
		t.Fatal("a Redis that is gone has applied a transaction")
	}
	for _, woken := range []<-chan struct{}{changes, tasks} {
		select {
		case <-woken:
		default:
			t.Error("Redis may have applied it, but no waiter was woken")
		}
	}
}

func TestSkewIsHowFarTheClockOfRedisIsAhead(t *testing.T) {
	url := redistest.Shared(t)
	began := time.Now()
	e := opened(t, url, Options{})
	took := max(time.Since(began), patience)       // of any heartbeat until now
	if skew := e.Peers().Skew; skew.Abs() > took { // both use the clock of the same machine
		t.Errorf("skew %s", skew)
	}
	check(t, e.Close()) // stops the heartbeats
	e.peers.update(nil, nil, time.Hour)
	if skew := e.Peers().Skew; skew != time.Hour {
		t.Errorf("skew %s, want that of the last heartbeat", skew)
	}
	if peers := opened(t, url, Options{CallersClock: true}).Peers(); peers.Skew != 0 || peers.Alive != nil {
		t.Errorf("by the clock of the callers: %+v", peers)
	}
}

// replicas returns two stores on one Redis, with a task.
func replicas(t *testing.T) (a, b *Store) {
	t.Helper()
	url := redistest.Shared(t)
	for _, s := range []**Store{&a, &b} {
		var err error
		*s, err = Open(t.Context(), url, Options{})
		check(t, err)
		t.Cleanup(func() { _ = (*s).Close() })
	}
	task := store.Batch{ID: "task", Tasks: []store.Task{{ID: "task", Kind: store.Fire, Pipeline: "orders", Due: noon}}}
	check(t, a.Commit(t.Context(), task, noon))
	return a, b
}

func claimed(t *testing.T, s *Store) []store.Claim {
	t.Helper()
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 1, Lease: time.Hour}, time.Now())
	check(t, err)
	return claims
}

func TestLeasesOfADeadReplicaAreFree(t *testing.T) {
	a, b := replicas(t)
	held := claimed(t, a)
	if got := claimed(t, b); len(held) != 1 || len(got) != 0 {
		t.Fatalf("one replica claimed %v and the other %v of one task", held, got)
	}
	a.engine.kill(t)
	check(t, b.engine.beat(t.Context()))
	if got := claimed(t, b); len(got) != 1 || got[0].Lease.Token <= held[0].Lease.Token {
		t.Errorf("claimed %v, want the task of the dead replica", got)
	}
}

// The replica was only suspended, or could not reach Redis for a while.
func TestReplicaThatWasTakenForDeadChangesNothingMore(t *testing.T) {
	a, b := replicas(t)
	held := claimed(t, a)[0].Lease
	check(t, a.Commit(t.Context(), store.Batch{ID: "still held", Lease: &held}, time.Now()))
	var taken []store.Claim
	for len(taken) == 0 { // the replica may just have sent a heartbeat
		check(t, a.engine.client.ZRem(t.Context(), a.engine.key("alive"), a.engine.instance).Err())
		check(t, b.engine.beat(t.Context()))
		taken = claimed(t, b)
	}
	check(t, a.engine.beat(t.Context()))
	err := a.Commit(t.Context(), store.Batch{ID: "late", Lease: &held}, time.Now())
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	kept, err := a.Renew(t.Context(), []store.Lease{held}, time.Hour, time.Now())
	check(t, err)
	check(t, a.Release(t.Context(), []store.Lease{held}, time.Now()))
	if len(kept) != 0 || len(claimed(t, a)) != 0 {
		t.Error("the replica renewed or released a lease that was taken over")
	}
	check(t, b.Commit(t.Context(), store.Batch{ID: "its own", Lease: &taken[0].Lease}, time.Now()))
}

func TestOneReplicaWakesTheOther(t *testing.T) {
	a, b := pair(t)
	tasks, events := b.Changed(row.TaskTopic), b.Changed(row.EventTopic)
	check(t, a.Apply(t.Context(), marking("task"), noon))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-tasks:
	case <-ctx.Done():
		t.Fatal("the other replica was not woken")
	}
	select {
	case <-events:
		t.Error("the other replica was woken for an event, but there is none")
	default:
	}
}

func TestOwnChangesWakeAtOnce(t *testing.T) {
	e := opened(t, redistest.Shared(t), Options{})
	tasks := e.Changed(row.TaskTopic)
	check(t, e.Apply(t.Context(), marking("task"), noon))
	select {
	case <-tasks:
	default:
		t.Error("the task was stored, but no waiter was woken")
	}
}
