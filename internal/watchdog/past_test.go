package watchdog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// Every minute exceeds one page of every list.

const (
	minutely     = "schedule: {period: minute, trigger: {key: landed, check: equals, field: ok, value: true}}\n"
	minuteAudits = minutely + "postRun: {rules: [{key: out, check: exists}]}\n" // due after two hours
)

// minute returns the nth minute after eight as a period.
func minute(n int) string {
	return eight.Add(time.Duration(n) * time.Minute).Format("2006-01-02T15:04")
}

// afterEight returns the time that many minutes after eight.
func afterEight(n int) time.Time { return eight.Add(time.Duration(n) * time.Minute) }

// completeMinutes completes the runs of some minutes, each in its own minute.
func (w *world) completeMinutes(from, to int) {
	w.Helper()
	for n := from; n < to; n++ {
		w.complete("orders", minute(n), afterEight(n))
	}
}

func count(lines []string, kind string) int {
	return len(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, kind+" ") }))
}

func TestMissingSensorIsReportedHoweverManyRunsCompletedMeanwhile(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, minuteAudits)
		for n := 1; n < 140; n++ {
			w.complete("orders", minute(n), afterEight(n))
			var want []string
			if due := n - 121; due > 0 { // after its timeout and an interval
				want = []string{"POST_RUN_SENSOR_MISSING " + minute(due)}
			}
			w.want(fmt.Sprintf("events %d minutes after eight", n), want, w.pass(afterEight(n)))
		}
	})
}

func TestMissingSensorsOfAllRunsAreReportedAfterDowntime(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, minuteAudits)
		w.completeMinutes(0, 250)
		later := eight.Add(10 * time.Hour)
		if n := count(w.pass(later), "POST_RUN_SENSOR_MISSING"); n != 250 {
			t.Errorf("reported %d runs, want 250", n)
		}
		w.want("again", nil, w.pass(later.Add(time.Minute)))
	})
}

func TestRestartedWatchdogReportsWhatBecameDueMeanwhile(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, minuteAudits)
		w.completeMinutes(0, 150)
		w.pass(afterEight(130))
		later := eight.Add(3 * 24 * time.Hour)
		if n := count(w.pass(later), "POST_RUN_SENSOR_MISSING"); n != 150-10 {
			t.Errorf("reported %d more runs, want 140", n)
		}
	})
}

func TestLostChangeIsRecoveredHoweverManyFollowedIt(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, minutely)
		w.want("nothing yet", nil, w.pass(eight))
		for n := range 120 {
			w.put(sensor.Fields{"ok": n < 10}, minute(n), eight.Add(time.Duration(n)*time.Second))
		}
		w.drain()
		lines := w.pass(afterEight(4))
		if n := count(lines, "TRIGGER_RECOVERED"); n != 10 {
			t.Errorf("recovered %d runs, want 10: %v", n, lines)
		}
		w.want("again", nil, w.pass(afterEight(5)))
	})
}

func TestLostUpstreamIsRecoveredHoweverManyFollowedIt(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, "schedule: {period: minute, after: [bronze]}\n", "bronze")
		w.slices = "minute"
		w.edit("schedule: {period: minute, after: [bronze]}\n", eight)
		for n := range 120 {
			w.complete("bronze", minute(n), afterEight(n))
		}
		lines := w.pass(afterEight(125))
		if n := count(lines, "TRIGGER_RECOVERED"); n != 120 {
			t.Errorf("recovered %d runs, want 120", n)
		}
		w.want("again", nil, w.pass(afterEight(126)))
	})
}

// TestWhatWasLookedAtIsNotReadAgain checks that only the latest page is read again, however many
// entries there are.
func TestWhatWasLookedAtIsNotReadAgain(t *testing.T) {
	w := newWorld(t, minuteAudits)
	for n := range 120 {
		w.put(sensor.Fields{"ok": false}, "", afterEight(n))
	}
	w.drain()
	w.pass(afterEight(125))
	w.flaky.asked = nil
	w.pass(afterEight(126))
	w.want("asked", []string{"history of orders", "runs of orders"}, w.flaky.asked)
}
