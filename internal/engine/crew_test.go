package engine

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// goroutine returns the id of the calling goroutine.
func goroutine() string {
	var text [64]byte
	return strings.Fields(string(text[:runtime.Stack(text[:], false)]))[1]
}

func TestCrewRunsConcurrentlyAndReusesGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		var mu sync.Mutex
		ran, on := 0, map[string]bool{}
		note := func() {
			mu.Lock()
			defer mu.Unlock()
			ran++
			on[goroutine()] = true
		}
		for range 3 {
			meeting := make(chan struct{}) // both must be running at the same time
			c.start(func() { meeting <- struct{}{}; note() })
			c.start(func() { <-meeting; note() })
			synctest.Wait()
		}
		c.end()
		if ran != 6 || len(on) != 2 {
			t.Errorf("%d of 6 functions ran, on %d goroutines, want 2", ran, len(on))
		}
	})
}

func TestCrewEndWaitsForRunningFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		leave, ended := make(chan struct{}), false
		c.start(func() { <-leave; ended = true })
		go func() {
			synctest.Wait() // until end blocks
			close(leave)
		}()
		c.end()
		if !ended {
			t.Error("end returned before a running function")
		}
	})
}
