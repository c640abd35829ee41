package rule_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

const (
	pass    = rule.Pass
	fail    = rule.Fail
	unknown = rule.Unknown
)

// kinds are the values a field may have, as JSON; "" is a missing field.
var kinds = []string{
	``, `null`, `true`, `false`, `0`, `1`, `1.0`, `1e0`, `-1`, `1.5`, `"1"`, `"1.0"`, `"+1e0"`, `"true"`, `"false"`,
	`"ready"`, `""`, `"0x1"`, `"1_0"`, `"Inf"`, `"NaN"`, `" 1"`, `[1]`, `{"v":1}`,
}

// table says for one rule on which of the kinds it passes and on which it is unknown; it fails on
// the rest.
type table struct {
	check   rule.Check
	value   string // JSON
	passes  string
	unknown string
}

// The kinds that are no number, and those that are missing.
const (
	missing   = ` null `
	noNumbers = missing + `true false "true" "false" "ready" "" "0x1" "1_0" "Inf" "NaN" " 1" [1] {"v":1} `
	noTexts   = missing + `true false 0 1 1.0 1e0 -1 1.5 [1] {"v":1} `
)

func TestEachCheckOnEachKindOfValue(t *testing.T) {
	ones := `1 1.0 1e0 "1" "1.0" "+1e0" `
	for _, tc := range []table{
		{rule.Equals, `1`, ones, missing},
		{rule.Equals, `1.0`, ones, missing},
		{rule.Equals, `10e-1`, ones, missing},
		{rule.Equals, `"1"`, `1 1.0 1e0 "1" `, missing},
		{rule.Equals, `"1.0"`, `1 1.0 1e0 "1.0" `, missing},
		{rule.Equals, `1.5`, `1.5 `, missing},
		{rule.Equals, `true`, `true "true" `, missing},
		{rule.Equals, `false`, `false "false" `, missing},
		{rule.Equals, `"true"`, `true "true" `, missing},
		{rule.Equals, `"false"`, `false "false" `, missing},
		{rule.Equals, `"ready"`, `"ready" `, missing},
		{rule.Equals, `""`, `"" `, missing},
		{rule.Equals, `"Inf"`, `"Inf" `, missing},
		{rule.Equals, `"NaN"`, `"NaN" `, missing},
		{rule.Equals, `0`, `0 `, missing},
		{rule.In, `["ready", 1]`, `"ready" ` + ones, missing},
		{rule.In, `[true, ""]`, `true "true" "" `, missing},
		{rule.In, `[-1, 1.5]`, `-1 1.5 `, missing},
		{rule.GT, `1`, `1.5 `, noNumbers},
		{rule.GTE, `1`, `1.5 ` + ones, noNumbers},
		{rule.LT, `1`, `0 -1 `, noNumbers},
		{rule.LTE, `1`, `0 -1 ` + ones, noNumbers},
		{rule.GT, `"0.5"`, `1.5 ` + ones, noNumbers},
		{rule.LTE, `"-1e0"`, `-1 `, noNumbers},
		{rule.Matches, `"^r.*y$"`, `"ready" `, noTexts},
		{rule.Matches, `"[0-9]"`, `"1" "1.0" "+1e0" "0x1" "1_0" " 1" `, noTexts},
		{rule.AgeLT, `"2h"`, ``, ` null true false "true" "false" "ready" "" "0x1" "1_0" "Inf" "NaN" " 1" [1] {"v":1} `},
		{rule.AgeGT, `"2h"`, `0 1 1.0 1e0 -1 1.5 "1" "1.0" "+1e0" `, noNumbers},
	} {
		t.Run(fmt.Sprintf("%s %s", tc.check, tc.value), func(t *testing.T) { tc.run(t) })
	}
}

func (tc table) run(t *testing.T) {
	passes, unknowns := words(tc.passes), words(tc.unknown)
	unknowns[""] = true
	for _, kind := range kinds {
		want := fail
		switch {
		case passes[kind]:
			want = pass
		case unknowns[kind]:
			want = unknown
		}
		expect(t, tc.check, tc.value, kind, want)
	}
	if tc.check == rule.Equals { // not_equals swaps pass and fail, and leaves unknown alone
		tc.check = rule.NotEquals
		for _, kind := range kinds {
			want := pass
			switch {
			case passes[kind]:
				want = fail
			case unknowns[kind]:
				want = unknown
			}
			expect(t, tc.check, tc.value, kind, want)
		}
	}
}

// words splits the JSON values in s, which have no blank in them but for " 1".
func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, kind := range kinds[1:] {
		for i := 0; i+len(kind) <= len(s); i++ {
			after := i + len(kind)
			if s[i:after] == kind && (i == 0 || s[i-1] == ' ') && (after == len(s) || s[after] == ' ') {
				out[kind] = true
			}
		}
	}
	return out
}

func expect(t *testing.T, check rule.Check, value, kind string, want rule.Outcome) {
	t.Helper()
	r := rule.Rule{Key: "k", Check: check, Field: "f", Value: decode(t, `{"v":`+value+`}`)["v"]}
	data := `{}`
	if kind != "" {
		data = `{"f":` + kind + `}`
	}
	leaf := answer(t, r, reading(decode(t, data)))
	if leaf.Outcome != want || leaf.Reason == "" {
		t.Errorf("%s %s on %s: got %s (%s), want %s", check, value, data, leaf.Outcome, leaf.Reason, want)
	}
}

func TestExistsIsNeverUnknown(t *testing.T) {
	anyField := rule.Rule{Key: "k", Check: rule.Exists}
	withField := rule.Rule{Key: "k", Check: rule.Exists, Field: "f"}
	gone := reading(sensor.Fields{"f": int64(1)})
	gone.ExpiresAt = noon
	for _, r := range []*sensor.Reading{nil, gone} {
		if answer(t, anyField, r).Outcome != fail || answer(t, withField, r).Outcome != fail {
			t.Error("a sensor that is not there exists")
		}
	}
	if got := answer(t, anyField, reading(nil)); got.Outcome != pass {
		t.Errorf("a reading without fields: %s", got.Reason)
	}
	for _, kind := range kinds[1:] {
		want := pass
		if kind == "null" {
			want = fail
		}
		if got := answer(t, withField, reading(decode(t, `{"f":`+kind+`}`))); got.Outcome != want {
			t.Errorf("field %s: got %s", kind, got.Outcome)
		}
	}
}

func TestReadingExpiresAtItsInstant(t *testing.T) {
	check := rule.Rule{Key: "k", Check: rule.Equals, Field: "f", Value: 1}
	for after, want := range map[time.Duration]rule.Outcome{-time.Second: unknown, 0: unknown, time.Nanosecond: pass} {
		r := reading(sensor.Fields{"f": int64(1)})
		r.ExpiresAt = noon.Add(after)
		if got := answer(t, check, r); got.Outcome != want {
			t.Errorf("%s after now: got %s", after, got.Outcome)
		}
	}
}

func TestDottedFieldReachesIntoObjects(t *testing.T) {
	check := rule.Rule{Key: "k", Check: rule.Equals, Field: "a.b.c", Value: 1}
	for data, want := range map[string]rule.Outcome{
		`{"a":{"b":{"c":1}}}`:              pass,
		`{"a":{"b":{"c":2}}}`:              fail,
		`{"a.b.c":1}`:                      pass,
		`{"a.b.c":1,"a":{"b":{"c":2}}}`:    pass,
		`{"a.b.c":null,"a":{"b":{"c":1}}}`: pass,
		`{"a":{"b":{"c":null}}}`:           unknown,
		`{"a":{"b":{}}}`:                   unknown,
		`{"a":{"b":1}}`:                    unknown,
		`{"a":[{"b":1}]}`:                  unknown,
		`{}`:                               unknown,
	} {
		if got := answer(t, check, reading(decode(t, data))); got.Outcome != want {
			t.Errorf("%s: got %s (%s)", data, got.Outcome, got.Reason)
		}
	}
}

func TestGoNumbersInRulesAreTaken(t *testing.T) {
	for _, value := range []any{1000, int32(1000), uint64(1000), 1e3, json.Number("1000")} {
		check := rule.Rule{Key: "k", Check: rule.GTE, Field: "f", Value: value}
		if got := answer(t, check, reading(sensor.Fields{"f": int64(1000)})); got.Outcome != pass {
			t.Errorf("%T: %s", value, got.Reason)
		}
	}
}

func TestIntegersAreExactToTheirLastDigit(t *testing.T) {
	for _, field := range []string{`9223372036854775807`, `"9223372036854775807"`, `"+9223372036854775807"`} {
		for value, want := range map[string]rule.Outcome{
			`9223372036854775806`: pass, `"9223372036854775806"`: pass, `9223372036854775807`: fail, `9223372036854775808`: fail, `9223372036854775000.0`: pass,
		} {
			expect(t, rule.GT, value, field, want)
		}
	}
}

func TestAgeOfEachKindOfTimestamp(t *testing.T) {
	// Each is 11:00 UTC, an hour before now.
	for _, at := range []string{
		`"2026-03-03T11:00:00Z"`, `"2026-03-03T11:00:00.000Z"`, `"2026-03-03T12:00:00+01:00"`, `"2026-03-03T05:30:00.000000000-05:30"`,
		`1772535600`, `"1772535600"`, `1772535600.0`, `1772535600000`, `"1772535600000"`, `1.7725356e9`, `1.7725356e12`, `"1.7725356e9"`,
	} {
		for check, want := range map[[2]string]rule.Outcome{
			{"age_lt", "61m"}: pass, {"age_lt", "60m"}: fail, {"age_lt", "59m"}: fail,
			{"age_gt", "61m"}: fail, {"age_gt", "60m"}: fail, {"age_gt", "59m"}: pass,
			{"age_lt", "1d"}: pass, {"age_gt", "2w"}: fail,
		} {
			r := rule.Rule{Key: "k", Check: rule.Check(check[0]), Field: "at", Value: check[1]}
			if got := answer(t, r, reading(decode(t, `{"at":`+at+`}`))); got.Outcome != want {
				t.Errorf("%s %s on %s: got %s (%s)", check[0], check[1], at, got.Outcome, got.Reason)
			}
		}
	}
}

// From 10^11 on a number is milliseconds, which is in 1973; as seconds it would be in the year
// 5138.
func TestLargeEpochValuesAreMilliseconds(t *testing.T) {
	r := rule.Rule{Key: "k", Check: rule.AgeGT, Field: "at", Value: "30m"}
	for at, want := range map[string]rule.Outcome{
		`99999999999`: unknown, `99999999999.5`: unknown, `"99999999999"`: unknown,
		`100000000000`: pass, `100000000000.5`: pass, `"100000000000"`: pass,
		`1772535600000.5`: pass, `1772539199999.5`: fail, `1772535600.5`: pass,
	} {
		if got := answer(t, r, reading(decode(t, `{"at":`+at+`}`))); got.Outcome != want {
			t.Errorf("%s: got %s (%s)", at, got.Outcome, got.Reason)
		}
	}
}

func TestNoTimestampNoAge(t *testing.T) {
	r := rule.Rule{Key: "k", Check: rule.AgeGT, Field: "at", Value: "1s"}
	for _, at := range []string{
		`"2026-03-03"`, `"2026-03-03 11:00:00Z"`, `"2026-03-03T11:00:00"`, `"2026-03-03T11:00Z"`, `"2026-02-30T11:00:00Z"`,
		`"2023-02-29T11:00:00Z"`, `"1900-02-29T11:00:00Z"`, `"2026-04-31T11:00:00Z"`, `"2026-06-31T11:00:00Z"`, `"2026-09-31T11:00:00Z"`, `"2026-11-31T11:00:00Z"`,
		`"2026-03-32T11:00:00Z"`, `"2026-03-0:T11:00:00Z"`, `"2026-03-:0T11:00:00Z"`, `"2026-03-03T11:00:60Z"`, `"2026-03-03T11:00:00+0x:00"`, `"2026-03-03T11:00:00+00:60"`,
		`"2026-03-03T24:00:00Z"`, `"2026-03-03T11:60:00Z"`, `"2026-13-03T11:00:00Z"`, `"2026-00-03T11:00:00Z"`, `"2026-03-00T11:00:00Z"`,
		`"2026-03-03T11:00:00."`, `"2026-03-03T11:00:00.Z"`, `"2026-03-03T11:00:00,5Z"`, `"2026-03-03T11:00:00+24:00"`, `"2026-03-03T11:00:00+0100"`,
		`"2026-03-03T11:00:00Zz"`, `"2x26-03-03T11:00:00Z"`, `1772535600000000`, `1e300`, `-1e300`, `"-1e14"`, `-99999999999999`, `true`, `"soon"`,
	} {
		if got := answer(t, r, reading(decode(t, `{"at":`+at+`}`))); got.Outcome != unknown {
			t.Errorf("%s: got %s (%s)", at, got.Outcome, got.Reason)
		}
	}
}

func TestTimestampInTheFutureIsTrustedForTwoMinutes(t *testing.T) {
	for ahead, want := range map[time.Duration]rule.Outcome{
		time.Second: pass, 2 * time.Minute: pass, 2*time.Minute + time.Second: unknown, 250 * 365 * 24 * time.Hour: unknown,
	} {
		at := noon.Add(ahead).Format(time.RFC3339)
		for check, want := range map[rule.Check]rule.Outcome{rule.AgeLT: want, rule.AgeGT: min(want, pass-want)} {
			r := rule.Rule{Key: "k", Check: check, Field: "at", Value: "1h"}
			if got := answer(t, r, reading(sensor.Fields{"at": at})); got.Outcome != want {
				t.Errorf("%s, %s ahead: got %s (%s)", check, ahead, got.Outcome, got.Reason)
			}
		}
	}
}

func TestUpdatedAtIsTheStoresOwnWhereTheDataHasNone(t *testing.T) {
	for _, field := range []string{"", "updatedAt"} {
		r := rule.Rule{Key: "k", Check: rule.AgeLT, Field: field, Value: "2h"}
		for data, want := range map[string]rule.Outcome{
			`{}`:                                   pass,
			`{"updatedAt":null}`:                   pass,
			`{"updatedAt":"2026-03-03T11:30:00Z"}`: pass,
			`{"updatedAt":"2026-03-03T09:30:00Z"}`: fail,
			`{"updatedAt":"recently"}`:             unknown,
		} {
			if got := answer(t, r, reading(decode(t, data))); got.Outcome != want {
				t.Errorf("field %q, %s: got %s (%s)", field, data, got.Outcome, got.Reason)
			}
		}
		if got := answer(t, r, &sensor.Reading{Key: "k"}); got.Outcome != unknown {
			t.Errorf("a reading that was never stored: got %s", got.Outcome)
		}
	}
	other := rule.Rule{Key: "k", Check: rule.AgeLT, Field: "createdAt", Value: "2h"}
	if got := answer(t, other, reading(nil)); got.Outcome != unknown {
		t.Errorf("another field that is absent: got %s", got.Outcome)
	}
	equal := rule.Rule{Key: "k", Check: rule.Equals, Field: "updatedAt", Value: "x"}
	if got := answer(t, equal, reading(nil)); got.Outcome != unknown {
		t.Errorf("equals on an absent updatedAt: got %s", got.Outcome)
	}
}
