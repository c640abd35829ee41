package watchdog_test

import (
	"strings"
	"testing"
	"time"
)

const (
	day    = 24 * time.Hour
	hourly = "schedule: {cron: \"0 * * * *\", evaluation: {window: 30m, interval: 5m}}\n"
)

func TestFiresAreNotSkippedAfterAClockRanAhead(t *testing.T) {
	w := newWorld(t, hourly)
	nine := eight.Add(time.Hour)
	w.want("on time", []string{"TRIGGER_STARTED 2026-03-03T09"}, w.drainAndPass(nine.Add(2*time.Minute)))
	w.want("clock ahead", []string{"SCHEDULE_MISSED 2026-03-03T11", "TRIGGER_STARTED 2026-03-03T12"}, w.drainAndPass(nine.Add(3*time.Hour+2*time.Minute)))
	w.want("corrected after ten", []string{"INFRA_ALARM ", "TRIGGER_STARTED 2026-03-03T10"}, w.drainAndPass(nine.Add(time.Hour+2*time.Minute)))
	w.want("once", nil, w.drainAndPass(nine.Add(time.Hour+3*time.Minute)))
	w.want("reported as missed, and open now", []string{"TRIGGER_STARTED 2026-03-03T11"}, w.drainAndPass(nine.Add(2*time.Hour+2*time.Minute)))
	w.want("opened early", nil, w.drainAndPass(nine.Add(3*time.Hour+2*time.Minute)))
	w.want("next", []string{"TRIGGER_STARTED 2026-03-03T13"}, w.drainAndPass(nine.Add(4*time.Hour+2*time.Minute)))
}

func TestFileAcceptedWhileTheClockRanAheadCountsFromNow(t *testing.T) {
	w := newWorld(t, hourly)
	w.edit(hourly+"dryRun: false\n", eight.Add(30*day))
	w.want("corrected", []string{"INFRA_ALARM "}, w.drainAndPass(eight.Add(10*time.Minute)))
	w.want("next", []string{"TRIGGER_STARTED 2026-03-03T09"}, w.drainAndPass(eight.Add(time.Hour+2*time.Minute)))
}

func TestFileReplacedAfterTheClockWasCorrectedCountsFromNow(t *testing.T) {
	w := newWorld(t, hourly)
	w.edit(hourly+"dryRun: false\n", eight.Add(30*day))
	w.edit(strings.Replace(hourly, "0 *", "5 *", 1), eight.Add(3*time.Minute)) // before a pass noticed
	w.want("corrected", []string{"INFRA_ALARM ", "TRIGGER_STARTED 2026-03-03T08"}, w.drainAndPass(eight.Add(10*time.Minute)))
}

func TestFileFirstAcceptedWhileTheClockRanAheadCountsFromNow(t *testing.T) {
	w := newWorld(t, landed, "late")
	w.slices = "hour"
	w.upstreams = nil
	w.edit(hourly, eight.Add(30*day)) // another kind of schedule, and the upstream is removed
	w.upstreams = []string{"late"}
	w.edit(hourly, eight.Add(30*day)) // its horizon is ahead
	w.want("corrected", []string{"INFRA_ALARM "}, w.drainAndPass(eight.Add(10*time.Minute)))
	if e := w.catalog.Current().Get("late"); !e.Horizon.Equal(eight.Add(10 * time.Minute)) {
		t.Errorf("its horizon is %s", e.Horizon)
	}
}

func TestClockSkewBelowAnIntervalRaisesNoAlarm(t *testing.T) {
	w := newWorld(t, hourly)
	nine := eight.Add(time.Hour)
	w.want("a replica that is ahead", []string{"TRIGGER_STARTED 2026-03-03T09"}, w.drainAndPass(nine.Add(time.Minute)))
	w.want("one that is behind", nil, w.drainAndPass(nine.Add(-50*time.Second)))
}

func TestPassOfASuspendedReplicaDoesNotTakeTheProgressOfOthersForAWrongClock(t *testing.T) {
	w := newWorld(t, hourly)
	nine := eight.Add(time.Hour)
	w.want("on time", []string{"TRIGGER_STARTED 2026-03-03T09"}, w.drainAndPass(nine.Add(2*time.Minute)))
	now := nine.Add(3 * time.Minute)
	others := []string{"SCHEDULE_MISSED 2026-03-03T11", "TRIGGER_STARTED 2026-03-03T12"}
	w.flaky.meanwhile = func() {
		now = nine.Add(3*time.Hour + 2*time.Minute)
		w.want("another replica", others, w.drainAndPass(now))
	}
	w.want("the pass that was held up", others, w.passWith(func() time.Time { return now }))
	w.want("the next", nil, w.drainAndPass(now.Add(time.Minute)))
}

func (w *world) drainAndPass(now time.Time) []string {
	w.Helper()
	w.drain()
	return w.pass(now)
}
