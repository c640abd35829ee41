package router_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// after returns a pipeline downstream of others.
func after(id, upstreams, more string) string {
	return fmt.Sprintf(`
pipeline: {id: %s, owner: data}
schedule: {after: [%s]%s}
job: {type: command, config: {command: "true"}}
`, id, upstreams, more)
}

// source returns a pipeline that a sensor opens.
func source(id, more string) string {
	return fmt.Sprintf(`
pipeline: {id: %s, owner: data}
schedule: {trigger: {key: arrival, check: exists}%s}
job: {type: command, config: {command: "true"}}
`, id, more)
}

func TestCompletionOfTheLastUpstreamOpensTheRun(t *testing.T) {
	w := newWorld(t, source("a", ""), source("b", ""), after("c", "a, b", ""))
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.expect("c/stream/2026-03-03", "none")
	w.Write("b", "arrival", "n=1")
	w.expect("c/stream/2026-03-03", "none")
	w.succeed("b/stream/2026-03-03")
	w.expect("c/stream/2026-03-03", "RUNNING 1")
	same(t, "cause", run.CauseUpstream, w.run("c/stream/2026-03-03").Progress.Opening.Cause)
}

// Only the upstreams open the run; another rule may read a run that never completes.
func TestRuleOnARunThatIsNoUpstreamDoesNotKeepTheRunFromOpening(t *testing.T) {
	rules := "validation: {rules: [{any: [{key: run/x, check: exists}, {key: run/a, check: equals, field: status, value: CANCELLED}, {key: ready, check: exists}]}]}\n"
	w := newWorld(t, source("a", ""), after("c", "a", "")+rules)
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.expect("c/stream/2026-03-03", "PENDING 1")
	w.Write("c", "ready#2026-03-03", "n=1")
	w.expect("c/stream/2026-03-03", "RUNNING 1")
}

// Periods of the same size have the same name, also in a zone whose clock skips that hour.
func TestUpstreamOfAnotherZoneOpensAnHourThatTheClockSkips(t *testing.T) {
	w := newWorld(t, source("a", ", period: hour"), after("c", "a", ", period: hour, timezone: America/New_York"))
	w.Write("a", "arrival#2026-03-08T02", "n=1")
	w.succeed("a/stream/2026-03-08T02")
	w.expect("c/stream/2026-03-08T02", "RUNNING 1")
}

func TestAllHoursOfADayOpenTheDay(t *testing.T) {
	w := newWorld(t, source("hours", ", period: hour"), after("day", "hours", ", period: day"))
	for h := range 24 {
		w.expect("day/stream/2026-03-02", "none")
		p := fmt.Sprintf("2026-03-02T%02d", h)
		w.Write("hours", "arrival#"+p, "n=1")
		w.succeed("hours/stream/" + p)
	}
	w.expect("day/stream/2026-03-02", "RUNNING 1")
}

func TestDayOfAnotherZoneWaitsForTheHoursThatOverlapIt(t *testing.T) {
	w := newWorld(t, source("hours", ", period: hour"), after("day", "hours", ", period: day, timezone: Etc/GMT+1"))
	for h := range 25 {
		w.expect("day/stream/2026-03-01", "none")
		p := w.Period("2026-03-01T00").Add(h, time.UTC).String()
		w.Write("hours", "arrival#"+p, "n=1")
		w.succeed("hours/stream/" + p)
	}
	w.expect("day/stream/2026-03-01", "RUNNING 1") // its last hour is T00 of the next day in UTC
	w.expect("day/stream/2026-02-28", "none")      // the first hour overlaps it, but it needs 23 others
}

func TestADayOpensEachOfItsHours(t *testing.T) {
	w := newWorld(t, source("day", ", period: day"), after("hours", "day", ", period: hour"))
	w.Write("day", "arrival#2026-03-02", "n=1")
	w.succeed("day/stream/2026-03-02")
	for h := range 24 {
		w.expect(fmt.Sprintf("hours/stream/2026-03-02T%02d", h), "RUNNING 1")
	}
	w.expect("hours/stream/2026-03-03T00", "none")
}

func TestUpstreamWakesARunThatCronOpened(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", `, cron: "0 10 * * *"`))
	w.Pass(time.Hour)
	w.expect("b/cron/2026-03-03", "PENDING 1")
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.expect("b/cron/2026-03-03", "RUNNING 1")
}

func TestRerunOfAnUpstreamIsLateDataForItsDependentsOnceItCompletes(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", ""))
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.succeed("b/stream/2026-03-03")
	w.sleep(time.Minute)
	w.Write("a", "arrival", "n=2")
	w.expect("a/stream/2026-03-03", "RUNNING 2")
	w.expect("b/stream/2026-03-03", "COMPLETED 1")
	w.sleep(time.Minute)
	w.succeed("a/stream/2026-03-03")
	w.expect("b/stream/2026-03-03", "RUNNING 2")
	same(t, "cause", run.CauseUpstream, w.run("b/stream/2026-03-03").Progress.Opening.Cause)
	same(t, "counter", 1, w.run("b/stream/2026-03-03").Counters.DriftReruns)
	same(t, "late data", 2, w.count(event.LateDataArrival))
}

func TestRerunThroughADiamondRerunsItsEndOnce(t *testing.T) {
	w := newWorld(t, source("a", ""), after("left", "a", ""), after("right", "a", ""), after("end", "left, right", ""))
	all := func() {
		for _, id := range []string{"a", "left", "right", "end"} {
			w.sleep(time.Minute)
			w.succeed(id + "/stream/2026-03-03")
		}
	}
	w.Write("a", "arrival", "n=1")
	all()
	w.expect("end/stream/2026-03-03", "COMPLETED 1")
	w.sleep(time.Minute)
	w.Write("a", "arrival", "n=2")
	w.sleep(time.Minute)
	w.succeed("a/stream/2026-03-03")
	w.succeed("left/stream/2026-03-03")
	w.expect("end/stream/2026-03-03", "COMPLETED 1")
	w.sleep(time.Minute)
	w.succeed("right/stream/2026-03-03")
	w.expect("end/stream/2026-03-03", "RUNNING 2")
	w.succeed("end/stream/2026-03-03")
	w.expect("end/stream/2026-03-03", "COMPLETED 2")
}

func TestDependentsReadTheUpstreamsRunAsASensor(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", ""))
	shows := func() string {
		found, err := w.Store.Readings(ctx, []store.ReadingQuery{{Pipeline: "b", Key: "run/a", Period: w.Period("2026-03-03")}})
		w.Check(err)
		return fmt.Sprint(found[0][0].Fields)
	}
	w.Write("a", "arrival", "n=1")
	same(t, "running", "map[attempt:1 date:2026-03-03 status:RUNNING]", shows())
	w.succeed("a/stream/2026-03-03")
	same(t, "completed", "map[attempt:1 completedAt:2026-03-03T09:10:00Z date:2026-03-03 status:COMPLETED]", shows())
	w.sleep(time.Minute)
	w.Write("a", "arrival", "n=2")
	same(t, "opened again", "map[attempt:2 date:2026-03-03 status:RUNNING]", shows())
}

func TestDependentsGetEveryStatusOfTheUpstreamHoweverLateItIsHandled(t *testing.T) {
	heard := func(w *world) []string {
		page, err := w.Store.History(ctx, store.HistoryQuery{Pipeline: "b", Key: "run/a"})
		w.Check(err)
		var all []string
		for _, r := range page.Items {
			all = append([]string{fmt.Sprint(r.Fields["status"])}, all...)
		}
		return all
	}
	prompt := newWorld(t, source("a", ""), after("b", "a", ""))
	prompt.Write("a", "arrival", "n=1")
	late := newWorld(t, source("a", ""), after("b", "a", ""))
	late.Put("a", "arrival", "n=1")
	late.React() // opens the run
	for late.Work() {
	}
	late.Settle() // only now is the change handled
	same(t, "heard", []string{"PENDING", "TRIGGERING", "RUNNING"}, heard(prompt))
	same(t, "heard late", heard(prompt), heard(late))
	prompt.succeed("a/stream/2026-03-03")
	late.succeed("a/stream/2026-03-03")
	for _, w := range []*world{prompt, late} {
		opened := w.events()[len(w.events())-3]
		same(t, "what opened the run", []string{"b", string(event.TriggerStarted), "run/a/stream/2026-03-03"},
			[]string{string(opened.Detail.Pipeline), string(opened.Type), opened.Detail.CausedBy})
	}
}

func TestExcludedPeriodOfADependentIsRecorded(t *testing.T) {
	w := newWorld(t, source("a", ""), after("b", "a", ", exclude: {dates: [2026-03-03]}"))
	w.Write("a", "arrival", "n=1")
	w.succeed("a/stream/2026-03-03")
	w.expect("b/stream/2026-03-03", "none")
	same(t, "recorded", []event.Type{event.PipelineExcluded}, w.types("b"))
}

func TestCompletionAfterAChangeOfScheduleReachesTheDependents(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: a, owner: data}
validation: {rules: [{key: ready, check: exists}]}
job: {type: command, config: {command: "true"}}
`, after("b", "a", ""))
	w.trigger("a", "2026-03-03")
	w.Pass(45 * time.Minute) // the version of its run, which waits for its gate, grows beyond that of the next
	w.Write("a", "ready", "n=1")
	w.succeed("a/manual/2026-03-03")
	w.succeed("b/stream/2026-03-03")
	w.expect("b/stream/2026-03-03", "COMPLETED 1")

	w.apply(`
pipeline: {id: a, owner: data}
schedule: {cron: "0 10 * * *"}
job: {type: command, config: {command: "true"}}
`)
	w.Settle()
	w.Pass(5 * time.Minute)
	w.succeed("a/cron/2026-03-03")
	w.expect("b/stream/2026-03-03", "RUNNING 2") // what a made by its cron is late data
}
