package sqlite

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

func TestStore(t *testing.T) {
	// Folding after every third row mixes what is in memory with what is in the tables; otherwise all of it stays in memory.
	for name, o := range map[string]Options{"Plain": {}, "Folding": {foldAfter: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return opened(t, empty(t), o) }, storetest.Options{
				Reopen: func(t *testing.T, s store.Store) store.Store {
					check(t, s.Close())
					return opened(t, filepath.Dir(s.(*Store).conn.path), o)
				},
			})
		})
	}
}

func TestWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), empty(t), Options{})
		check(t, err)
		received := make(chan []store.Change)
		go func() {
			changes, err := s.Receive(t.Context(), "router", "a", 10)
			if err != nil {
				t.Error(err)
			}
			received <- changes
		}()
		synctest.Wait() // it waits on a channel, so the bubble's clock could move on
		note(t, s, write("rows", 1))
		if got := <-received; len(got) != 1 || got[0].Sensor != "rows" {
			t.Errorf("received %+v, want the one write", got)
		}
		check(t, s.Close())
	})
}

func TestStoresOfDifferentBubblesShareNothing(t *testing.T) {
	for range 20 { // a channel of one bubble that is used in another ends the process
		synctest.Test(t, func(t *testing.T) {
			s, err := Open(t.Context(), empty(t), Options{})
			check(t, err)
			note(t, s, write("rows", 1))
			check(t, s.Close())
		})
	}
}
