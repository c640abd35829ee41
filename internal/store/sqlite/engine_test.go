package sqlite

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/interlock-go/interlock/internal/store/row"
	"github.com/interlock-go/interlock/internal/store/rowtest"
)

func TestEngine(t *testing.T) {
	rowtest.Run(t, func(t *testing.T) row.Engine { return opened(t, empty(t), Options{}) }, rowtest.Options{
		Reopen: func(t *testing.T, e row.Engine) row.Engine {
			check(t, e.Close())
			return opened(t, filepath.Dir(e.(*Engine).conn.path), Options{})
		},
	})
}

func TestWorksInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := OpenEngine(t.Context(), empty(t), Options{})
		check(t, err)
		received := make(chan []row.Change)
		go func() {
			changes, err := e.Receive(t.Context(), "router", "a", 10)
			if err != nil {
				t.Error(err)
			}
			received <- changes
		}()
		synctest.Wait() // it blocks on a channel, so the bubble's clock could advance
		put(t, e, reading("rows", 1))
		if got := <-received; len(got) != 1 || string(got[0].Body) != "rows" {
			t.Errorf("received %+v, want the one write", got)
		}
		check(t, e.Close())
	})
}

func TestEnginesOfDifferentBubblesShareNothing(t *testing.T) {
	for range 20 { // using a channel of another bubble crashes the process
		synctest.Test(t, func(t *testing.T) {
			e, err := OpenEngine(t.Context(), empty(t), Options{})
			check(t, err)
			put(t, e, reading("rows", 1))
			check(t, e.Close())
		})
	}
}
