package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

const narrow = `
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 1, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`

// crowded is a world in which one job runs and three wait for its slot.
func crowded(t *testing.T) *world {
	w := newWorld(t, narrow)
	for _, day := range []string{"04", "03", "02", "01"} {
		w.write("narrow", "arrival#2026-03-"+day, "n=1")
	}
	w.expect("narrow/stream/2026-03-04", "RUNNING 1")
	return w
}

func TestFreedSlotGoesToTheOldestRunAtOnce(t *testing.T) {
	w := crowded(t)
	for _, day := range []string{"04", "01", "02", "03"} {
		w.expect("narrow/stream/2026-03-"+day, "RUNNING 1")
		w.sleep(time.Minute)
		w.succeed("narrow/stream/2026-03-" + day)
	}
}

func TestFailedAndCancelledJobsFreeTheirSlots(t *testing.T) {
	w := crowded(t)
	w.sleep(time.Minute)
	w.finish("narrow/stream/2026-03-04", run.ResultFail, run.Transient)
	w.expect("narrow/stream/2026-03-01", "RUNNING 1")
	w.sleep(time.Minute)
	_, err := w.router.Cancel(ctx, w.key("narrow/stream/2026-03-01"), "ada", "not needed", w.now)
	w.check(err)
	w.settle()
	w.expect("narrow/stream/2026-03-01", "CANCELLED 1")
	w.expect("narrow/stream/2026-03-02", "RUNNING 1")
}

func TestWiderLimitWakesThoseWhoWait(t *testing.T) {
	w := crowded(t)
	w.sleep(time.Minute)
	w.apply(`
pipeline: {id: narrow, owner: data}
schedule: {trigger: {key: arrival, check: exists}, maxActive: 3, evaluation: {window: 1h, interval: 30m}}
job: {type: command, config: {command: "true"}}
`)
	w.settle()
	// An attempt keeps the limit it opened with, but those who wait look again, and time passes.
	w.sleep(time.Minute)
	w.succeed("narrow/stream/2026-03-04")
	w.expect("narrow/stream/2026-03-01", "RUNNING 1")
}
