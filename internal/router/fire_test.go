package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

// hourly fires each hour at five past, for a gate that is open.
func hourly(more string) string {
	return fmt.Sprintf(`
pipeline: {id: hourly, owner: data}
schedule: {cron: "5 * * * *"%s}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`, more)
}

func TestFireOpensTheRunOfItsPeriod(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.Pass(54 * time.Minute)
	w.expect("hourly/cron/2026-03-03T10", "none")
	w.Pass(time.Minute)
	w.expect("hourly/cron/2026-03-03T10", "RUNNING 1")
	w.Pass(2 * time.Hour)
	w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T09", "none")
}

func TestOffsetMovesTheFireToAnEarlierPeriod(t *testing.T) {
	w := newWorld(t, hourly(", offset: -1"))
	w.Pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T09", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T10", "none")
}

func TestFireMissedInADowntimeOpensWithinItsWindow(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 150m, interval: 5m}"))
	w.sleep(5*time.Hour + 20*time.Minute) // fires at 10:05, 11:05, 12:05, 13:05, 14:05; now 14:30
	w.Settle()
	same(t, "missed", []string{"2026-03-03T10", "2026-03-03T11"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	same(t, "date is the newest", "2026-03-03T11", w.only(event.ScheduleMissed).Detail.Date.String())
	for _, h := range []string{"12", "13", "14"} {
		w.expect("hourly/cron/2026-03-03T"+h, "RUNNING 1")
	}
	w.expect("hourly/cron/2026-03-03T11", "none")
	w.Pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T15", "RUNNING 1")
}

func TestCatchUpWithTheLatestOnly(t *testing.T) {
	w := newWorld(t, hourly(", catchUp: latest, evaluation: {window: 150m, interval: 5m}"))
	w.sleep(5*time.Hour + 20*time.Minute)
	w.Settle()
	want := []string{"2026-03-03T10", "2026-03-03T11", "2026-03-03T12", "2026-03-03T13"}
	same(t, "missed", want, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T13", "none")
	w.expect("hourly/cron/2026-03-03T14", "RUNNING 1")
}

func TestMissedFireIsReportedOnce(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.sleep(3 * time.Hour)
	w.Settle()
	for range 3 {
		w.Check(w.Router.CatchUp(ctx, "hourly", w.Now()))
		w.Settle()
	}
	same(t, "missed", 1, w.count(event.ScheduleMissed))
}

func TestWindowOfAMissedFireCountsFromTheEarliestStart(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: daily, owner: data}
schedule: {cron: "0 10 * * *", time: "14:00"}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`)
	w.sleep(5 * time.Hour) // 14:10
	w.Settle()
	w.expect("daily/cron/2026-03-03", "RUNNING 1")
}

func TestExcludedFiresAreRecordedAndTheRestOfADowntimeIsOneEvent(t *testing.T) {
	w := newWorld(t, hourly(", exclude: {weekends: true}"))
	w.sleep(7 * 24 * time.Hour)
	w.Settle()
	same(t, "excluded", 48, w.count(event.PipelineExcluded))
	missed := w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates
	same(t, "missed", 5*24-1, len(missed))
	w.expect("hourly/cron/2026-03-10T09", "RUNNING 1")
}

func TestLongDowntimeIsReportedInBatchesOfAThousand(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: minutely, owner: data}
schedule: {cron: "* * * * *", evaluation: {window: 2m, interval: 1m}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`)
	w.sleep(3000 * time.Minute)
	w.Settle()
	events := 0
	for _, e := range w.events() {
		if e.Type == event.ScheduleMissed {
			events += len(e.Detail.Extra.(event.Missed).Dates)
		}
	}
	same(t, "missed", 2998, events)
	same(t, "events", 3, w.count(event.ScheduleMissed))
	w.expect("minutely/cron/2026-03-05T11:10", "RUNNING 1")
}

func TestPeriodOpenedByAnOperatorIsNotMissed(t *testing.T) {
	w := newWorld(t, hourly(""))
	_, err := w.Router.Trigger(ctx, router.TriggerRequest{ID: "1", Pipeline: "hourly", Period: w.Period("2026-03-03T10"), By: "ada"}, w.Now())
	w.Check(err)
	w.sleep(3 * time.Hour)
	w.Settle()
	same(t, "missed", []string{"2026-03-03T11"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T10", "RUNNING 1")
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
}

func TestListedDaysOpenAutomatically(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: quarter, owner: data}
schedule: {include: {dates: [2026-03-04, 2026-03-31, 2026-06-30]}, time: "06:00"}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`)
	w.Pass(24 * time.Hour)
	w.expect("quarter/cron/2026-03-04", "RUNNING 1")
	w.Move(time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC))
	w.Settle()
	same(t, "missed", []string{"2026-03-31"}, w.only(event.IrregularScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.Move(time.Date(2026, 6, 30, 6, 0, 0, 0, time.UTC))
	w.Settle()
	w.expect("quarter/cron/2026-06-30", "RUNNING 1")
	if _, err := w.Store.Task(ctx, "fire/quarter"); err == nil {
		t.Error("the task still exists although no day is left")
	}
}

func TestEditOpensNoPastFires(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: hourly, owner: data}
schedule: {cron: "30 9 * * *", period: hour}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`)
	w.Pass(3 * time.Hour)
	w.expect("hourly/cron/2026-03-03T09", "RUNNING 1")
	w.apply(hourly(", evaluation: {window: 24h, interval: 5m}"))
	w.Settle()
	w.expect("hourly/cron/2026-03-03T11", "none")
	w.Pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T13", "RUNNING 1")
	same(t, "missed", 0, w.count(event.ScheduleMissed))
}

func TestEditInADowntimeForgetsNoFireAndInventsNone(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.sleep(3*time.Hour + 10*time.Minute) // 12:20: fires at 10:05, 11:05, 12:05
	w.apply(`
pipeline: {id: hourly, owner: data}
schedule: {cron: "5,10 * * * *"}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`)
	w.Settle()
	w.expect("hourly/cron/2026-03-03T12:05", "none") // a minute's period, which the previous version did not have
	w.expect("hourly/cron/2026-03-03T12", "none")    // an hour, which the active version does not have
	want := []string{"2026-03-03T10", "2026-03-03T11", "2026-03-03T12"}
	same(t, "missed", want, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)

	w = newWorld(t, hourly(""))
	w.sleep(3*time.Hour + 10*time.Minute)
	w.apply(hourly(", evaluation: {window: 30m, interval: 5m}"))
	w.Settle()
	same(t, "missed", []string{"2026-03-03T10", "2026-03-03T11"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
}

func TestFireRemovedByAnEditIsReportedOnceEvenIfTheEditIsReverted(t *testing.T) {
	const later = `
pipeline: {id: hourly, owner: data}
schedule: {cron: "10 * * * *"}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`
	w := newWorld(t, hourly(""))
	w.pause("hourly", store.Pause{})
	w.Pass(2*time.Hour + 5*time.Minute) // 11:15: paused at the fires of 10:05 and 11:05
	w.apply(later)
	w.Pass(20 * time.Minute)
	w.resume("hourly")
	want := []string{"SCHEDULE_MISSED 2026-03-03T11 0: 2 fires passed without a run, from 2026-03-03T10 to 2026-03-03T11; " +
		"the schedule was edited and no longer has this fire"}
	same(t, "missed", want, w.eventLines(event.ScheduleMissed))
	w.Pass(10 * time.Minute)
	w.apply(hourly("")) // the fire of 11:10 was never expected: its version came after it
	w.Settle()
	same(t, "missed", want, w.eventLines(event.ScheduleMissed))
	w.Pass(30 * time.Minute)
	w.expect("hourly/cron/2026-03-03T12", "RUNNING 1")
}

func TestFiresBetweenTwoEditsAreThoseOfTheVersionThatWasActive(t *testing.T) {
	const long = ", evaluation: {window: 96h, interval: 1h}"
	at := func(cron string) string {
		return fmt.Sprintf("pipeline: {id: hourly, owner: data}\nschedule: {cron: %q%s}\njob: {type: command, config: {command: \"true\"}}\n", cron, long)
	}
	weekdays, daily, monthly := at("0 9 * * 1-5"), at("0 9 * * *"), at("0 9 1 * *")
	opened := func(w *world) []string {
		page, err := w.Store.Runs(ctx, store.RunQuery{Pipeline: "hourly", From: w.Period("2026-03-06")})
		w.Check(err)
		var all []string
		for _, r := range page.Items {
			all = append([]string{r.Period.String()}, all...)
		}
		return all
	}
	for name, c := range map[string]struct {
		edits [2]string // on Saturday and on Sunday, at noon
		want  []string
	}{
		"a wider one, edited":    {[2]string{daily, daily + "# again\n"}, []string{"2026-03-06", "2026-03-08"}},
		"a wider one, reverted":  {[2]string{daily, weekdays}, []string{"2026-03-06"}},
		"one without fires":      {[2]string{monthly, daily}, []string{"2026-03-06"}},
		"the same, with comment": {[2]string{weekdays + "# once\n", weekdays}, []string{"2026-03-06"}},
		"a sensor, reverted":     {[2]string{strings.Replace(source("hourly", ""), "arrival", "other", 1), weekdays}, []string{"2026-03-06"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, weekdays) // Tuesday, 3 March
			w.Pass(2 * 24 * time.Hour)
			w.pause("hourly", store.Pause{})
			w.Pass(2*24*time.Hour + 3*time.Hour) // Saturday, 12:10: Friday's fire is pending
			w.apply(c.edits[0])
			w.Pass(24 * time.Hour)
			w.apply(c.edits[1])
			w.Pass(4 * time.Hour) // Sunday, 16:10
			w.resume("hourly")
			same(t, "opened", c.want, opened(w))
			row, err := w.Store.Pipeline(ctx, "hourly")
			w.Check(err)
			same(t, "earlier versions", 0, len(row.Earlier))
		})
	}
}

func TestFireOfAScheduleThatAnEditReplacesByASensorIsMissed(t *testing.T) {
	w := newWorld(t, hourly(""))
	w.sleep(time.Hour) // 10:10: the fire of 10:05 is pending
	w.apply(source("hourly", ""))
	w.Settle()
	missed := w.only(event.ScheduleMissed)
	same(t, "missed", "cron 2026-03-03T10", fmt.Sprintf("%s %s", missed.Detail.Schedule, missed.Detail.Date))
	w.Pass(time.Hour)
	w.apply(hourly(""))
	w.Settle()
	same(t, "told once", 1, w.count(event.ScheduleMissed))
}

func TestFireMovedByAnEditInADowntimeCountsOnce(t *testing.T) {
	const later = `
pipeline: {id: hourly, owner: data}
schedule: {cron: "10 * * * *", evaluation: {window: 24h, interval: 5m}}
job: {type: command, config: {command: "true"}, jobPollWindowSeconds: 86400}
`
	w := newWorld(t, hourly(""))
	w.sleep(time.Hour + 57*time.Minute) // 11:07: fires at 10:05 and 11:05
	w.apply(later)
	w.sleep(10 * time.Minute) // after the moved fire of 11:10
	w.Settle()
	same(t, "missed", []string{"2026-03-03T10"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")

	w = newWorld(t, hourly(""))
	w.sleep(time.Hour + 57*time.Minute)
	w.apply(later)
	w.Settle() // before the moved fire
	w.expect("hourly/cron/2026-03-03T11", "none")
	w.Pass(3 * time.Minute)
	same(t, "missed", []string{"2026-03-03T10"}, w.only(event.ScheduleMissed).Detail.Extra.(event.Missed).Dates)
	w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")

	w = newWorld(t, hourly(", exclude: {dates: [2026-03-03]}"))
	w.sleep(time.Hour + 57*time.Minute)
	w.apply(strings.Replace(later, "evaluation", "exclude: {dates: [2026-03-03]}, evaluation", 1))
	w.sleep(10 * time.Minute)
	w.Settle()
	want := []string{"2026-03-03T10", "2026-03-03T11"}
	var got []string
	for _, e := range w.events() {
		if e.Type == event.PipelineExcluded {
			got = append(got, e.Detail.Date.String())
		}
	}
	same(t, "excluded", want, got)
	w.expect("hourly/cron/2026-03-03T11", "none")
}

func TestRemovedPipelineDoesNotFireAndItsReturnOpensNoPastFires(t *testing.T) {
	w := newWorld(t, hourly(", evaluation: {window: 24h, interval: 5m}"))
	w.remove("hourly")
	w.Pass(3 * time.Hour)
	w.expect("hourly/cron/2026-03-03T10", "none")
	w.apply(hourly(", evaluation: {window: 24h, interval: 5m}"))
	w.Settle()
	w.expect("hourly/cron/2026-03-03T11", "none")
	w.Pass(time.Hour)
	w.expect("hourly/cron/2026-03-03T13", "RUNNING 1")
	same(t, "missed", 0, w.count(event.ScheduleMissed))
}

func TestFireAlreadyRecordedAsExcludedIsSkipped(t *testing.T) {
	w := newWorld(t, hourly(", exclude: {dates: [2026-03-03]}, evaluation: {window: 30m, interval: 5m}"))
	b := store.Batch{ID: "half of a pass"}
	b.SetMark("excluded/hourly/cron/2026-03-03T10", time.Time{})
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.Pass(2 * time.Hour)
	same(t, "events", 1, w.count(event.PipelineExcluded)) // of the next fire, at 11:05
	row, err := w.Store.Pipeline(ctx, "hourly")
	w.Check(err)
	same(t, "dealt with", time.Date(2026, 3, 3, 11, 5, 0, 0, time.UTC), row.FiredThrough)
}

// The version of the first of two edits was not active until the instant that the clock showed.
func TestEditsWhileTheClockRanAheadDoNotDelayTheActiveSchedule(t *testing.T) {
	at := func(minute int) string {
		return strings.Replace(hourly(""), `"5 *`, fmt.Sprintf(`"%d *`, minute), 1)
	}
	w := newWorld(t, at(5))
	start := w.Now() // 09:10
	w.sleep(48 * time.Hour)
	w.apply(at(15))
	w.sleep(time.Minute)
	w.apply(at(25))
	w.Move(start.Add(10 * time.Minute)) // 09:20, corrected
	w.Check(w.Router.Rewind(ctx, "hourly", w.Now))
	w.Settle()
	w.Pass(5 * time.Minute)
	w.expect("hourly/cron/2026-03-03T09", "RUNNING 1")
	w.Pass(50 * time.Minute) // 10:15
	w.expect("hourly/cron/2026-03-03T10", "none")
	w.Pass(10 * time.Minute)
	w.expect("hourly/cron/2026-03-03T10", "RUNNING 1")
}

// A newer binary may not be able to compile a version that was active before.
func TestEarlierVersionThatCannotBeReadStopsNoSchedule(t *testing.T) {
	for name, stored := range map[string]bool{"broken": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hourly(""))
			w.sleep(time.Hour) // 10:10: the fire of 10:05 is pending
			w.apply(hourly("") + "# edited\n")
			row, err := w.Store.Pipeline(ctx, "hourly")
			w.Check(err)
			next := row
			next.Earlier = []store.Acceptance{{Config: "old", At: row.Earlier[0].At}}
			b := store.Batch{ID: "break"}
			b.SwapPipeline(row, next)
			if stored {
				b.Configs = []store.Config{{
					Pipeline: "hourly", Version: "old", File: pipeline.Source{File: "0.yaml", Data: []byte("pipeline: {id: hourly}")},
				}}
			}
			w.Check(w.Store.Commit(ctx, b, w.Now()))
			w.Settle()
			w.Pass(time.Hour) // 11:10
			w.expect("hourly/cron/2026-03-03T11", "RUNNING 1")
			told := w.only(event.ScheduleMissed).Detail.Message
			const want = "any fires from 2026-03-03T09:10:00Z to 2026-03-03T10:10:00Z open nothing, because the file of that time cannot be read: "
			if !strings.HasPrefix(told, want) {
				t.Errorf("told %q", told)
			}
		})
	}
}
