package promise_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// L1: if the gate is open inside the window, the job starts, or an alert says why not.
func TestL1ReadyIsNotForgotten(t *testing.T) {
	t.Run("KilledBeforeItReacted", func(t *testing.T) { onStores(t, killedBeforeItReacted) })
	t.Run("ChangeLost", func(t *testing.T) { onStores(t, changeLost) })
	t.Run("TaskLost", func(t *testing.T) { onStores(t, taskLost) })
	t.Run("OpenedByTimeAlone", func(t *testing.T) { onStores(t, openedByTimeAlone) })
	t.Run("OpenedAtTheLastMoment", func(t *testing.T) { onStores(t, openedAtTheLastMoment) })
	t.Run("WaitingForASlot", func(t *testing.T) { onStores(t, waitingForASlot) })
	t.Run("Paused", func(t *testing.T) { onStores(t, readyWhilePaused) })
	t.Run("RefusedByTheTarget", func(t *testing.T) { onStores(t, refusedByTheTarget) })
	t.Run("TargetsHang", func(t *testing.T) { onStores(t, targetsHang) })
	t.Run("UnderFaults", func(t *testing.T) { storms(t, []uint64{41}, usual, (*world).checkNothingForgotten) })
}

const stream = "schedule: {trigger: {key: landed, check: exists}, period: hour}\n"

// targetsHang has start calls that are the job and never end, and jobs whose status calls hang,
// more of each than the controller has workers. Jobs of other types, deadlines, and the jobs behind
// them are still in time.
func targetsHang(w *world) {
	const calls, polls = 16, 16
	w.target.set(func(a job.Attempt, _ int) play {
		switch {
		case strings.HasPrefix(string(a.ID), "call-"):
			return play{takes: 40 * time.Minute}
		case strings.HasPrefix(string(a.ID), "poll-"):
			return play{runs: time.Hour, mute: true}
		default:
			return play{}
		}
	})
	for i := range calls {
		w.file(fmt.Sprintf("call-%02d", i), stream+"job: {type: http, config: {url: 'https://example.com/'}}\n")
	}
	for i := range polls {
		w.file(fmt.Sprintf("poll-%02d", i), stream+glue)
	}
	w.file("orders", stream+machine)
	w.file("report", "schedule: {cron: '0 10 * * *', evaluation: {window: 3h, interval: 5m}}\nvalidation: {rules: [{key: rows, check: exists}]}\nsla: {deadline: '10:30'}\n"+machine)
	w.until("01 09:50")
	w.start("a")
	for i := range max(calls, polls) {
		w.put(fmt.Sprintf("poll-%02d", i), "landed#2000-01-01T09", "n=1")
		w.put(fmt.Sprintf("call-%02d", i), "landed#2000-01-01T09", "n=1")
	}
	w.until("01 09:58")
	w.write("orders", "landed#2000-01-01T09", "n=1")
	w.pass(time.Second)
	w.expect("orders/stream/2000-01-01T09", "RUNNING 1")
	w.until("01 10:00:01")
	w.expect("report/cron/2000-01-01", "PENDING 1")
	w.until("01 10:30:01")
	for _, e := range w.events(event.SLABreach) {
		if late := e.Time.Sub(time.Date(2000, 1, 1, 10, 30, 0, 0, time.UTC)); late > time.Second {
			w.Errorf("the deadline is breached %s late", late)
		}
	}
	w.wantLedger("report", "2000-01-01 BREACHED", "2000-01-02 ARMED")
	w.until("01 11:15")
	for i := range calls {
		w.expect(fmt.Sprintf("call-%02d/stream/2000-01-01T09", i), "COMPLETED 1")
	}
	w.checkStarts()
}

// killedBeforeItReacted kills the controller as soon as a write is acknowledged.
func killedBeforeItReacted(w *world) {
	w.file("orders", stream+machine) // whose start may be repeated: see settledAfterLoss for those that may not
	w.until("01 09:00")
	for hour := range 5 {
		p := w.start("a")
		w.put("orders", fmt.Sprintf("landed#2000-01-01T%02d", hour), "n=1")
		p.kill()
	}
	w.start("a")
	w.pass(5 * time.Minute)
	for hour := range 5 {
		w.expect(fmt.Sprintf("orders/stream/2000-01-01T%02d", hour), "COMPLETED 1")
	}
	w.checkStarts()
}

// changeLost drops changes before they reach the controller: the watchdog recovers them.
func changeLost(w *world) {
	var losing atomic.Bool
	w.faults.drops = func(store.Change) bool { return losing.Load() }
	w.target.set(func(job.Attempt, int) play { return play{runs: 90 * time.Second} })
	w.file("orders", stream+glue)
	w.file("after", "schedule: {after: [orders], period: hour}\n"+glue)
	w.until("01 09:00")
	w.start("a")
	losing.Store(true)
	w.write("orders", "landed#2000-01-01T08", "n=1")
	w.expect("orders/stream/2000-01-01T08", "none")
	losing.Store(false)
	w.pass(2 * interval)
	w.expect("orders/stream/2000-01-01T08", "RUNNING 1")
	if emitted := w.emitted("orders", event.TriggerRecovered); len(emitted) != 1 {
		w.Errorf("emitted: %v", emitted)
	}
	losing.Store(true) // including the change that the upstream completed
	w.pass(2 * time.Minute)
	w.expect("orders/stream/2000-01-01T08", "COMPLETED 1")
	losing.Store(false)
	w.pass(2 * interval)
	if w.stands("after/stream/2000-01-01T08") == "none" {
		w.Errorf("the upstream is COMPLETED and nothing follows\n%s", w.eventLog())
	}
}

// taskLost deletes the task of a waiting attempt.
func taskLost(w *world) {
	w.file("orders", "schedule: {cron: '0 9 * * *', evaluation: {window: 1h, interval: 1m}}\nvalidation: {rules: [{key: rows, check: exists}]}\n"+glue)
	w.until("01 08:59:30")
	w.start("a")
	w.until("01 09:00:30")
	w.expect("orders/cron/2000-01-01", "PENDING 1")
	w.loseTask("advance/orders/cron/2000-01-01")
	w.write("orders", "rows", "n=1")
	w.loseTask("advance/orders/cron/2000-01-01")
	w.pass(2*interval + 2*time.Minute)
	w.expect("orders/cron/2000-01-01", "COMPLETED 1")
}

// loseTask deletes a stored task, which no crash can do.
func (w *world) loseTask(id string) {
	w.Helper()
	b := store.Batch{ID: "lose/" + id + time.Now().String(), Finished: []string{id}}
	w.check(w.data().Commit(w.Context(), b, time.Now()))
}

// openedByTimeAlone has a gate that opens without a write.
func openedByTimeAlone(w *world) {
	w.file("orders", "schedule: {cron: '0 9 * * *', evaluation: {window: 1h, interval: 5m}}\n"+
		"validation: {rules: [{key: rows, check: age_gt, field: updatedAt, value: 17m}]}\n"+glue)
	w.until("01 08:58")
	w.start("a")
	w.write("orders", "rows", "n=1")
	w.until("01 09:14:59")
	w.expect("orders/cron/2000-01-01", "PENDING 1")
	w.until("01 09:15:30") // at once, not at the next evaluation
	w.expect("orders/cron/2000-01-01", "RUNNING 1")
}

// openedAtTheLastMoment opens the gate in the last second of the window.
func openedAtTheLastMoment(w *world) {
	w.file("orders", "schedule: {cron: '0 9 * * *', evaluation: {window: 10m, interval: 7m}}\n"+
		"validation: {rules: [{key: rows, check: age_gt, field: updatedAt, value: 9m}]}\n"+glue)
	w.until("01 08:59")
	w.start("a")
	w.until("01 09:00:59")
	w.write("orders", "rows", "n=1") // nine minutes old from 09:09:59 on
	w.until("01 09:10:30")
	w.expect("orders/cron/2000-01-01", "RUNNING 1")
}

// waitingForASlot has more ready runs than may run at once, for longer than their windows.
func waitingForASlot(w *world) {
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}, period: hour, maxActive: 1, evaluation: {window: 2m, interval: 1m}}\n"+glue)
	w.target.set(func(job.Attempt, int) play { return play{runs: 5 * time.Minute} })
	w.until("01 09:00")
	w.start("a")
	for hour := range 5 {
		w.put("orders", fmt.Sprintf("landed#2000-01-01T%02d", hour), "n=1")
	}
	synctest.Wait()
	w.pass(12 * time.Minute)
	w.processes()[0].kill()
	w.start("a")
	w.pass(20 * time.Minute)
	for hour := range 5 {
		w.expect(fmt.Sprintf("orders/stream/2000-01-01T%02d", hour), "COMPLETED 1")
	}
}

// readyWhilePaused writes and fires during a pause. At its end, runs whose window is still open
// start; the rest is reported.
func readyWhilePaused(w *world) {
	w.file("waits", stream+glue)
	w.file("fires", "schedule: {cron: '0 * * * *', evaluation: {window: 90m, interval: 5m}}\n"+glue)
	w.file("brief", "schedule: {cron: '0 * * * *', evaluation: {window: 10m, interval: 5m}}\n"+glue)
	w.until("01 08:50")
	p := w.start("a")
	for _, id := range []string{"waits", "fires", "brief"} {
		_, err := p.Router.Pause(w.Context(), w.key(id+"/cron/2000-01-01").Pipeline, store.Pause{By: "ada", Why: "tested"}, time.Now())
		w.check(err)
	}
	w.write("waits", "landed#2000-01-01T08", "n=1")
	w.until("01 09:30")
	p.kill()
	p = w.start("a")
	for _, id := range []string{"waits", "fires", "brief"} {
		w.check(p.Router.Resume(w.Context(), w.key(id+"/cron/2000-01-01").Pipeline, "ada", "tested", time.Now()))
	}
	w.pass(5 * time.Minute)
	w.expect("waits/stream/2000-01-01T08", "COMPLETED 1")
	w.expect("fires/cron/2000-01-01T09", "COMPLETED 1")
	if diff := cmp.Diff([]string{"SCHEDULE_MISSED 2000-01-01T09"}, w.emitted("brief", event.ScheduleMissed, event.TriggerStarted)); diff != "" {
		w.Errorf("(-want +got):\n%s", diff)
	}
}

// refusedByTheTarget has a target that refuses every start.
func refusedByTheTarget(w *world) {
	w.target.set(func(job.Attempt, int) play { return play{refused: job.Refuse(run.Transient, "busy")} })
	w.file("orders", stream+"job: {type: glue, config: {jobName: x}}\n")
	w.until("01 09:00")
	w.start("a")
	w.write("orders", "landed#2000-01-01T08", "n=1")
	w.pass(10 * time.Minute)
	w.expect("orders/stream/2000-01-01T08", "FAILED_FINAL 1")
	alerts := w.events(event.JobFailed, event.RetryExhausted)
	if len(alerts) != 2 || !strings.Contains(alerts[0].Detail.Message, "busy") || alerts[1].Detail.Severity == event.Info {
		w.Errorf("alerts: %v", alerts)
	}
}

// why are the events that say why a run ended without being COMPLETED.
var why = []event.Type{
	event.ValidationExhausted, event.RetryExhausted, event.JobPollExhausted, event.SFNTimeout, event.RunCancelled, event.SensorDeadlineExpired,
}

// checkNothingForgotten checks after a storm that every fire has a run or was reported as missed,
// that every write that met a start condition and every completed upstream led to a run, and that
// every run ended with an event.
func (w *world) checkNothingForgotten() {
	w.Helper()
	for _, key := range slices.Concat(w.firesExpected(), w.writesExpected(), w.completionsExpected()) {
		if w.stands(key) == "none" && !w.missed(key) {
			w.Errorf("%s was due, and there is neither a run nor an event\n%s", key, w.eventLog())
		}
	}
	emitted := map[string]bool{}
	for _, e := range w.events(why...) {
		emitted[run.Key{Pipeline: e.Detail.Pipeline, Schedule: e.Detail.Schedule, Period: e.Detail.Date}.String()] = true
	}
	for _, r := range w.runs() {
		switch {
		case r.Status.Open() && time.Since(r.UpdatedAt) > 15*time.Minute:
			w.Errorf("%s has been %s since %s\n%s", r.Key, r.Status, r.UpdatedAt, w.eventLog())
		case r.Status.Ended() && r.Status != run.Completed && !emitted[r.Key.String()]:
			w.Errorf("%s ended %s and nothing says why\n%s", r.Key, r.Status, w.eventLog())
		}
	}
}

// firesExpected returns the runs that cron should have opened in a storm.
func (w *world) firesExpected() []string {
	var keys []string
	for at := time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC); at.Before(time.Now()); at = at.Add(5 * time.Minute) {
		keys = append(keys, "strict/cron/"+at.Format("2006-01-02T15:04"))
	}
	return keys
}

// writesExpected returns the runs that writes should have opened in a storm.
func (w *world) writesExpected() []string {
	w.Helper()
	page, err := w.data().History(w.Context(), store.HistoryQuery{Pipeline: "glue", Key: "landed", Limit: store.MaxPage})
	w.check(err)
	var keys []string
	for _, written := range page.Items {
		if n, ok := written.Fields["count"].(string); ok && n >= "3" && n <= "9" {
			keys = append(keys, "glue/stream/"+written.Period.String(), "plain/stream/"+written.Period.String())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// completionsExpected returns the runs that upstreams should have opened in a storm.
func (w *world) completionsExpected() []string {
	w.Helper()
	var keys []string
	for _, r := range w.runs() {
		if r.Pipeline == "glue" && r.Status == run.Completed {
			keys = append(keys, "local/stream/"+r.Period.String())
		}
	}
	return keys
}

// missed reports whether a fire was reported as missed.
func (w *world) missed(key string) bool {
	w.Helper()
	for _, e := range w.events(event.ScheduleMissed) {
		if slices.Contains(e.Detail.Extra.(event.Missed).Dates, w.key(key).Period.String()) {
			return true
		}
	}
	return false
}
