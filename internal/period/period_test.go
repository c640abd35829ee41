package period_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/period/periodtest"
)

func TestEveryFormIsReadIntoItsCanonicalName(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-03":                "2026-03-03",
		"20260303":                  "2026-03-03",
		"2026-03-03T07":             "2026-03-03T07",
		"20260303T07":               "2026-03-03T07",
		"2026-03-03T07:15":          "2026-03-03T07:15",
		"20260303T0715":             "2026-03-03T07:15",
		"2026-11-01T01-05:00":       "2026-11-01T01-05:00",
		"20261101T01-05:00":         "2026-11-01T01-05:00",
		"2026-11-01T01:30-05:00":    "2026-11-01T01:30-05:00",
		"20261101T0130-05:00":       "2026-11-01T01:30-05:00",
		"2026-04-05T01+10:30":       "2026-04-05T01+10:30",
		"2026-10-25T01+00:00":       "2026-10-25T01+00:00",
		"1883-11-18T12:03-04:56:02": "1883-11-18T12:03-04:56:02",
		"0001-01-01":                "0001-01-01",
		"9999-12-31T23:59":          "9999-12-31T23:59",
		"2028-02-29":                "2028-02-29",
		"2026-03":                   "2026-03",
		"2026-W10":                  "2026-W10",
		"2026W10":                   "2026-W10",
		"2026-W01":                  "2026-W01", // begins in 2025
		"2026-W53":                  "2026-W53",
		"0001-W01":                  "0001-W01",
		"9999-W52":                  "9999-W52", // ends in the year 10000
		"9999-12":                   "9999-12",
		"2026-Q1":                   "2026-Q1",
		"2026Q4":                    "2026-Q4",
		"0001-Q1":                   "0001-Q1",
		"9999-Q4":                   "9999-Q4", // ends in the year 10000
	} {
		if got := periodtest.Parse(t, text).String(); got != want {
			t.Errorf("Parse(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestAnythingElseIsRefusedWithWhatWouldBeRight(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "2026-03-03T07:15",
		"2026":                      "2026-03-03T07:15",
		"2026-3-3":                  "2026-03-03T07:15",
		"2026-03-03 07":             "2026-03-03T07:15",
		"2026-03-03T":               "2026-03-03T07:15",
		"2026-03-03T7":              "2026-03-03T07:15",
		"2026-03-03t07":             "2026-03-03T07:15",
		"2026-03-03T0715":           "2026-03-03T07:15",
		"20260303T07:15":            "2026-03-03T07:15",
		"202603-03":                 "2026-03-03T07:15",
		"2026-0303":                 "2026-03-03T07:15",
		"2026-03-03T07:15:00":       "2026-03-03T07:15",
		"2026-03-03-05:00":          "2026-03-03T07:15",
		"2026-11-01T01Z":            "such as -05:00",
		"2026-11-01T01-0500":        "such as -05:00",
		"2026-11-01T01-5:00":        "such as -05:00",
		"2026-11-01T01-05":          "such as -05:00",
		"2026-11-01T01-24:00":       "such as -05:00",
		"2026-11-01T01-05:60":       "such as -05:00",
		"2026-11-01T01-00:00":       "such as -05:00",
		"2026-11-01T01-05:00:00":    "such as -05:00",
		"2026-11-01T01-05:00:60":    "such as -05:00",
		"2025-W53":                  "2025 has weeks 1 to 52",
		"2026-W54":                  "2026 has weeks 1 to 53",
		"2026-W00":                  "2026 has weeks 1 to 53",
		"0000-W01":                  "use 0001 to 9999",
		"2026-W1":                   "2026-W10",
		"2026-w10":                  "2026-W10",
		"2026-W10-1":                "2026-W10",
		"2026-W10T01":               "2026-W10",
		"2026-Q0":                   "quarter 0 does not exist: use 1 to 4",
		"2026Q5":                    "quarter 5 does not exist: use 1 to 4",
		"0000-Q1":                   "use 0001 to 9999",
		"2026-Q":                    "2026-Q1",
		"2026-Q01":                  "2026-Q1",
		"2026-q1":                   "2026-Q1",
		"2026-Q1-01":                "2026-Q1",
		"2026-Q1T07":                "2026-Q1",
		"202603":                    "2026-03",
		"2026-13":                   "use 1 to 12",
		"2026-03-":                  "2026-03",
		"2026-03T07":                "2026-03",
		"2026-02-30":                "February 2026 has days 1 to 28",
		"2026-13-01":                "use 1 to 12",
		"2026-00-01":                "use 1 to 12",
		"2026-01-00":                "January 2026 has days 1 to 31",
		"0000-01-01":                "use 0001 to 9999",
		"2026-03-03T24":             "use 0 to 23",
		"2026-03-03T07:60":          "use 0 to 59",
		"२०२६-03-03":                "2026-03-03T07:15",
		"2026-03-03\x00":            "2026-03-03T07:15",
		strings.Repeat("9", 1<<16):  "2026-03-03T07:15",
		"2026-03-03T07:15-05:00 ":   "2026-03-03T07:15",
		"+026-03-03":                "2026-03-03T07:15",
		"2026-03-03T07:15+05:00:7a": "2026-03-03T07:15",
	} {
		p, err := period.Parse(text)
		if err == nil {
			t.Errorf("Parse(%.40q) = %s, want an error", text, p)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q): %q does not say %q", text, err, want)
		}
		if !p.IsZero() || len(err.Error()) > 500 {
			t.Errorf("Parse(%.40q) = %s, %d bytes of error", text, p, len(err.Error()))
		}
	}
}

func TestNewIgnoresFieldsBelowItsSize(t *testing.T) {
	day, err := period.New(period.Day, 2026, 3, 3, 99, -1)
	if err != nil || day != periodtest.Parse(t, "2026-03-03") {
		t.Errorf("day is %s, %v", day, err)
	}
	hour, err := period.New(period.Hour, 2026, 3, 3, 7, 99)
	if err != nil || hour != periodtest.Parse(t, "2026-03-03T07") {
		t.Errorf("hour is %s, %v", hour, err)
	}
}

func TestNewFindsTheQuarterOfAMonth(t *testing.T) {
	for month := time.January; month <= time.December; month++ {
		got, err := period.New(period.Quarter, 2026, month, 99, 99, -1)
		if want := fmt.Sprintf("2026-Q%d", (int(month)+2)/3); err != nil || got.String() != want {
			t.Errorf("%s is in %s, %v; want %s", month, got, err, want)
		}
	}
}

func TestNewRefusesWhatNoClockShows(t *testing.T) {
	type fields struct {
		size                           period.Size
		year, month, day, hour, minute int
	}
	for _, f := range []fields{
		{0, 2026, 3, 3, 7, 15},
		{9, 2026, 3, 3, 7, 15},
		{period.Quarter, 10000, 3, 3, 7, 15},
		{period.Quarter, 2026, 13, 3, 7, 15},
		{period.Day, 10000, 3, 3, 7, 15},
		{period.Day, 65536 + 2026, 3, 3, 7, 15},
		{period.Day, 2026, 256 + 3, 3, 7, 15},
		{period.Day, 2026, 3, 256 + 3, 7, 15},
		{period.Day, 2027, 2, 29, 7, 15},
		{period.Hour, 2026, 3, 3, 24, 15},
		{period.Hour, 2026, 3, 3, -1, 15},
		{period.Minute, 2026, 3, 3, 7, 60},
	} {
		if p, err := period.New(f.size, f.year, time.Month(f.month), f.day, f.hour, f.minute); err == nil {
			t.Errorf("New(%+v) = %s, want an error", f, p)
		}
	}
}

func TestSizesReadAndWriteTheirNames(t *testing.T) {
	for _, size := range period.Sizes() {
		if got, err := period.ParseSize(size.String()); err != nil || got != size {
			t.Errorf("ParseSize(%q) = %s, %v", size, got, err)
		}
	}
	if _, err := period.ParseSize("year"); err == nil || !strings.Contains(err.Error(), "day, hour or minute") {
		t.Errorf("ParseSize(year): %v", err)
	}
}

func TestAPeriodTellsItsParts(t *testing.T) {
	p := periodtest.Parse(t, "2026-11-01T01:30-05:00")
	year, month, day := p.Date()
	hour, minute := p.Clock()
	got := []any{p.Size(), year, month, day, hour, minute, p.Weekday()}
	want := []any{period.Minute, 2026, time.November, 1, 1, 30, time.Sunday}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOuterGoesByName(t *testing.T) {
	minute := periodtest.Parse(t, "2026-11-01T01:30-05:00")
	for size, want := range map[period.Size]string{
		period.Minute: "2026-11-01T01:30-05:00", period.Hour: "2026-11-01T01-05:00", period.Day: "2026-11-01",
		period.Week: "2026-W44", period.Month: "2026-11", period.Quarter: "2026-Q4",
		0: "", 9: "",
	} {
		if got := minute.Outer(size); got.String() != want {
			t.Errorf("the %s of %s is %q, want %q", size, minute, got, want)
		}
	}
	if got := minute.Outer(period.Day).Outer(period.Hour); !got.IsZero() {
		t.Errorf("a day lies in hour %s", got)
	}
}

func TestHoldsGoesDownward(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"2026-11-01", "2026-11-01", true},
		{"2026-11-01", "2026-11-01T01-05:00", true},
		{"2026-11-01T01-05:00", "2026-11-01T01:30-05:00", true},
		{"2026-11-01T01", "2026-11-01T01:30-05:00", false},
		{"2026-11-01T01", "2026-11-01", false},
		{"2026-11-02", "2026-11-01T01", false},
		{"2026-W44", "2026-11-01T01-05:00", true},
		{"2026-W45", "2026-11-01", false},
		{"2026-11", "2026-11-01T01:30", true},
		{"2026-11", "2026-W45", true},
		{"2026-10", "2026-W44", true}, // its Thursday is 29 October
		{"2026-11", "2026-W44", false},
		{"2026-W45", "2026-11", false},
		{"2026-01", "2026-W01", true}, // its Monday is in 2025
		{"2026-Q4", "2026-11-01T01:30-05:00", true},
		{"2026-Q4", "2026-10", true},
		{"2026-Q4", "2026-12-31", true},
		{"2026-Q4", "2027-01-01", false},
		{"2026-Q3", "2026-10-01T00", false},
		{"2026-Q1", "2026-W01", true},  // its Monday is in 2025
		{"2026-Q1", "2026-W14", false}, // its Monday is 30 March, its Thursday 2 April
		{"2026-Q2", "2026-W14", true},
		{"2026-Q4", "2026-W53", true},
		{"2027-Q1", "2026-W53", false}, // its Sunday is in 2027
		{"2026-11", "2026-Q4", false},
	} {
		if got := periodtest.Parse(t, c.outer).Holds(periodtest.Parse(t, c.inner)); got != c.want {
			t.Errorf("%s holds %s: %t", c.outer, c.inner, got)
		}
	}
	if (period.Period{}).Holds(periodtest.Parse(t, "2026-11-01")) || (period.Period{}).Holds(period.Period{}) {
		t.Error("undated holds something")
	}
}

func TestCompareListsOldestFirst(t *testing.T) {
	want := []string{
		"2026-Q4", "2026-10", "2026-W44", "2026-10-31T23", "2026-11", "2026-11-01", "2026-11-01T00", "2026-11-01T00:00", "2026-11-01T00:59",
		"2026-11-01T01", "2026-11-01T01:00", "2026-11-01T01:59", "2026-11-01T01-04:30", "2026-11-01T01-05:00",
		"2026-11-01T01:00-05:00", "2026-11-01T01:59-05:00", "2026-11-01T02", "2026-W45", "2026-11-02", "2026-12", "2026-12-01", "2026-W53", "2027-Q1", "2027-01", "2027-01-01",
	}
	periods := make([]period.Period, 0, len(want))
	for _, i := range rapid.Permutation(want).Example(1) {
		periods = append(periods, periodtest.Parse(t, i))
	}
	slices.SortFunc(periods, period.Period.Compare)
	got := make([]string, 0, len(want))
	for _, p := range periods {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextRoundTrips(t *testing.T) {
	type row struct {
		Date period.Period `json:"date"`
	}
	for _, text := range []string{`{"date":"2026-11-01T01-05:00"}`, `{"date":"2026-W10"}`, `{"date":"2026-03"}`, `{"date":"2026-Q1"}`, `{"date":""}`} {
		r := row{Date: periodtest.Parse(t, "2020-01-01")}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(r); err != nil || string(got) != text {
			t.Errorf("%s came back as %s, %v", text, got, err)
		}
	}
	r := row{Date: periodtest.Parse(t, "2020-01-01")}
	if err := json.Unmarshal([]byte(`{"date":"yesterday"}`), &r); err == nil || r.Date != periodtest.Parse(t, "2020-01-01") {
		t.Errorf("a bad name gave %s, %v", r.Date, err)
	}
}

func TestNamesRoundTripForAnyInstant(t *testing.T) {
	zones := []*time.Location{
		time.UTC, nil, periodtest.Load(t, "America/New_York"), periodtest.Load(t, "Africa/Monrovia"), periodtest.Load(t, "Australia/Lord_Howe"), periodtest.Load(t, "Asia/Kathmandu"),
	}
	sizes := period.Sizes()
	rapid.Check(t, func(t *rapid.T) {
		zone, size := rapid.SampledFrom(zones).Draw(t, "zone"), rapid.SampledFrom(sizes[:]).Draw(t, "size")
		at := time.Unix(rapid.Int64Range(-62135424000, 253402128000).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))
		p := period.At(at, size, zone)
		if back, err := period.Parse(p.String()); err != nil || back != p {
			t.Fatalf("%s came back as %s, %v", p, back, err)
		}
		if start, end := p.Start(zone), p.End(zone); start.After(at) || !end.After(at) {
			t.Fatalf("%s is not in %s, [%s, %s)", at, p, start, end)
		}
	})
}

func TestOnlyARepeatedSliceHasAnOffsetInItsName(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		zone *time.Location
		ok   bool
	}{
		"2026-03-03T08":          {time.UTC, true},
		"2026-03-03T08-05:00":    {time.UTC, false},
		"2026-03-03T08+00:00":    {time.UTC, false},
		"2026-11-01T01":          {newYork, true},
		"2026-11-01T01-05:00":    {newYork, true},
		"2026-11-01T01:30-05:00": {newYork, true},
		"2026-11-01T01-04:00":    {newYork, false},
		"2026-11-01T02-05:00":    {newYork, false},
		"2026-03-08T02":          {newYork, false}, // the clock skips it
	} {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckName(c.zone); (err == nil) != c.ok {
			t.Errorf("%s in %s: %v", name, c.zone, err)
		}
	}
}

func TestAnHourThatTheClockSkipsHasNoName(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{
		"2026-03-08T01": true, "2026-03-08T02": false, "2026-03-08T02:30": false, "2026-03-08T03": true, "2026-03-08": true, "2026-11-01T01": true,
	} {
		p, err := period.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckName(zone); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}
