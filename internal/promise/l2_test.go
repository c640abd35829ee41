package promise_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
)

// L2: a missed schedule, stale run or missing post-run sensor is reported once, within two watchdog
// intervals of when it became detectable: at its own instant, or at the controller's start if that
// was later.
func TestL2AbsenceIsBounded(t *testing.T) {
	t.Run("FiresMissedInADowntime", func(t *testing.T) { onStores(t, firesMissedInADowntime) })
	t.Run("FireWhoseTaskIsLost", func(t *testing.T) { onStores(t, fireWhoseTaskIsLost) })
	t.Run("ListedDayMissed", func(t *testing.T) { onStores(t, listedDayMissed) })
	t.Run("StaleRun", func(t *testing.T) { onStores(t, staleRun) })
	t.Run("StartConditionNeverMet", func(t *testing.T) { onStores(t, startConditionNeverMet) })
	t.Run("PostRunSensorMissing", func(t *testing.T) { onStores(t, postRunSensorMissing) })
	t.Run("DeadlineWhoseTaskIsLost", func(t *testing.T) { onStores(t, deadlineWhoseTaskIsLost) })
	t.Run("NoFalseAlarm", func(t *testing.T) { onStores(t, noFalseAlarm) })
}

// wantOnce checks that exactly these events were emitted, and restarts the controller a few times
// to see whether any is repeated.
func (w *world) wantOnce(id string, types []event.Type, want ...string) {
	w.Helper()
	for range 3 {
		if diff := cmp.Diff(want, w.emitted(id, types...)); diff != "" {
			w.Fatalf("events of %s at %s (-want +got):\n%s\n%s", id, time.Now().UTC().Format(time.DateTime), diff, w.eventLog())
		}
		w.processes()[0].kill()
		w.start("a")
		w.pass(2 * interval)
	}
}

func firesMissedInADowntime(w *world) {
	w.file("orders", "schedule: {cron: '*/10 * * * *', period: minute, evaluation: {window: 15m, interval: 1m}}\n"+glue)
	w.until("01 08:55")
	w.start("a").kill()
	w.until("01 09:37:20")
	w.start("a")
	w.pass(2 * interval)
	w.wantOnce("orders", []event.Type{event.ScheduleMissed}, "SCHEDULE_MISSED 2000-01-01T09:20") // includes those before it
	missed := w.events(event.ScheduleMissed)[0].Detail.Extra.(event.Missed).Dates
	if diff := cmp.Diff([]string{"2000-01-01T09:00", "2000-01-01T09:10", "2000-01-01T09:20"}, missed); diff != "" {
		w.Errorf("missed (-want +got):\n%s", diff)
	}
	w.expect("orders/cron/2000-01-01T09:30", "COMPLETED 1") // its window was open
}

// fireWhoseTaskIsLost deletes the task of the next fire.
func fireWhoseTaskIsLost(w *world) {
	w.file("orders", "schedule: {cron: '0 * * * *', evaluation: {window: 1m, interval: 30s}}\n"+glue)
	w.file("patient", "schedule: {cron: '0 * * * *', evaluation: {window: 30m, interval: 1m}}\n"+glue)
	w.until("01 08:55")
	w.start("a")
	w.loseTask("fire/orders")
	w.loseTask("fire/patient")
	w.until("01 09:01:50")
	w.expect("patient/cron/2000-01-01T09", "RUNNING 1")
	w.wantOnce("orders", []event.Type{event.ScheduleMissed, event.TriggerStarted}, "SCHEDULE_MISSED 2000-01-01T09")
	w.until("01 10:02")
	w.expect("orders/cron/2000-01-01T10", "COMPLETED 1")
}

func listedDayMissed(w *world) {
	w.file("stocktaking", "schedule: {include: {dates: ['2000-01-01', '2000-01-05']}, time: '09:00', evaluation: {window: 10m, interval: 1m}}\n"+glue)
	w.until("01 08:55")
	w.start("a").kill()
	w.until("01 09:30:20")
	w.start("a")
	w.pass(2 * interval)
	w.wantOnce("stocktaking", []event.Type{event.IrregularScheduleMissed, event.TriggerStarted}, "IRREGULAR_SCHEDULE_MISSED 2000-01-01")
}

// staleRun has a run whose job never ends and whose task is lost: its time limit ends it anyway.
func staleRun(w *world) {
	w.target.set(func(job.Attempt, int) play { return play{runs: 100 * time.Hour} })
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}, evaluation: {window: 5m, interval: 1m}}\n"+
		"job: {type: lambda, config: {functionName: x, async: true}, pollInterval: 1m, jobPollWindowSeconds: 1500}\n")
	w.until("01 09:00")
	w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	w.expect("orders/stream/2000-01-01", "RUNNING 1")
	w.loseTask("advance/orders/stream/2000-01-01")
	w.processes()[0].kill()
	w.until("01 10:00:20") // the limit is an hour
	w.start("a")
	w.pass(2 * interval)
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 1")
	w.wantOnce("orders", []event.Type{event.SFNTimeout}, "SFN_TIMEOUT 2000-01-01")
}

func startConditionNeverMet(w *world) {
	w.file("orders", "schedule: {trigger: {key: landed, check: exists, deadline: ':30'}, period: hour}\n"+glue)
	w.until("01 08:50")
	w.start("a")
	w.until("01 09:32")
	w.wantOnce("orders", []event.Type{event.SensorDeadlineExpired}, "SENSOR_DEADLINE_EXPIRED 2000-01-01T08")
	w.expect("orders/stream/2000-01-01T08", "VALIDATION_EXHAUSTED 0")
}

func postRunSensorMissing(w *world) {
	w.file("orders", stream+"postRun: {rules: [{key: loaded, check: exists}, {key: counted, check: exists}], sensorTimeout: 20m}\n"+glue)
	w.until("01 09:00")
	w.start("a")
	w.write("orders", "landed#2000-01-01T08", "n=1")
	w.write("orders", "loaded#2000-01-01T08", "n=1") // before the completion, so it does not count
	w.pass(2 * time.Minute)
	w.expect("orders/stream/2000-01-01T08", "COMPLETED 1")
	w.write("orders", "counted#2000-01-01T08", "n=1")
	w.until("01 09:21:30") // it completed some time after 09:01
	if emitted := w.emitted("orders", event.PostRunSensorMissing); len(emitted) > 0 {
		w.Errorf("too early: %v", emitted)
	}
	w.until("01 09:23:30")
	w.wantOnce("orders", []event.Type{event.PostRunSensorMissing}, "POST_RUN_SENSOR_MISSING 2000-01-01T08")
	if e := w.events(event.PostRunSensorMissing)[0]; fmt.Sprint(e.Detail.Extra) != "{[loaded]}" {
		w.Errorf("missing: %v", e.Detail.Extra)
	}
}

// deadlineWhoseTaskIsLost deletes the task of a deadline.
func deadlineWhoseTaskIsLost(w *world) {
	w.file("orders", "schedule: {trigger: {key: landed, check: exists}, period: hour}\nsla: {deadline: ':20'}\n"+glue)
	w.until("01 08:50")
	w.start("a")
	w.loseTask("deadline/orders/stream/2000-01-01T08/absolute")
	w.until("01 09:22")
	w.wantOnce("orders", []event.Type{event.SLABreach}, "SLA_BREACH 2000-01-01T08")
	w.checkDeadlines()
}

// noFalseAlarm lets everything succeed, and checks that the watchdog reports nothing.
func noFalseAlarm(w *world) {
	for id, sections := range map[string]string{
		"fires":   "schedule: {cron: '*/5 * * * *', period: minute}\nvalidation: {rules: [{key: rows, check: exists}]}\n" + glue,
		"waits":   "schedule: {trigger: {key: landed, check: exists, deadline: ':30'}, period: hour}\nsla: {deadline: ':40'}\n" + glue,
		"follows": "schedule: {after: [waits], period: hour}\nsla: {deadline: ':50'}\n" + glue,
	} {
		w.file(id, sections)
	}
	w.until("01 08:50")
	w.start("a")
	for range 6 {
		w.write("fires", "rows", "n=1")
		w.write("waits", "landed", "n=1")
		w.pass(7*time.Minute + 500*time.Millisecond)
		w.processes()[0].kill()
		w.start("a")
	}
	for _, e := range w.events() {
		if e.Detail.Severity != event.Info {
			w.Errorf("%s %s %s: %s", e.Type, e.Detail.Pipeline, e.Detail.Date, e.Detail.Message)
		}
	}
}
