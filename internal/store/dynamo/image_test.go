package dynamo_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 123456789, time.UTC)

// read interprets a row in DynamoDB JSON.
func read(t *testing.T, row string) dynamo.Notice {
	t.Helper()
	r := dynamo.Record{Sequence: "300000000000000499659", At: noon}
	if err := json.Unmarshal([]byte(row), &r.Image); err != nil {
		t.Fatal(err)
	}
	got, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSensorWrittenFlatOrUnderDataIsTheSame(t *testing.T) {
	const fields = `"count":{"N":"7"},"rate":{"N":"0.5"},"ok":{"BOOL":true},"none":{"NULL":true},"list":{"L":[{"N":"1"},{"S":"two"}]},"deep":{"M":{"n":{"N":"1"}}},"set":{"SS":["a"]}`
	want := sensor.Fields{
		"count": int64(7), "rate": 0.5, "ok": true, "none": nil, "list": []any{int64(1), "two"}, "deep": map[string]any{"n": int64(1)}, "set": []any{"a"},
	}
	for name, row := range map[string]string{
		"flat":   `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},` + fields + `}`,
		"nested": `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"data":{"M":{` + fields + `}}}`,
	} {
		got := read(t, row)
		if got.Sensor == nil || got.Pipeline != "orders" {
			t.Fatalf("%s: %+v", name, got)
		}
		if got.Sensor.Write.Reading.Key != "rows" || !sensor.SameData(got.Sensor.Write.Reading.Fields, want) || got.Sensor.At != noon {
			t.Errorf("%s: %+v", name, got.Sensor)
		}
	}
}

func TestSensorRowsNameTheirPeriod(t *testing.T) {
	for name, c := range map[string]struct{ row, want string }{
		"by its key":   {`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows#2026-03-03T07"},"n":{"N":"1"}}`, "2026-03-03T07"},
		"by its date":  {`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"date":{"S":"20260303"},"hour":{"N":"7"}}`, "2026-03-03T07"},
		"not at all":   {`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"n":{"N":"1"}}`, ""},
		"date in data": {`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"data":{"M":{"date":{"S":"2026-03-03"}}},"ttl":{"N":"1772539200"}}`, "2026-03-03"},
	} {
		if got := read(t, c.row).Sensor.Write.Reading.Period.String(); got != c.want {
			t.Errorf("%s: period %q, want %q", name, got, c.want)
		}
	}
	expiring := read(t, `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"n":{"N":"1"},"ttl":{"N":"1772539200"}}`).Sensor.Write.Reading
	if !expiring.ExpiresAt.Equal(time.Unix(1772539200, 0)) || expiring.Fields["ttl"] != nil {
		t.Errorf("a row with a TTL became %+v", expiring)
	}
}

func TestInvalidRowsOfOthersAreRejected(t *testing.T) {
	for row, want := range map[string]string{
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"date":{"S":"soon"}}`:                                        "2026-03-03",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#run/bronze"},"n":{"N":"1"}}`:                                        "run/",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"n":{"B":"AAAA"}}`:                                           "binary",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"n":{"S":"` + strings.Repeat("x", sensor.MaxBytes) + `"}}`:   "bytes",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"JOB#cron#2026-03-03"},"event":{"S":"success"}}`:                            "JOB#SCHEDULE#DATE#TIMESTAMP",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"JOB#cron#2026-03-03#1"},"event":{"S":"done"}}`:                             "success, fail or timeout",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"JOB#cron#2026-03-03#1"},"event":{"S":"fail"},"category":{"S":"bad luck"}}`: "PERMANENT",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"JOB#cron#2026-03-03#1"},"event":{"S":"fail"},"attempt":{"S":"first"}}`:     "from 1 up",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"RERUN_REQUEST#cron"}}`:                                                     "RERUN_REQUEST#SCHEDULE#DATE",
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"RERUN_REQUEST#daily#2026-03-03"}}`:                                         "cron, stream or manual",
	} {
		got := read(t, row)
		if !strings.Contains(got.Refused, want) || got.Pipeline != "orders" {
			t.Errorf("%.120s: refused because %q, want %q", row, got.Refused, want)
		}
	}
}

func TestResultsOfOthersAreOutcomes(t *testing.T) {
	got := read(t, `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"JOB#cron#2026-03-03T10:15#1772539200"},"event":{"S":"fail"},"attempt":{"N":"2"},"error":{"S":"no disk"},"category":{"S":"transient"}}`)
	want, err := run.ParseKey("orders/cron/2026-03-03T10:15")
	if err != nil {
		t.Fatal(err)
	}
	r := got.Result
	if r == nil || r.Key != want || r.Attempt != 2 || r.Result != run.ResultFail || r.Category != run.Transient || r.Message != "no disk" || r.At != noon {
		t.Errorf("%+v", r)
	}
}

func TestRequestsWithoutAnIDAreDistinguishedByTheirRecord(t *testing.T) {
	got := read(t, `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"RERUN_REQUEST#cron#2026-03-03"},"reason":{"S":"late"},"force":{"BOOL":true}}`).Rerun
	want := dynamo.RerunRequest{ID: "stream/300000000000000499659", Reason: "late", By: "control table", Force: true, Key: got.Key}
	if diff := cmp.Diff(want, *got, cmp.AllowUnexported(run.Key{}.Period)); diff != "" || got.Key.String() != "orders/cron/2026-03-03" {
		t.Error(diff, got.Key)
	}
}

// Whatever such a row contains or omits, it is answered: the router accepts no request without who
// and why.
func TestRequestFieldsAreOptional(t *testing.T) {
	got := read(t, `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"RERUN_REQUEST#cron#2026-03-03"}}`).Rerun
	want := dynamo.RerunRequest{ID: "stream/300000000000000499659", Reason: "no reason given", By: "control table", Key: got.Key}
	if diff := cmp.Diff(want, *got, cmp.AllowUnexported(run.Key{}.Period)); diff != "" {
		t.Error(diff)
	}
}

func TestIrrelevantRowsAreIgnored(t *testing.T) {
	for _, row := range []string{
		`{"PK":{"S":"MARK#x"},"SK":{"S":"MARK"}}`,
		`{"PK":{"S":"COMMIT#x"},"SK":{"S":"COMMIT"},"at":{"S":"1"}}`,
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"DEADLINE#cron#2026-03-03#absolute"},"version":{"N":"1"}}`,
		`{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"HISTORY#rows#1"},"version":{"N":"1"}}`,
	} {
		if got := read(t, row); got.Change != nil || got.Task != "" || got.Outbox != nil || got.File != nil || got.Refused != "" {
			t.Errorf("%s yields %+v", row, got)
		}
	}
	if f := read(t, `{"PK":{"S":"CALENDAR#uk"},"SK":{"S":"CONFIG"},"config":{"S":"name: uk"}}`).File; f == nil || f.File != "calendar/uk" || string(f.Data) != "name: uk" {
		t.Error("a calendar yields nothing")
	}
}
