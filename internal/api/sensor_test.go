package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestWriteThatNothingReadsIsStoredWithAWarning(t *testing.T) {
	w := newWorld(t)
	for key, want := range map[string]any{
		"rows": nil, "rosw": `; did you mean "rows"?`, "entirely-new": "",
	} {
		got := w.put(ordersSensors+key, `{"a":1}`).object(http.StatusOK)["warning"]
		if want != nil {
			want = fmt.Sprintf("no rule, probe, source or upstream of orders reads %q%s", key, want)
		}
		if got != want {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
		w.get(ordersSensors + key).object(http.StatusOK)
	}
	batch := w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"rosw","data":{}},{"pipeline":"orders","key":"rows","data":{}}]`).items()
	if batch[0]["warning"] == nil || batch[1]["warning"] != nil {
		t.Errorf("got %v", batch)
	}
}

func TestMisspeltNamesAreAnsweredWithTheRightOne(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"note", `{"a":1}`).object(http.StatusOK)
	for path, want := range map[string]string{
		"/api/v1/pipelines/ordres":                      `there is no pipeline "ordres"; did you mean "orders"?`,
		"/api/v1/pipelines/ordres/explain":              `did you mean "orders"?`,
		"/api/v1/pipelines/ordres/gate":                 `did you mean "orders"?`,
		"/api/v1/attention?pipeline=ordres":             `did you mean "orders"?`,
		"/api/v1/runs/ordres/cron/2026-03-03":           `did you mean "orders"?`,
		"/api/v1/pipelines/orders/sensors/rosw":         `no reading of rosw; did you mean "rows"?`,
		"/api/v1/pipelines/orders/sensors/noet":         `did you mean "note"?`,
		"/api/v1/pipelines/orders/sensors/noet/history": `did you mean "note"?`,
	} {
		w.get(path).problem(http.StatusNotFound, want)
	}
	for path, want := range map[string]string{
		"/api/v1/runs/orders/corn/2026-03-03":           `schedule "corn" is unknown; did you mean "cron"?`,
		"/api/v1/pipelines/orders/explain?schedule=crn": `did you mean "cron"?`,
		"/api/v1/events?type=SLA_BREECH":                `did you mean "SLA_BREACH"?`,
		"/api/v1/runs?status=COMPLETE":                  `did you mean "COMPLETED"?`,
		"/api/v1/deadlines?state=ARMD":                  `did you mean "ARMED"?`,
	} {
		w.get(path).problem(http.StatusBadRequest, want)
	}
	w.post("/api/v1/runs/ordres/cron/2026-03-03/reruns", `{"reason":"x"}`).problem(http.StatusNotFound, `did you mean "orders"?`)
	w.post("/api/v1/runs/ordres/cron/2026-03-03/cancel", "").problem(http.StatusNotFound, `did you mean "orders"?`)
	w.post("/api/v1/pipelines/ordres/pause", `{}`).problem(http.StatusNotFound, `did you mean "orders"?`)
}

const ordersSensors = "/api/v1/pipelines/orders/sensors/"

func TestSensorWriteReturnsVersionTimeAndDate(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ key, body, date, stored string }{
		{"ready", `{"status":"ok"}`, "<nil>", "ready"},
		{"ready%232026-03-03T07", `{"status":"ok"}`, "2026-03-03T07", "ready"},
		{"ready%2320260303T0715", `{"status":"ok"}`, "2026-03-03T07:15", "ready"},
		{"ready", `{"status":"ok","date":"20260303","hour":"07"}`, "2026-03-03T07", "ready"},
		{"silver%2Forders%2Fready%232026-03-03", `{}`, "2026-03-03", "silver/orders/ready"},
		{"%2E%2E", `{"a":1}`, "<nil>", ".."},
		{"a%2F%2Fb", `{"a":1}`, "<nil>", "a//b"},
	} {
		got := w.put(ordersSensors+c.key, c.body).object(http.StatusOK)
		delete(got, "warning") // its test is below
		if keys := len(got); keys != 3 || fmt.Sprint(got["date"]) != c.date || got["updatedAt"] != "2026-03-03T09:10:00Z" || got["version"].(float64) < 1 {
			t.Errorf("%s %s: got %v", c.key, c.body, got)
		}
		read := w.get(ordersSensors + c.key).object(http.StatusOK)
		if read["key"] != c.stored || fmt.Sprint(read["date"]) != c.date {
			t.Errorf("%s: read back %v", c.key, read)
		}
	}
}

func TestEachWriteHasAHigherVersion(t *testing.T) {
	w := newWorld(t)
	first := w.put(ordersSensors+"ready", `{"a":1}`).object(200)["version"].(float64)
	second := w.put(ordersSensors+"ready", `{"a":1}`).object(200)["version"].(float64)
	if second <= first {
		t.Errorf("got %v after %v", second, first)
	}
}

func TestContentTypeOfAWriteDoesNotMatter(t *testing.T) {
	w := newWorld(t)
	for _, kind := range []string{"", "application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "nonsense"} {
		w.put(ordersSensors+"ready", `{"a":1}`, "Content-Type: "+kind).object(http.StatusOK)
	}
	w.put(ordersSensors+"ready", `{"a":1}`, "Content-Encoding: gzip").problem(http.StatusUnsupportedMediaType, "gzip")
}

func TestInvalidWritesAreRejectedWithReasons(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/api/v1/pipelines/unknown/sensors/ready", `{}`, 404, `there is no pipeline "unknown"`},
		{ordersSensors + "ready", `[1]`, 400, "a list"},
		{ordersSensors + "ready", ``, 400, "data is empty"},
		{ordersSensors + "ready", `{"a":`, 400, "it ends in the middle"},
		{ordersSensors + "ready", `{"a":1,"a":2}`, 400, "twice"},
		{ordersSensors + "ready", `{"date":"2026-02-30"}`, 400, "not a calendar date"},
		{ordersSensors + "ready", `{"date":"2026-03-03","hour":24}`, 400, "it must be 0 to 23"},
		{ordersSensors + "ready", `{"hour":7}`, 400, "hour 7 has no date"},
		{ordersSensors + "ready", `{"date":"2062-03-03"}`, 400, "more than 400d ahead; correct the date"},
		{ordersSensors + "ready%23yesterday", `{}`, 400, "not a period"},
		{ordersSensors + "ready%232026-03-03T08-05:00", `{}`, 400, "leave the offset out (2026-03-03T08)"},
		{ordersSensors + "run%2Forders", `{}`, 400, "written by the engine alone"},
		{ordersSensors + "a%20b", `{}`, 400, "letters, digits"},
		{ordersSensors + strings.Repeat("k", 129), `{}`, 400, "at most 128"},
		{ordersSensors + "ready?ttl=soon", `{}`, 400, "ttl"},
		{ordersSensors + "ready?expiresAt=soon", `{}`, 400, "expiresAt"},
		{ordersSensors + "ready?ttl=1h&expiresAt=2026-03-03T10:00:00Z", `{}`, 400, "not both"},
		{ordersSensors + "ready?source=" + strings.Repeat("s", 201), `{}`, 400, "source"},
		{ordersSensors + "ready", `{"a":"` + strings.Repeat("x", 64<<10) + `"}`, 413, "65536 bytes"},
		{ordersSensors + "a/b", `{}`, 404, "%2F"},
	} {
		w.put(c.path, c.body).problem(c.status, c.want)
	}
	if items := w.get("/api/v1/pipelines/orders/sensors").items(); len(items) != 0 {
		t.Errorf("something was stored: %v", items)
	}
}

// A shared sensor has no time zone of its own: the pipelines that read it determine which hours
// exist.
func TestHourThatNoReaderHasIsRejected(t *testing.T) {
	const skipped = `{"date":"2026-03-08","hour":2}`
	newYork := "schedule: {timezone: America/New_York, period: hour"
	byHand := "pipeline: {id: by-hand, owner: data}\n" + newYork + "}\nvalidation: {rules: [{key: landed, check: exists}]}\n"
	shared := "pipeline: {id: shared, owner: data}\n"
	reader := "pipeline: {id: reader, owner: data}\n" + newYork + ", trigger: {key: landed, from: shared, check: exists}}\n"
	inUTC := "pipeline: {id: utc, owner: data}\nschedule: {period: hour, trigger: {key: both, from: shared, check: exists}}\n"
	both := "pipeline: {id: both, owner: data}\n" + newYork + ", trigger: {key: both, from: shared, check: exists}}\n"
	w := newWorld(t)
	w.Apply(byHand, shared, reader, inUTC, both)
	for _, path := range []string{"by-hand/sensors/landed", "shared/sensors/landed"} {
		w.put("/api/v1/pipelines/"+path, skipped).problem(400, "does not exist in America/New_York")
	}
	for _, path := range []string{"shared/sensors/both", "shared/sensors/nobody", "utc/sensors/landed"} {
		w.put("/api/v1/pipelines/"+path, skipped).object(200)
	}
}

func TestSourceAndExpiryAreStored(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"ready?source=airflow&ttl=2h", `{"a":1}`).object(200)
	got := w.get(ordersSensors + "ready").object(200)
	if got["source"] != "airflow" || got["expiresAt"] != "2026-03-03T11:10:00Z" {
		t.Errorf("got %v", got)
	}
	w.put(ordersSensors+"plain", `{"a":1}`).object(200)
	got = w.get(ordersSensors + "plain").object(200)
	want := map[string]any{
		"pipeline": "orders", "key": "plain", "date": nil, "data": map[string]any{"a": 1.0}, "version": got["version"],
		"updatedAt": "2026-03-03T09:10:00Z", "source": nil, "expiresAt": nil, "deleted": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("latest readings (-want +got):\n%s", diff)
	}
}

func TestReadingOfAPeriodIsTheOneARuleUses(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"ready%232026-03-03", `{"n":1}`).object(200)
	w.put(ordersSensors+"ready%232026-03-02", `{"n":2}`).object(200)
	if got := w.get(ordersSensors + "ready").object(200); got["data"].(map[string]any)["n"] != 1.0 && got["date"] == nil {
		t.Errorf("got %v", got)
	}
	if got := w.get(ordersSensors + "ready?date=2026-03-03T07").object(200); got["date"] != "2026-03-03" {
		t.Errorf("the hour does not use the day's reading: %v", got)
	}
	w.get(ordersSensors+"ready%232026-03-01").problem(404, "there is one for")
	w.get(ordersSensors+"absent").problem(404, "problem:unknown-sensor")
	w.get(ordersSensors+"ready?date=yesterday").problem(400, "query.date")
	w.get("/api/v1/pipelines/unknown/sensors/ready").problem(404, "unknown-pipeline")
}

func TestDeletedReadingKeepsItsHistory(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"ready%232026-03-03", `{"n":1}`).object(200)
	w.put(ordersSensors+"ready", `{"n":0}`).object(200)
	got := w.request("DELETE", ordersSensors+"ready?source=ann", "").object(200)
	if got["date"] != nil || got["updatedAt"] != "2026-03-03T09:10:00Z" || got["version"].(float64) < 3 {
		t.Errorf("got %v", got)
	}
	w.request("DELETE", ordersSensors+"ready", "").problem(404, "no undated reading of ready; there is one for 2026-03-03")
	for _, path := range []string{ordersSensors + "ready", ordersSensors + "ready?date=2026-03-03"} {
		if got := w.get(path).object(200); got["date"] != "2026-03-03" || got["deleted"] != false {
			t.Errorf("%s: got %v", path, got)
		}
	}
	if items := w.get("/api/v1/pipelines/orders/sensors").items(); len(items) != 1 || items[0]["date"] != "2026-03-03" {
		t.Errorf("sensors are %v", items)
	}
	if got := w.request("DELETE", ordersSensors+"ready?date=2026-03-03", "").object(200); got["date"] != "2026-03-03" {
		t.Errorf("got %v", got)
	}
	w.get(ordersSensors+"ready").problem(404, "problem:unknown-sensor")
	if items := w.get("/api/v1/pipelines/orders/sensors").items(); len(items) != 0 {
		t.Errorf("sensors are %v", items)
	}
	history := w.get(ordersSensors + "ready/history").items()
	if len(history) != 4 || history[1]["deleted"] != true || history[1]["source"] != "ann" || len(history[1]["data"].(map[string]any)) != 0 {
		t.Errorf("history is %v", history)
	}
	if events := w.get("/api/v1/events?pipeline=orders").items(); len(events) != 1 || events[0]["detail-type"] != "CONFIG_ACCEPTED" {
		t.Errorf("events are %v", events)
	}
}

func TestInvalidDeletionsAreRejectedWithReasons(t *testing.T) {
	w := newWorld(t)
	w.put(ordersSensors+"ready", `{"n":0}`).object(200)
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/api/v1/pipelines/unknown/sensors/ready", 404, "unknown"},
		{ordersSensors + "absent", 404, "no undated reading of absent"},
		{ordersSensors + "ready%232026-03-03", 404, "no reading of ready for 2026-03-03; there is an undated one"},
		{ordersSensors + "ready?date=soon", 400, "query.date"},
		{ordersSensors + "run%2Forders", 400, "written by the engine alone"},
		{ordersSensors + "ready?source=" + strings.Repeat("s", 201), 400, "source"},
	} {
		w.request("DELETE", c.path, "").problem(c.status, c.want)
	}
	w.get(ordersSensors + "ready").object(200)
}

func TestHistoryIsNewestFirstAndPaged(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.put(ordersSensors+"ready", fmt.Sprintf(`{"n":%d}`, i)).object(200)
	}
	var seen []float64
	path := ordersSensors + "ready/history?limit=2"
	for cursor := ""; ; {
		page := w.get(path + cursor)
		for _, item := range page.items() {
			seen = append(seen, item["data"].(map[string]any)["n"].(float64))
		}
		next, more := page.object(200)["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	if diff := cmp.Diff([]float64{4, 3, 2, 1, 0}, seen); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.get(ordersSensors+"ready/history?cursor=%21").problem(400, "cursor")
	w.get(ordersSensors+"ready/history?limit=501").problem(400, "query.limit")
}

func TestBatchIsAllOrNothing(t *testing.T) {
	w := newWorld(t)
	items := w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"a#2026-03-03","data":{"n":1}},{"pipeline":"silver-orders","key":"b","data":{}}]`).items()
	if len(items) != 2 || items[0]["key"] != "a" || items[0]["date"] != "2026-03-03" || items[1]["date"] != nil {
		t.Errorf("got %v", items)
	}
	w.post("/api/v1/sensors", `{"items":[{"pipeline":"orders","key":"c","data":{}}]}`).items()
	for body, want := range map[string]string{
		`[{"pipeline":"orders","key":"d","data":{}},{"pipeline":"orders","key":"run/x","data":{}}]`:          "item 1:",
		`[{"pipeline":"orders","key":"d","data":{}},{"pipeline":"orders","key":"e"}]`:                        "item 1: data is empty",
		`[{"pipeline":"orders","key":"d","data":{}},{"pipeline":"orders","key":"e","data":{"date":"soon"}}]`: "body[1]",
		`[]`:                        "the batch is empty",
		`[{"pipeline":"orders"},7]`: "not a list of readings",
		`[{"pipelin":"orders"}]`:    "pipelin",
		`{"items":`:                 "",
		`[{"pipeline":"orders","key":"d","data":{}}] x`: "",
	} {
		w.post("/api/v1/sensors", body).problem(400, want)
	}
	w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"d","data":{}},{"pipeline":"none","key":"e","data":{}}]`).problem(404, "item 1")
	w.get(ordersSensors + "d").problem(404)
	many := strings.Repeat(`{"pipeline":"orders","key":"x","data":{}},`, 1001)
	w.post("/api/v1/sensors", "["+strings.TrimSuffix(many, ",")+"]").problem(413, "at most 1000")
	w.post("/api/v1/sensors", `[{"pipeline":"orders","key":"x","data":{"a":"`+strings.Repeat("x", 65<<10)+`"}}]`).problem(413, "item 0")
}

func TestSixtyFourWritersAreAllAnswered(t *testing.T) {
	w := newWorld(t)
	const writers, each = 64, 8
	versions := make(chan float64, writers*each)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				got := w.put(fmt.Sprintf("%sk%d", ordersSensors, i), fmt.Sprintf(`{"n":%d}`, n))
				if got.status == http.StatusOK {
					versions <- got.object(200)["version"].(float64)
				}
			}
		})
	}
	wg.Wait()
	close(versions)
	seen := map[float64]bool{}
	for v := range versions {
		seen[v] = true
	}
	if len(seen) != writers*each {
		t.Errorf("%d writes have %d versions", writers*each, len(seen))
	}
	for i := range writers {
		if got := w.get(fmt.Sprintf("%sk%d", ordersSensors, i)).object(200)["data"].(map[string]any)["n"]; got != each-1.0 {
			t.Errorf("k%d holds %v", i, got)
		}
	}
}

// The fast path for plain paths must agree with the mux.
func TestSensorFastPathAgreesWithTheMux(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/api/v1/pipelines/orders/sensors/ready":              "200",
		"/api/v1/pipelines/orders/sensors/ready%232026-03-03": "200",
		"/api/v1/pipelines/orders/sensors/a%2Fb":              "200",
		"/api/v1/pipelines/orders/sensors/..":                 "307 /api/v1/pipelines/orders",
		"/api/v1/pipelines/orders/sensors/.":                  "307 /api/v1/pipelines/orders/sensors",
		"/api/v1/pipelines/../sensors/ready":                  "307 /api/v1/sensors/ready",
		"/api/v1/pipelines/orders/sensors/":                   "404",
		"/api/v1/pipelines//sensors/ready":                    "307 /api/v1/pipelines/sensors/ready",
		"/api/v1/pipelines/orders/sensors/a/b":                "404",
		"/api/v1/pipelines/orders/sensor/ready":               "404",
		"/api/v1/pipelines/orders/sensors/re%20ady":           "400",
		"/api/v1/pipelines/nobody/sensors/ready":              "404",
	} {
		got := w.put(path, `{"a":1}`)
		if line := strings.TrimSpace(fmt.Sprint(got.status, " ", got.header.Get("Location"))); line != want {
			t.Errorf("%s: got %s, want %s", path, line, want)
		}
	}
}

func TestPipelineStoredAMomentAgoAcceptsReadings(t *testing.T) {
	w := newWorld(t)
	elsewhere := catalog.New(w.Store, all.Kinds())
	_, err := elsewhere.Apply(ctx, catalog.Files{Pipelines: []pipeline.Source{{File: "young.yaml", Data: []byte("pipeline: {id: young, owner: data}\n")}}}, w.Now())
	w.Check(err)
	w.put("/api/v1/pipelines/young/sensors/landed", `{"n": 1}`).object(http.StatusOK)
}
