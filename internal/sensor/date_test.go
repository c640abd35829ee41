package sensor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface{ Fatal(args ...any) }

func parsed(t failer, name string) period.Period {
	if name == "" {
		return period.Period{}
	}
	p, err := period.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPeriodOfAWrite(t *testing.T) {
	for _, tc := range []struct{ data, suffix, want string }{
		{`{}`, "", ""},
		{`{}`, "2026-03-03T07", "2026-03-03T07"},
		{`{"date":"2026-03-03"}`, "", "2026-03-03"},
		{`{"date":"20260303"}`, "", "2026-03-03"},
		{`{"date":20260303}`, "", "2026-03-03"},
		{`{"date":20260303.0}`, "", "2026-03-03"},
		{`{"date":"1999-12-31"}`, "", "1999-12-31"},
		{`{"date":"2026-03-03","hour":7}`, "", "2026-03-03T07"},
		{`{"date":"2026-03-03","hour":"7"}`, "", "2026-03-03T07"},
		{`{"date":"2026-03-03","hour":"07"}`, "", "2026-03-03T07"},
		{`{"date":"2026-03-03","hour":0}`, "", "2026-03-03T00"},
		{`{"date":"2026-03-03","hour":23,"minute":59}`, "", "2026-03-03T23:59"},
		{`{"date":"2026-03-03","hour":"7","minute":"05"}`, "", "2026-03-03T07:05"},
		{`{"date":"2026-03-03"}`, "2026-03-02T07", "2026-03-03"},
		{`{"hour":7}`, "2026-03-03", "2026-03-03"},
		{`{"date":"2026-11-01","hour":1}`, "", "2026-11-01T01"},
		{`{"date":"2026-W10"}`, "", "2026-W10"},
		{`{"date":"2026W10"}`, "", "2026-W10"},
		{`{"date":"2026-03"}`, "2026-03-03", "2026-03"},
		{`{}`, "2026-W10", "2026-W10"},
		{`{"date":"2026-Q1"}`, "2026-03-03", "2026-Q1"},
		{`{"date":"2026Q4"}`, "", "2026-Q4"},
		{`{}`, "2026-Q1", "2026-Q1"},
		{`{}`, "2026-03", "2026-03"},
	} {
		fields, err := sensor.Decode([]byte(tc.data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := sensor.PeriodOf(fields, parsed(t, tc.suffix))
		if err != nil || got.String() != tc.want {
			t.Errorf("%s with suffix %q: got %q, %v; want %q", tc.data, tc.suffix, got, err, tc.want)
		}
	}
}

func TestMalformedDateIsRejected(t *testing.T) {
	for data, says := range map[string]string{
		`{"date":"2026-W54"}`:                            "is not a calendar date",
		`{"date":202603}`:                                "a month like 2026-03",
		`{"date":"2026-W10","hour":7}`:                   "date \"2026-W10\" is a whole week, so hour 7 has no day",
		`{"date":"2026-Q1","hour":7}`:                    "is a whole quarter",
		`{"date":"2026-Q5"}`:                             "a quarter like 2026-Q1",
		`{"date":"2026-03","hour":7}`:                    "is a whole month",
		`{"date":null}`:                                  "date is null; write it like 2026-03-03 or 20260303",
		`{"date":true}`:                                  "date is true or false",
		`{"date":[1]}`:                                   "date is a list",
		`{"date":{}}`:                                    "date is an object",
		`{"date":2026.5}`:                                "date is a number",
		`{"date":""}`:                                    `date "" is not a calendar date`,
		`{"date":"yesterday"}`:                           `date "yesterday" is not a calendar date`,
		`{"date":"2026-02-30"}`:                          "not a calendar date",
		`{"date":"2026-3-3"}`:                            "not a calendar date",
		`{"date":" 2026-03-03"}`:                         "not a calendar date",
		`{"date":2026033}`:                               "date 2026033 is not a calendar date",
		`{"date":-20260303}`:                             "not a calendar date",
		`{"date":"2026-03-03T07"}`:                       "write the day alone",
		`{"hour":7}`:                                     "hour 7 has no date",
		`{"date":"2026-03-03","hour":24}`:                "hour is 24; it must be 0 to 23",
		`{"date":"2026-03-03","hour":-1}`:                "hour is -1",
		`{"date":"2026-03-03","hour":"007"}`:             `hour is "007"`,
		`{"date":"2026-03-03","hour":"+7"}`:              `hour is "+7"`,
		`{"date":"2026-03-03","hour":7.5}`:               "hour is 7.5",
		`{"date":"2026-03-03","hour":""}`:                `hour is ""`,
		`{"date":"2026-03-03","hour":null}`:              "hour is null",
		`{"date":"2026-03-03","hour":true}`:              "hour is true",
		`{"date":"2026-03-03","minute":5}`:               "minute 5 has no hour",
		`{"date":"2026-03-03","hour":7,"minute":60}`:     "minute is 60; it must be 0 to 59",
		`{"date":"2026-03-03","hour":7,"minute":"a"}`:    `minute is "a"`,
		`{"date":"2026-03-03","hour":7,"minute":[]}`:     "minute is a list",
		`{"date":"2026-03-03","hour":"x","minute":"05"}`: `hour is "x"`,
	} {
		fields, err := sensor.Decode([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := sensor.PeriodOf(fields, period.Period{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %q, %v; want an error that says %q", data, got, err, says)
		}
	}
}

func FuzzPeriodOf(f *testing.F) {
	for _, seed := range [][3]string{
		{`"2026-03-03"`, `7`, `"05"`}, {`20260303`, `"07"`, ``}, {`null`, ``, `1`}, {`"2026-02-30"`, `24`, `60`}, {`1e7`, `1e1`, `5.9`}, {``, `7`, ``},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, date, hour, minute string) {
		fields := sensor.Fields{}
		for name, text := range map[string]string{"date": date, "hour": hour, "minute": minute} {
			if value, err := sensor.Decode([]byte(`{"v":` + text + `}`)); err == nil {
				fields[name] = value["v"]
			}
		}
		p, err := sensor.PeriodOf(fields, period.Period{})
		_, dated := fields["date"]
		_, timed := fields["hour"]
		switch {
		case err != nil && !dated && !timed:
			t.Fatalf("refused %v, which has no date: %v", fields, err)
		case err == nil && dated != !p.IsZero():
			t.Fatalf("%v is for %q", fields, p)
		case err != nil || !dated:
			return
		}
		if _, hasHour := fields["hour"]; hasHour != (p.Size() < period.Day) {
			t.Fatalf("%v is a %s", fields, p.Size())
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back period.Period
		if err := json.Unmarshal(text, &back); err != nil || back != p {
			t.Fatalf("%v is for %s, which reads as %v, %v", fields, text, back, err)
		}
	})
}
