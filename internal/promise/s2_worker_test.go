package promise_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
)

const byWorkers = "schedule: {trigger: {key: landed, check: exists}, evaluation: {window: 1h, interval: 5m}}\n" +
	"job: {type: external, config: {heartbeat: 2m}, maxRetries: 2, retryBackoff: 1s}\n"

const workersRun = "orders/stream/2000-01-01"

// S2 for jobs of external workers: however many claim an attempt, at whichever controller, one of
// them gets it. A lost worker loses it for good: another worker gets the next attempt, and a
// controller that was killed or down changes none of that.
func TestS2OneOfManyWorkersGetsTheAttempt(t *testing.T) {
	t.Run("AtTwoControllers", func(t *testing.T) { onMemory(t, func(w *world) { claimedByMany(w, "a", "b") }) })
	t.Run("OnEachStore", func(t *testing.T) { onStores(t, func(w *world) { claimedByMany(w, "a") }) })
	t.Run("ControllerKilled", func(t *testing.T) { onStores(t, claimSurvivesTheController) })
}

// claimAll has many workers claim the attempt at once, spread over the controllers, and returns
// those that got it.
func (w *world) claimAll(workers int) []string {
	w.Helper()
	var mu sync.Mutex
	var granted []string
	var all sync.WaitGroup
	there := w.processes()
	for n := range workers {
		all.Go(func() {
			name := fmt.Sprintf("worker-%d", n)
			at := there[n%len(there)]
			_, err := at.Router.Claim(w.Context(), router.ClaimRequest{Key: w.key(workersRun), Worker: name}, at.clock())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				granted = append(granted, name)
			case !errors.As(err, new(*router.ClaimRefused)):
				w.Errorf("%s was answered with %v", name, err)
			}
		})
	}
	all.Wait()
	synctest.Wait()
	return granted
}

func claimedByMany(w *world, controllers ...string) {
	w.file("orders", byWorkers)
	w.until("01 09:00")
	for _, name := range controllers {
		w.start(name)
	}
	w.write("orders", "landed#2000-01-01", "n=1")
	w.expect(workersRun, "TRIGGERING 1")
	for attempt := 1; attempt <= 3; attempt++ { // each worker is lost
		if granted := w.claimAll(30); len(granted) != 1 {
			w.Errorf("attempt %d was granted to %v", attempt, granted)
		}
		w.expect(workersRun, fmt.Sprintf("RUNNING %d", attempt))
		w.pass(3 * time.Minute)
	}
	w.expect(workersRun, "FAILED_FINAL 3")
	if n := len(w.events(event.JobTriggered)); n != 3 {
		w.Errorf("%d starts were announced, want 3", n)
	}
}

// claimSurvivesTheController kills the controller after a claim. Its worker continues, and no other
// gets the attempt.
func claimSurvivesTheController(w *world) {
	w.file("orders", byWorkers)
	w.until("01 09:00")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	if granted := w.claimAll(3); len(granted) != 1 {
		w.Errorf("the attempt was granted to %v", granted)
	}
	p.kill()
	w.pass(10 * time.Minute) // the worker could not reach a controller
	w.start("a")
	w.pass(time.Second)
	w.expect(workersRun, "RUNNING 1")
	if granted := w.claimAll(3); len(granted) != 0 {
		w.Errorf("the attempt was also granted to %v", granted)
	}
	_, err := w.processes()[0].Router.Heartbeat(w.Context(), w.key(workersRun), 1, router.Heartbeat{}, w.clock())
	w.check(err)
	w.pass(110 * time.Second)
	w.expect(workersRun, "RUNNING 1")
}
