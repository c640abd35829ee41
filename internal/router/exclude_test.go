package router_test

import (
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const weekdays = `
pipeline: {id: weekdays, owner: data}
schedule:
  trigger: {key: arrival, check: exists}
  exclude: {weekends: true}
job: {type: command, config: {command: "true"}}
`

func TestExcludedPeriodIsRecordedOnceAndNotOpened(t *testing.T) {
	w := newWorld(t, weekdays)
	w.Write("weekdays", "arrival#2026-03-07", "n=1")
	w.Write("weekdays", "arrival#2026-03-07", "n=2")
	w.expect("weekdays/stream/2026-03-07", "none")
	same(t, "rule", event.Exclusion{Rule: "weekend"}, w.only(event.PipelineExcluded).Detail.Extra.(event.Exclusion))
}

func TestEditedCalendarRevivesNothing(t *testing.T) {
	w := newWorld(t, weekdays)
	w.Write("weekdays", "arrival#2026-03-07", "n=1")
	w.apply(`
pipeline: {id: weekdays, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	w.Write("weekdays", "arrival#2026-03-07", "n=2")
	w.expect("weekdays/stream/2026-03-07", "none")
	w.Write("weekdays", "arrival#2026-03-08", "n=2") // never suppressed, so nothing revives it either
	w.expect("weekdays/stream/2026-03-08", "RUNNING 1")
}

func TestLateWriteDoesNotOpenAPeriodWhoseRunWasDeleted(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: orders, owner: data}
schedule: {trigger: {key: arrival, check: exists}}
job: {type: command, config: {command: "true"}}
`)
	for _, date := range []string{"2026-03-02", "2026-03-03"} {
		w.Write("orders", "arrival#"+date, "n=1")
		w.succeed("orders/stream/" + date)
		w.expect("orders/stream/"+date, "COMPLETED 1")
	}
	w.sleep(102 * 24 * time.Hour)
	if n, err := w.Store.Trim(t.Context(), store.Retention{Runs: 100 * 24 * time.Hour}, w.Now()); n == 0 || err != nil {
		t.Fatalf("deleted %d rows, %v", n, err)
	}
	w.expect("orders/stream/2026-03-02", "none")
	w.Write("orders", "arrival#2026-03-02", "n=2")
	w.expect("orders/stream/2026-03-02", "none")
	w.Write("orders", "arrival#2026-03-01", "n=1") // it never had a run
	w.expect("orders/stream/2026-03-01", "RUNNING 1")
	if n := w.count(event.PipelineExcluded); n != 0 {
		t.Errorf("%d events say that the calendar excluded it", n)
	}
}

func TestCalendarEditedInADowntimeRevivesNoFire(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: weekdays, owner: data}
schedule: {cron: "0 10 * * *", exclude: {dates: ["2026-03-03"]}}
job: {type: command, config: {command: "true"}}
`)
	w.sleep(time.Hour) // 10:10; no controller ran at 10:00 to suppress the fire
	w.apply(`
pipeline: {id: weekdays, owner: data}
schedule: {cron: "0 10 * * *"}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	w.expect("weekdays/cron/2026-03-03", "none")
	same(t, "rule", event.Exclusion{Rule: "listed date"}, w.only(event.PipelineExcluded).Detail.Extra.(event.Exclusion))
	w.Pass(24 * time.Hour)
	w.expect("weekdays/cron/2026-03-03", "none")
	w.expect("weekdays/cron/2026-03-04", "RUNNING 1")
}

func TestForcedTriggerRunsAnExcludedPeriodAndNothingElseDoes(t *testing.T) {
	w := newWorld(t, weekdays)
	ask := router.TriggerRequest{ID: "1", Pipeline: "weekdays", Period: w.Period("2026-03-07"), By: "ada", Reason: "stocktaking"}
	_, err := w.Router.Trigger(ctx, ask, w.Now())
	refused(t, err, router.Conflict)
	ask.Force = true
	_, err = w.Router.Trigger(ctx, ask, w.Now())
	w.Check(err)
	w.Settle()
	w.expect("weekdays/stream/2026-03-07", "RUNNING 1")
	w.succeed("weekdays/stream/2026-03-07")
	w.sleep(time.Minute)
	w.Write("weekdays", "arrival#2026-03-07", "n=2")
	w.expect("weekdays/stream/2026-03-07", "COMPLETED 1")
	same(t, "late data", 0, w.count(event.LateDataArrival))
}

func TestForcedRunOfAnExcludedPeriodIsRetriedLikeAnyOther(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: weekdays, owner: data}
schedule: {trigger: {key: arrival, check: exists}, exclude: {weekends: true}}
job: {type: command, config: {command: "true"}, maxRetries: 1}
`)
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "weekdays", Period: w.Period("2026-03-07"), By: "ada", Reason: "stocktaking", Force: true}, w.Now())
	w.Check(err)
	w.Settle()
	w.finish("weekdays/stream/2026-03-07", run.ResultFail, run.Transient)
	w.expect("weekdays/stream/2026-03-07", "PENDING 2")
}
