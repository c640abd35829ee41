package api_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// A page may exceed its limit by one piece read from the store.
const mostOfAPage = 1<<20 + 16*66<<10

// fillSensors writes that many keys of orders, and as many writes of one of its rules' sensors,
// each nearly as large as a reading may be.
func (w *world) fillSensors(n int) {
	w.Helper()
	big := strings.Repeat("x", 62<<10)
	for i := range n {
		var writes []store.Write
		for _, key := range []string{fmt.Sprintf("key-%03d", i), "source"} {
			writes = append(writes, store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: sensor.Key(key), Fields: sensor.Fields{"status": big, "n": int64(i)}}})
		}
		if _, err := w.Store.PutReadings(ctx, writes, w.Now()); err != nil {
			w.Fatal(err)
		}
	}
}

func TestPagesAreBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	const keys = 80
	w.fillSensors(keys)
	for path, want := range map[string]int{
		"/api/v1/pipelines/orders/sensors":                keys + 1,
		"/api/v1/pipelines/orders/sensors/source/history": keys,
	} {
		seen, pages := map[string]bool{}, 0
		for cursor, more := "", true; more; pages++ {
			r := w.get(path + "?limit=500&cursor=" + url.QueryEscape(cursor))
			if len(r.body) > mostOfAPage {
				t.Errorf("%s: page %d has %d bytes, at most %d wanted", path, pages, len(r.body), mostOfAPage)
			}
			for _, item := range r.items() {
				name := fmt.Sprint(item["key"], item["version"])
				if seen[name] {
					t.Errorf("%s: %s is on two pages", path, name)
				}
				seen[name] = true
			}
			cursor, more = r.object(200)["nextCursor"].(string)
		}
		if len(seen) != want || pages < 3 {
			t.Errorf("%s: %d items on %d pages, want %d items on several", path, len(seen), pages, want)
		}
	}
	history := w.get("/api/v1/pipelines/orders/gate/history?limit=200")
	if points := history.items()[0]["points"].([]any); len(history.body) > mostOfAPage || len(points) == 0 || len(points) == keys {
		t.Errorf("the history of a rule has %d points and %d bytes", len(points), len(history.body))
	}
}

func TestUnpagedStoreListsArePaged(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.post("/api/v1/silences", fmt.Sprintf(`{"pipeline":"p-%d","until":"2h","reason":"x"}`, i)).object(201)
		letter := store.DeadLetter{Sink: "ops", Event: event.Event{ID: fmt.Sprint("e", i), Type: event.JobFailed}, At: w.Now()}
		letter.Event.Detail.Pipeline, letter.Event.Detail.Severity = "orders", event.Warning
		b := store.Batch{ID: fmt.Sprint("dead ", i), Dead: []store.DeadLetter{letter}}
		if err := w.Store.Commit(ctx, b, w.Now()); err != nil {
			t.Fatal(err)
		}
		w.Apply(strings.Replace(orders, "All orders", fmt.Sprint("Orders ", i), 1), silver)
	}
	for path, want := range map[string]int{"/api/v1/silences": 3, "/api/v1/alerts/dead": 3, "/api/v1/pipelines/orders/versions": 4} {
		all := w.get(path).items()
		if len(all) != want {
			t.Errorf("%s lists %d, want %d", path, len(all), want)
		}
		var pages []map[string]any
		for cursor, more := "", true; more; {
			r := w.get(path + "?limit=1&cursor=" + url.QueryEscape(cursor))
			pages = append(pages, r.items()...)
			cursor, more = r.object(200)["nextCursor"].(string)
		}
		if diff := cmp.Diff(all, pages); diff != "" {
			t.Errorf("%s page by page (-whole +pages):\n%s", path, diff)
		}
	}
}

func limited(l api.Limits) func(*api.Deps) {
	return func(d *api.Deps) { d.Settings.Limits = l }
}

func TestSensorKeysAreLimited(t *testing.T) {
	w := newWorld(t, limited(api.Limits{SensorKeys: 2}))
	if _, err := w.Store.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "before"}}}, w.Now()); err != nil {
		t.Fatal(err)
	}
	w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"b","data":{}},{"pipeline":"orders","key":"c","data":{}}]`).problem(429, "limits.sensorKeys")
	w.put(ordersSensors+"a", `{}`).object(200)
	w.put(ordersSensors+"b", `{}`).problem(429, "limits.sensorKeys")
	w.put(ordersSensors+"a%232026-03-03", `{}`).object(200)
	w.put(ordersSensors+"before", `{}`).object(200)
	w.put("/api/v1/pipelines/silver-orders/sensors/b", `{}`).object(200)
}

func TestSensorBytesAreLimited(t *testing.T) {
	w := newWorld(t, limited(api.Limits{SensorBytes: 1000}))
	if _, err := w.Store.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "before", Fields: sensor.Fields{"a": strings.Repeat("x", 500)}}}}, w.Now()); err != nil {
		t.Fatal(err)
	}
	large := `{"a":"` + strings.Repeat("x", 600) + `"}`
	w.put(ordersSensors+"b", large).problem(413, "limits.sensorBytes")
	w.put(ordersSensors+"before", `{}`).object(200)
	w.put(ordersSensors+"b", large).object(200)
	w.put(ordersSensors+"b", large).object(200)
}

func TestOpenRunsAreLimited(t *testing.T) {
	w := newWorld(t, limited(api.Limits{OpenRuns: 2}))
	landed := func(date string) reply {
		return w.put("/api/v1/pipelines/silver-orders/sensors/landed", fmt.Sprintf(`{"status":"ready","date":%q}`, date))
	}
	for _, date := range []string{"2026-02-10", "2026-02-11"} {
		landed(date).object(200)
	}
	w.Settle()
	landed("2026-02-12").problem(429, "limits.openRuns")
	landed("2026-02-10").object(200)
	w.put("/api/v1/pipelines/silver-orders/sensors/other", `{"date":"2026-02-12"}`).object(200)
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-12"}`).problem(429, "limits.openRuns")
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-02-12","to":"2026-02-13","reason":"x"}`).problem(429, "limits.openRuns")
	w.post("/api/v1/runs", `{"pipeline":"orders","date":"2026-02-12"}`).object(201)

	w.post("/api/v1/runs/silver-orders/stream/2026-02-10/cancel", `{"reason":"x"}`).object(200)
	w.Settle()
	w.Pass(10 * time.Second)
	landed("2026-02-12").object(200)
}

func TestRejectedRequestsDoNotCountAsOpenRuns(t *testing.T) {
	w := newWorld(t, limited(api.Limits{OpenRuns: 2, SensorKeys: 1}))
	w.put("/api/v1/pipelines/silver-orders/sensors/other", `{}`).object(200)
	for range 3 {
		w.put("/api/v1/pipelines/silver-orders/sensors/landed", `{"status":"ready","date":"2026-02-10"}`).problem(429, "limits.sensorKeys")
	}
	for range 3 {
		w.post("/api/v1/runs/silver-orders/stream/2026-02-10/reruns", `{"reason":"x"}`).problem(409)
	}
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-10"}`).object(201)
	for range 3 {
		w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-10"}`).problem(409)
	}
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-02-02","to":"2026-02-27","dryRun":true,"reason":"x"}`).object(200)
	w.post("/api/v1/pipelines/silver-orders/backfill", `{"from":"2026-02-10","to":"2026-02-10","onlyMissing":true,"reason":"x"}`).object(200)
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-11"}`).object(201)
	w.post("/api/v1/runs", `{"pipeline":"silver-orders","date":"2026-02-12"}`).problem(429, "limits.openRuns")
}

func TestGrowingBodiesAreStoppedWhileOtherPipelinesGoOn(t *testing.T) {
	w := newWorld(t, limited(api.Limits{WriteBytes: 360 << 10}))
	large := `{"a":"` + strings.Repeat("x", 60_000) + `"}`
	for i := range 6 {
		w.put(ordersSensors+"a", large).object(200)
		if i == 4 && !strings.Contains(w.log.String(), `"limit":"limits.writeBytes","pipeline":"orders"`) {
			t.Errorf("no warning before the limit is reached:\n%s", w.log)
		}
	}
	late := w.put(ordersSensors+"a", large)
	late.problem(429, "limits.writeBytes", "pipeline orders")
	seconds, err := strconv.Atoi(late.header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 3600 {
		t.Errorf("Retry-After is %q", late.header.Get("Retry-After"))
	}
	w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"b","data":`+large+`}]`).problem(429, "limits.writeBytes")
	w.put("/api/v1/pipelines/silver-orders/sensors/b", large).object(200)
	for _, want := range []string{
		`interlock_limit_rejections_total{limit="writeBytes"} 2`, `interlock_limit_used_ratio{limit="writeBytes"} 0.98`,
	} {
		if got := string(w.get("/metrics").body); !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	w.Pass(time.Duration(seconds) * time.Second)
	w.put(ordersSensors+"a", large).object(200)
}

func TestWriteThatCanNeverFitIsTooLarge(t *testing.T) {
	w := newWorld(t, limited(api.Limits{WriteBytes: 1000}))
	w.put(ordersSensors+"a", `{"a":"`+strings.Repeat("x", 1000)+`"}`).problem(413, "limits.writeBytes")
	w.put(ordersSensors+"a", `{}`).object(200)
}

func TestRejectedReadingsDoNotCountAsWritten(t *testing.T) {
	w := newWorld(t, limited(api.Limits{WriteBytes: 1000, SensorKeys: 1}))
	w.put(ordersSensors+"a", `{}`).object(200)
	for range 10 {
		w.put(ordersSensors+"b", `{}`).problem(429, "limits.sensorKeys")
	}
	w.put(ordersSensors+"a", `{}`).object(200)
	w.request("DELETE", ordersSensors+"a", "").object(200)
	w.put(ordersSensors+"a", `{}`).problem(429, "limits.writeBytes")
}

func TestTokenIsLimitedOverAllItsPipelines(t *testing.T) {
	w := audited(t, limited(api.Limits{TokenWriteBytes: 13_000}))
	w.token = sensorToken
	for range 20 {
		w.put(ordersSensors+"a", `{}`).object(200)
		w.put("/api/v1/pipelines/silver-orders/sensors/a", `{}`).object(200)
	}
	for range 10 {
		w.put(ordersSensors+"a", `{}`)
	}
	w.put(ordersSensors+"a", `{}`).problem(429, "limits.tokenWriteBytes", "token")
	w.token = operatorToken
	for range 50 {
		w.put(ordersSensors+"a", `{}`)
	}
	w.put(ordersSensors+"a", `{}`).problem(429, "limits.tokenWriteBytes")
	w.post(pauseOrders, `{"reason":"the flood"}`).object(200)
}
