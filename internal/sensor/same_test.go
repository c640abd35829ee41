package sensor_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

func TestSameDataComparesByValue(t *testing.T) {
	for _, tc := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{1.0, int64(1), true},
		{0.0, math.Copysign(0, -1), true},
		{1.5, 1.5, true},
		{int64(1 << 53), float64(1 << 53), true},
		{int64(1<<53 + 1), float64(1 << 53), false},
		{int64(math.MaxInt64), float64(1 << 63), false},
		{int64(1), "1", false},
		{1.0, true, false},
		{true, true, true},
		{true, false, false},
		{"a", "a", true},
		{"a", "b", false},
		{"a", nil, false},
		{nil, nil, true},
		{nil, false, false},
		{[]any{int64(1), "a"}, []any{1.0, "a"}, true},
		{[]any{int64(1), "a"}, []any{"a", int64(1)}, false},
		{[]any{int64(1)}, []any{int64(1), int64(1)}, false},
		{[]any{}, map[string]any{}, false},
		{map[string]any{"x": []any{nil}}, map[string]any{"x": []any{nil}}, true},
		{map[string]any{"x": nil}, map[string]any{"y": nil}, false},
		{map[string]any{"x": nil}, map[string]any{}, false},
		{struct{}{}, struct{}{}, false},
	} {
		if got := sensor.SameData(sensor.Fields{"v": tc.a}, sensor.Fields{"v": tc.b}); got != tc.want {
			t.Errorf("%#v and %#v: got %v", tc.a, tc.b, got)
		}
	}
	if !sensor.SameData(nil, sensor.Fields{}) {
		t.Error("no fields and no fields differ")
	}
	if sensor.SameData(sensor.Fields{"a": int64(1)}, sensor.Fields{"a": int64(1), "b": int64(2)}) {
		t.Error("an additional field makes no difference")
	}
}

func TestHowAWriteNamesItsPeriodIsNoFact(t *testing.T) {
	day := period.At(time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC), period.Day, time.UTC)
	suffixed := &sensor.Reading{Period: day, Fields: sensor.Fields{"n": int64(1)}}
	for _, tt := range []struct {
		fields sensor.Fields
		same   bool
	}{
		{sensor.Fields{"n": int64(1), "date": "2026-03-03"}, true},
		{sensor.Fields{"n": 1.0, "date": "20260303"}, true},
		{sensor.Fields{"n": int64(2), "date": "2026-03-03"}, false},
		{sensor.Fields{"n": int64(1), "hour": int64(7)}, false},
		{sensor.Fields{"n": int64(1), "date": "2026-03-04"}, false}, // a source named the period
		{sensor.Fields{"n": int64(1), "date": "2026-03-03", "hour": int64(7)}, false},
		{sensor.Fields{"n": int64(1), "date": "soon"}, false},
	} {
		names := len(tt.fields)
		r := &sensor.Reading{Period: day, Fields: tt.fields}
		if r.SameFacts(suffixed) != tt.same || suffixed.SameFacts(r) != tt.same {
			t.Errorf("%v: want the same facts: %t", tt.fields, tt.same)
		}
		if len(tt.fields) != names {
			t.Error("the fields have changed")
		}
	}
	if gone := (&sensor.Reading{Period: day, Deleted: true}); gone.SameFacts(&sensor.Reading{Period: day}) {
		t.Error("a deleted reading has the facts of one without fields")
	}
}

func TestCompareIntFloatIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3)).Draw(t, "i")
		f := rapid.OneOf(
			rapid.Float64(),
			rapid.Just(float64(i)),
			rapid.Just(math.Nextafter(float64(i), math.Inf(1))),
			rapid.Just(math.Nextafter(float64(i), math.Inf(-1))),
			rapid.Float64Range(-3, 3),
		).Draw(t, "f")
		want := new(big.Rat).SetInt64(i).Cmp(new(big.Rat).SetFloat64(f))
		if got := sensor.CompareIntFloat(i, f); got != want {
			t.Fatalf("%d and %v: got %d, want %d", i, f, got, want)
		}
	})
}

func TestCompareIntFloatBeyondTheIntegers(t *testing.T) {
	for _, i := range []int64{math.MinInt64, 0, math.MaxInt64} {
		if sensor.CompareIntFloat(i, math.Inf(1)) != -1 || sensor.CompareIntFloat(i, math.Inf(-1)) != 1 || sensor.CompareIntFloat(i, math.NaN()) == 0 {
			t.Errorf("%d is not between the infinities", i)
		}
	}
}
