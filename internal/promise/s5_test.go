package promise_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

// S5: an excluded period stays dormant: only a person's forced trigger revives what the calendar
// suppressed. The year 2000 begins with a weekend.
func TestS5ExcludedMeansDormant(t *testing.T) {
	t.Run("WhateverHappens", func(t *testing.T) { onStores(t, dormantWhateverHappens) })
	t.Run("CalendarEditedLater", func(t *testing.T) { onStores(t, dormantAfterAnEdit) })
	t.Run("CalendarEditedMeanwhile", func(t *testing.T) { onStores(t, dormantAfterAnEditMeanwhile) })
	t.Run("ExcludedAfterItsRun", func(t *testing.T) { onStores(t, excludedAfterItsRun) })
	t.Run("UnderFaults", func(t *testing.T) {
		onMemory(t, func(w *world) {
			w.faults = faults{seed: 5, repeats: 0.5, loses: 0.05, refuses: 0.05}
			dormantWhateverHappens(w)
		})
	})
}

// dormant are pipelines of each kind that the calendar excludes, as it does all of Saturday.
var dormant = map[string]string{
	"fires":   "schedule: {cron: '*/30 * * * *', period: minute, exclude: {weekends: true}, evaluation: {window: 3h, interval: 1m}}\n",
	"waits":   "schedule: {trigger: {key: landed, check: exists}, period: hour, exclude: {dates: ['2000-01-01']}}\nsla: {deadline: ':20', maxDuration: 10m}\n",
	"follows": "schedule: {after: [awake], period: hour, exclude: {days: [saturday]}}\nsla: {deadline: ':20'}\n",
	"listed":  "schedule: {include: {dates: ['2000-01-03']}, trigger: {key: landed, check: exists}}\nsla: {deadline: '12:00'}\n",
	"dry":     "schedule: {trigger: {key: landed, check: exists}, period: hour, exclude: {weekends: true}}\ndryRun: true\n",
}

func (w *world) dormantFiles() {
	w.file("awake", "schedule: {trigger: {key: landed, check: exists}, period: hour}\n"+glue)
	for id, sections := range dormant {
		w.file(id, sections+glue)
	}
}

// dormantWhateverHappens does everything that would open other runs.
func dormantWhateverHappens(w *world) {
	w.dormantFiles()
	w.until("01 08:50")
	w.start("a")
	for round := range 3 {
		for _, id := range []string{"fires", "waits", "listed", "dry", "awake"} {
			for _, key := range []string{"landed", "landed#2000-01-01T09", "landed#2000-01-01"} {
				w.put(id, key, fmt.Sprintf("n=%d", round))
			}
		}
		synctest.Wait()
		w.pass(25 * time.Minute)
		w.askForAll(fmt.Sprint(round))
		w.processes()[0].kill()
		w.pass(5 * time.Minute)
		w.start("a")
		w.pauseAll()
	}
	w.pass(3 * time.Minute)
	w.wantDormant()
	w.expect("awake/stream/2000-01-01T09", "COMPLETED 2")
	w.expect("follows/stream/2000-01-01T09", "none")
	for id := range dormant {
		if len(w.emitted(id, event.PipelineExcluded)) == 0 {
			w.Errorf("no event says that the calendar suppressed a period of %s", id)
		}
	}
}

// askForAll requests the suppressed runs, without force.
func (w *world) askForAll(id string) {
	w.Helper()
	p := w.processes()[0]
	for name := range dormant {
		date := w.period("2000-01-01T09")
		if name == "listed" {
			date = w.period("2000-01-01")
		}
		q := router.TriggerRequest{ID: "trigger " + id, Pipeline: pipeline.ID(name), Period: date, By: "ada", Reason: "tested"}
		if _, err := p.Router.Trigger(w.Context(), q, time.Now()); err == nil {
			w.Errorf("%s: a trigger without force was granted", name)
		}
		answer, err := p.Router.Rerun(w.Context(), router.RerunRequest{ID: "rerun " + id, Pipeline: q.Pipeline, Period: date, By: "ada", Reason: "tested"}, time.Now())
		if err == nil && answer.Accepted {
			w.Errorf("%s: a rerun without force was granted", name)
		}
	}
}

// pauseAll pauses and resumes, which evaluates all writes of the pause again.
func (w *world) pauseAll() {
	w.Helper()
	p := w.processes()[0]
	for name := range dormant {
		w.insist(func() error {
			_, err := p.Router.Pause(w.Context(), pipeline.ID(name), store.Pause{By: "ada", Why: "tested"}, time.Now())
			return err
		})
		w.put(name, "landed#2000-01-01T09", "n=paused")
	}
	synctest.Wait()
	for name := range dormant {
		w.insist(func() error { return p.Router.Resume(w.Context(), pipeline.ID(name), "ada", "tested", time.Now()) })
	}
	synctest.Wait()
}

// insist repeats a request until the store answers.
func (w *world) insist(f func() error) {
	w.Helper()
	var err error
	for range 20 {
		if err = f(); err == nil {
			return
		}
	}
	w.Fatal(err)
}

// wantDormant checks that nothing of an excluded period was opened, armed, or reported twice.
func (w *world) wantDormant() {
	w.Helper()
	for id := range dormant {
		if n := w.target.startsOf(id); n != 0 {
			w.Errorf("%s was started %d times", id, n)
		}
		if emitted := w.emitted(id, event.TriggerStarted, event.DryRunWouldTrigger, event.TriggerRecovered, event.LateDataArrival, event.SLABreach, event.RelativeSLABreach, event.ScheduleMissed); len(emitted) > 0 {
			w.Errorf("%s: %v\n%s", id, emitted, w.eventLog())
		}
		once := map[string]int{}
		for _, line := range w.emitted(id, event.PipelineExcluded) {
			if once[line]++; once[line] > 1 {
				w.Errorf("%s: %s was emitted %d times", id, line, once[line])
			}
		}
	}
}

// dormantAfterAnEdit lifts the exclusion after its periods were due: they stay suppressed, later
// ones run.
func dormantAfterAnEdit(w *world) {
	w.dormantFiles()
	w.until("01 09:05")
	p := w.start("a")
	w.write("awake", "landed#2000-01-01T09", "n=1")
	w.write("waits", "landed#2000-01-01T09", "n=1")
	w.until("01 09:35")
	for id, sections := range dormant {
		for _, exclusion := range []string{", exclude: {weekends: true}", ", exclude: {dates: ['2000-01-01']}", ", exclude: {days: [saturday]}"} {
			sections = strings.Replace(sections, exclusion, "", 1)
		}
		if id != "listed" {
			w.file(id, sections+glue)
		}
	}
	w.pass(3 * time.Minute)
	w.write("waits", "landed#2000-01-01T09", "n=2")
	w.write("awake", "landed#2000-01-01T09", "n=2") // its rerun announces the upstream again
	p.kill()
	w.start("a")
	w.until("01 10:05")
	w.write("waits", "landed#2000-01-01T10", "n=1")
	w.write("awake", "landed#2000-01-01T10", "n=1")
	w.pass(10 * time.Minute)
	want := map[string]string{
		"fires/cron/2000-01-01T09:30": "none", "fires/cron/2000-01-01T10:00": "COMPLETED 1",
		"waits/stream/2000-01-01T09": "none", "waits/stream/2000-01-01T10": "COMPLETED 1",
		"follows/stream/2000-01-01T09": "none", "follows/stream/2000-01-01T10": "COMPLETED 1",
	}
	got := map[string]string{}
	for key := range want {
		got[key] = w.stands(key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("(-want +got):\n%s\n%s", diff, w.eventLog())
	}
	_, err := w.processes()[0].Router.Trigger(w.Context(), router.TriggerRequest{
		ID: "force", Pipeline: "waits", Period: w.period("2000-01-01T09"), By: "ada", Reason: "must", Force: true,
	}, time.Now())
	w.check(err)
	w.pass(10 * time.Minute)
	w.expect("waits/stream/2000-01-01T09", "COMPLETED 1")
}

// dormantAfterAnEditMeanwhile lifts the exclusion while no controller runs, after a fire that could
// not be suppressed.
func dormantAfterAnEditMeanwhile(w *world) {
	w.file("fires", dormant["fires"]+glue)
	w.until("01 09:20")
	w.start("a").kill()
	w.until("01 09:40")
	w.file("fires", strings.Replace(dormant["fires"], ", exclude: {weekends: true}", "", 1)+glue)
	w.start("a")
	w.until("01 10:10")
	w.expect("fires/cron/2000-01-01T09:30", "none")
	w.expect("fires/cron/2000-01-01T10:00", "COMPLETED 1")
	if emitted := w.emitted("fires", event.ScheduleMissed); len(emitted) > 0 {
		w.Errorf("emitted: %v", emitted)
	}
}

// excludedAfterItsRun excludes a period whose run has completed: no late data reruns it.
func excludedAfterItsRun(w *world) {
	section := "schedule: {trigger: {key: landed, check: exists}, period: hour}\n" + glue
	w.file("orders", section)
	w.until("01 09:05")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01T09", "n=1")
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01T09", "COMPLETED 1")
	w.file("orders", strings.Replace(section, "period: hour", "period: hour, exclude: {weekends: true}", 1))
	w.write("orders", "landed#2000-01-01T09", "n=2")
	answer, err := p.Router.Rerun(w.Context(), router.RerunRequest{ID: "1", Pipeline: "orders", Period: w.period("2000-01-01T09"), By: "ada", Reason: "tested"}, time.Now())
	w.check(err)
	if answer.Accepted {
		w.Error("a rerun of an excluded period was granted")
	}
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01T09", "COMPLETED 1")
}
