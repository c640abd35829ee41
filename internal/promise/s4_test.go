package promise_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// S4: each armed deadline ends in exactly one of MET, BREACHED and CANCELLED with its reason, with
// no run, no sensor, a restart or a config edit in between.
func TestS4SilenceIsNeverSuccess(t *testing.T) {
	t.Run("NothingEverHappens", func(t *testing.T) { onStores(t, nothingEverHappens) })
	t.Run("DownAtTheInstant", func(t *testing.T) { onStores(t, downAtTheInstant) })
	t.Run("InTimeLateAndFailed", func(t *testing.T) { onStores(t, inTimeLateAndFailed) })
	t.Run("EditedRemovedPausedCancelled", func(t *testing.T) { onStores(t, editedRemovedPausedCancelled) })
	t.Run("CountedFromTheFirstReading", func(t *testing.T) { onStores(t, countedFromTheFirstReading) })
	t.Run("UnderFaults", func(t *testing.T) { storms(t, []uint64{31}, usual, (*world).checkDeadlines) })
}

const hourly = "schedule: {cron: '0 * * * *', evaluation: {window: 30m, interval: 1m}}\nsla: {deadline: ':20', expectedDuration: 10m}\n"

func (w *world) wantLedger(id string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.ledger(id)); diff != "" {
		w.Errorf("deadlines of %s (-want +got):\n%s\n%s", id, diff, w.eventLog())
	}
}

// nothingEverHappens has no data, no job and no requests: pipelines opened by cron, a sensor, and
// an upstream.
func nothingEverHappens(w *world) {
	w.file("fires", hourly+"validation: {rules: [{key: rows, check: exists}]}\n")
	w.file("waits", "schedule: {trigger: {key: landed, check: exists}, period: hour}\nsla: {deadline: ':20'}\n")
	w.file("follows", "schedule: {after: [waits], period: hour}\nsla: {deadline: ':20'}\n")
	w.until("01 08:50")
	w.start("a")
	w.until("01 11:30")
	// An hour's deadline is the first :20 after its end. Under cron, a period that began before the
	// horizon is not armed.
	w.wantLedger("fires", "2000-01-01T09 BREACHED", "2000-01-01T10 BREACHED", "2000-01-01T11 ARMED", "2000-01-01T12 ARMED")
	for _, id := range []string{"waits", "follows"} {
		w.wantLedger(id, "2000-01-01T08 BREACHED", "2000-01-01T09 BREACHED", "2000-01-01T10 BREACHED", "2000-01-01T11 ARMED", "2000-01-01T12 ARMED")
		if n := len(w.emitted(id, event.SLABreach)); n != 3 {
			w.Errorf("%s: %d breaches were emitted", id, n)
		}
	}
	if n := len(w.emitted("fires", event.SLAWarning)); n != 2 {
		w.Errorf("%d warnings were emitted", n)
	}
	w.checkDeadlines()
}

// downAtTheInstant stops all controllers when a deadline passes, twice, and checks the events
// later.
func downAtTheInstant(w *world) {
	w.file("waits", "schedule: {trigger: {key: landed, check: exists}, period: hour}\nsla: {deadline: ':20'}\n")
	w.until("01 08:50")
	w.start("a").kill()
	w.until("01 09:30")
	w.start("a")
	w.pass(time.Second)
	w.wantLedger("waits", "2000-01-01T08 BREACHED", "2000-01-01T09 ARMED", "2000-01-01T10 ARMED")
	w.processes()[0].kill()
	w.until("01 11:30")
	for range 3 {
		w.start("a")
		w.pass(2 * time.Minute)
		if len(w.emitted("waits", event.SLABreach)) != 3 {
			w.Errorf("emitted: %v", w.emitted("waits", event.SLABreach))
		}
		w.checkDeadlines()
		w.processes()[0].kill()
	}
}

func inTimeLateAndFailed(w *world) {
	w.target.set(func(a job.Attempt, _ int) play {
		switch {
		case a.Period.String() == "2000-01-01T10":
			return play{runs: 90 * time.Minute} // until 11:30, and its deadline is 11:20
		case a.Period.String() == "2000-01-01T11":
			return play{fails: run.Permanent}
		}
		return play{}
	})
	w.file("orders", hourly+"job: {type: glue, config: {jobName: x}, pollInterval: 10s, maxCodeRetries: 0, jobPollWindowSeconds: 7200}\n")
	w.until("01 08:50")
	w.start("a")
	w.until("01 12:30")
	w.wantLedger("orders", "2000-01-01T09 MET", "2000-01-01T10 BREACHED", "2000-01-01T11 BREACHED", "2000-01-01T12 MET", "2000-01-01T13 ARMED")
	w.checkDeadlines()
	for _, d := range w.deadlines() {
		late := d.Key.Period.String() == "2000-01-01T10"
		if completed := !d.DoneAt.IsZero() && d.DoneAt.After(d.BreachAt); completed != late {
			w.Errorf("%s was breached by %s and is done at %s", d.Key, d.BreachAt, d.DoneAt)
		}
	}
	for _, e := range w.events(event.SLABreach) {
		if failed := e.Detail.Extra.(event.Deadline).Failed; failed != (e.Detail.Date.String() == "2000-01-01T11") {
			w.Errorf("%s: failed is %v", e.Detail.Date, failed)
		}
	}
}

func editedRemovedPausedCancelled(w *world) {
	section := "schedule: {trigger: {key: landed, check: exists}, period: hour}\nsla: {deadline: ':20'}\njob: {type: glue, config: {jobName: x}}\n"
	for _, id := range []string{"edited", "removed", "paused", "cancelled", "excluded"} {
		w.file(id, section)
	}
	w.target.set(func(job.Attempt, int) play { return play{runs: 10 * time.Hour} })
	w.until("01 08:50")
	p := w.start("a")
	w.write("cancelled", "landed#2000-01-01T08", "n=1")
	w.until("01 09:00")
	w.file("edited", strings.Replace(section, ":20", ":40", 1))
	w.file("excluded", strings.Replace(section, "period: hour", "period: hour, exclude: {weekends: true}", 1))
	w.remove("removed")
	_, err := p.Router.Pause(w.Context(), "paused", store.Pause{By: "ada", Why: "tested", HoldSLA: true}, time.Now())
	w.check(err)
	_, err = p.Router.Cancel(w.Context(), w.key("cancelled/stream/2000-01-01T08"), "ada", "tested", time.Now())
	w.check(err)
	w.pass(time.Minute)
	w.wantLedger("removed", "2000-01-01T08 CANCELLED removed", "2000-01-01T09 CANCELLED removed", "2000-01-01T10 CANCELLED removed")
	w.wantLedger("paused", "2000-01-01T08 CANCELLED paused", "2000-01-01T09 CANCELLED paused", "2000-01-01T10 CANCELLED paused")
	w.wantLedger("excluded", "2000-01-01T08 CANCELLED excluded", "2000-01-01T09 CANCELLED excluded", "2000-01-01T10 CANCELLED excluded", "2000-01-03T00 ARMED")
	w.wantLedger("edited", "2000-01-01T08 ARMED", "2000-01-01T09 ARMED", "2000-01-01T10 ARMED")
	w.until("01 10:45")
	w.wantLedger("edited", "2000-01-01T08 BREACHED", "2000-01-01T09 BREACHED", "2000-01-01T10 ARMED", "2000-01-01T11 ARMED")
	w.wantLedger("cancelled", "2000-01-01T08 CANCELLED cancelled", "2000-01-01T09 BREACHED", "2000-01-01T10 ARMED", "2000-01-01T11 ARMED")
	w.checkDeadlines()
}

// countedFromTheFirstReading checks the relative deadline: reruns and further readings do not move
// it.
func countedFromTheFirstReading(w *world) {
	w.target.set(func(a job.Attempt, _ int) play {
		if a.Period.String() == "2000-01-01T09" {
			return play{fails: run.Transient, runs: 5 * time.Minute}
		}
		return play{}
	})
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}, period: hour}\nsla: {maxDuration: 20m}\n"+
		"job: {type: glue, config: {jobName: x}, pollInterval: 10s, maxRetries: 10, retryBackoff: 1m}\n")
	w.until("01 09:00")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01T08", "n=1")
	w.write("orders", "landed#2000-01-01T09", "n=1")
	w.until("01 09:10")
	w.write("orders", "landed#2000-01-01T09", "n=2")
	p.kill()
	w.until("01 09:20:30")
	w.start("a")
	w.pass(10 * time.Second)
	states := map[string]sla.State{}
	for _, d := range w.deadlines() {
		states[d.Key.Period.String()] = d.State
		if want := time.Date(2000, 1, 1, 9, 20, 0, 0, time.UTC); !d.BreachAt.Equal(want) {
			w.Errorf("%s is due at %s", d.Key, d.BreachAt)
		}
	}
	if diff := cmp.Diff(map[string]sla.State{"2000-01-01T08": sla.Met, "2000-01-01T09": sla.Breached}, states); diff != "" {
		w.Errorf("(-want +got):\n%s\n%s", diff, w.eventLog())
	}
	w.checkDeadlines()
}
