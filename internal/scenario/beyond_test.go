package scenario_test

import (
	"context"
	"os"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redis"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// beyond does things outside of every bubble: what waits for a server must not live by a bubble's clock. A channel that both
// sides use has to be made outside, so that side makes them all.
var beyond = struct {
	asks chan ask
	done chan chan struct{}
}{make(chan ask), make(chan chan struct{})}

type ask struct {
	do   func()
	done chan struct{}
}

func TestMain(m *testing.M) {
	go func() {
		for {
			beyond.done <- make(chan struct{})
		}
	}()
	go func() {
		for a := range beyond.asks {
			a.do()
			close(a.done)
		}
	}()
	os.Exit(redistest.Main(m))
}

// outside does something there and waits for it.
func outside(do func()) {
	a := ask{do, <-beyond.done}
	beyond.asks <- a
	<-a.done
}

// onRedis keeps everything under a prefix of a real Redis.
func onRedis(t *testing.T, url string) *held {
	return &held{T: t, opens: func() store.Store {
		var s *redis.Store
		var err error
		outside(func() { s, err = redis.Open(context.Background(), url, redis.Options{CallersClock: true}) })
		if err != nil {
			t.Fatal(err)
		}
		return away{s}
	}}
}

// away is a store that waits for its server outside of the bubble.
type away struct{ *redis.Store }

func (a away) Close() (err error) {
	outside(func() { err = a.Store.Close() })
	return err
}

func (a away) TasksChanged() (changed <-chan struct{}) {
	outside(func() { changed = a.Store.TasksChanged() })
	return changed
}

func (a away) EventsChanged() (changed <-chan struct{}) {
	outside(func() { changed = a.Store.EventsChanged() })
	return changed
}

// Receive is called where there is something to receive: it has no need to end with its context.
func (a away) Receive(_ context.Context, group, consumer string, limit int) (changes []store.Change, err error) {
	outside(func() { changes, err = a.Store.Receive(context.Background(), group, consumer, limit) })
	return changes, err
}
