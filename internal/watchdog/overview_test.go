package watchdog_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// overview lists the contents of a store in memory.
type overview struct {
	store   *memory.Store
	most    int // maximum entries, if not 0
	failing error
}

func (o *overview) Written(ctx context.Context, from time.Time, most int) (map[store.WriteID]time.Time, bool, error) {
	found := map[store.WriteID]time.Time{}
	err := o.pipelines(ctx, func(id pipeline.ID) error {
		latest, err := o.store.LatestReadings(ctx, store.LatestQuery{Pipeline: id})
		for _, r := range latest.Items {
			page, err := o.store.History(ctx, store.HistoryQuery{Pipeline: id, Key: r.Key, Limit: store.MaxPage})
			if err != nil {
				return err
			}
			for _, one := range page.Items {
				if !one.UpdatedAt.Before(from) {
					found[store.WriteID{Pipeline: id, Key: r.Key, Version: one.Version}] = one.UpdatedAt
				}
			}
		}
		return err
	})
	return found, o.whole(len(found), most), err
}

func (o *overview) Completed(ctx context.Context, from time.Time, most int) (map[run.Key]int, bool, error) {
	found := map[run.Key]int{}
	err := o.pipelines(ctx, func(id pipeline.ID) error {
		page, err := o.store.Runs(ctx, store.RunQuery{Pipeline: id, Limit: store.MaxPage})
		for _, r := range page.Items {
			if !r.EndedAt.Before(from) {
				found[r.Key] = r.Attempt // whatever happened to it since
			}
		}
		return err
	})
	return found, o.whole(len(found), most), err
}

func (o *overview) whole(n, most int) bool { return n <= most && (o.most == 0 || n <= o.most) }

func (o *overview) pipelines(ctx context.Context, do func(pipeline.ID) error) error {
	rows, err := o.store.Pipelines(ctx)
	for _, row := range rows {
		err = errors.Join(err, do(row.ID))
	}
	return errors.Join(err, o.failing)
}

// beginning creates a world.
type beginning func(t *testing.T, sections string, upstreams ...string) *world

// eitherWay checks that a watchdog finds the same without an overview, with one, and with one that
// is too long.
func eitherWay(t *testing.T, test func(t *testing.T, begin beginning)) {
	t.Helper()
	t.Run("asked", func(t *testing.T) { test(t, newWorld) })
	for name, o := range map[string]overview{"overview": {}, "long overview": {most: 1}} {
		t.Run(name, func(t *testing.T) {
			test(t, func(t *testing.T, sections string, upstreams ...string) *world {
				return worldWith(t, &o, sections, upstreams...)
			})
		})
	}
}

func TestFailingOverviewIsReported(t *testing.T) {
	w := worldWith(t, &overview{failing: errors.New("no answer")}, landed)
	report, err := w.dog.Pass(ctx, clockAt(eight.Add(time.Hour)))
	if err == nil || !cmp.Equal(report.Failed, []string{"unopened-runs"}) {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestOverviewSavesQueriesForQuietPipelines(t *testing.T) {
	const followed = "postRun: {rules: [{key: out, check: exists}], sensorTimeout: 1h}\n"
	w := worldWith(t, &overview{}, landed+followed, "bronze")
	w.want("events", nil, w.pass(eight.Add(time.Hour)))
	w.want("asked", nil, w.flaky.asked)

	w.completeRun(eight.Add(10 * time.Minute))
	w.putKey("out", "2026-03-03", eight.Add(20*time.Minute))
	w.drain()
	w.want("events", nil, w.pass(eight.Add(3*time.Hour)))
	w.want("asked of a run that was followed by its sensor", nil, w.flaky.asked)
}

func TestCheckedRunIsNotCheckedAgain(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		const followed = "postRun: {rules: [{key: out, check: exists}], sensorTimeout: 1h}\n"
		w := begin(t, landed+followed)
		w.completeRun(eight.Add(10 * time.Minute))
		w.drain()
		w.want("events", []string{"POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
		looks := w.flaky.readings
		w.pass(eight.Add(3 * time.Hour))
		w.pass(eight.Add(4 * time.Hour))
		if looks != 1 || w.flaky.readings != looks {
			t.Errorf("checked %d times, then %d more", looks, w.flaky.readings-looks)
		}
		w.edit(landed+"postRun: {rules: [{key: other, check: exists}], sensorTimeout: 1h}\n", eight.Add(5*time.Hour))
		w.drain()
		w.want("events that another file asks for", []string{"POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(6*time.Hour)))
	})
}

// TestSensorOfAnotherPeriodDoesNotFollowARun: an overview lists the write, but not its period.
func TestSensorOfAnotherPeriodDoesNotFollowARun(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed+"postRun: {rules: [{key: out, check: exists}], sensorTimeout: 1h}\n")
		w.completeRun(eight.Add(10 * time.Minute))
		w.putKey("out", "2026-03-02", eight.Add(20*time.Minute))
		w.putKey("out", "2026-03-04", eight.Add(30*time.Minute))
		w.drain()
		w.want("events", []string{"POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
	})
}

func TestDeletedSensorDoesNotFollowARun(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed+"postRun: {rules: [{key: out, check: exists}], sensorTimeout: 1h}\n")
		w.completeRun(eight.Add(10 * time.Minute))
		w.putKey("out", "2026-03-03", eight.Add(20*time.Minute))
		w.deleteKey("out", "2026-03-03", eight.Add(30*time.Minute))
		w.drain()
		w.want("events", []string{"POST_RUN_SENSOR_MISSING 2026-03-03"}, w.pass(eight.Add(2*time.Hour)))
	})
}

func TestLostChangeOfADeletedReadingIsNotRecovered(t *testing.T) {
	eitherWay(t, func(t *testing.T, begin beginning) {
		w := begin(t, landed)
		w.want("nothing yet", nil, w.pass(eight))
		w.putKey("landed", "2026-03-03", eight.Add(time.Second))
		w.deleteKey("landed", "2026-03-03", eight.Add(2*time.Second))
		w.drain()
		w.want("events", nil, w.pass(eight.Add(time.Hour)))
	})
}

// putKey writes a sensor of a period, and deleteKey deletes it.
func (w *world) putKey(key sensor.Key, date string, at time.Time) {
	w.Helper()
	w.putReading(sensor.Reading{Key: key, Period: periodtest.Parse(w.T, date), Fields: sensor.Fields{"ok": true}}, at)
}

func (w *world) deleteKey(key sensor.Key, date string, at time.Time) {
	w.Helper()
	w.putReading(sensor.Reading{Key: key, Period: periodtest.Parse(w.T, date), Deleted: true}, at)
}

func (w *world) putReading(r sensor.Reading, at time.Time) {
	w.Helper()
	if _, err := w.store.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: r}}, at); err != nil {
		w.Fatal(err)
	}
}
