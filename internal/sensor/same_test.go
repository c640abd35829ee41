package sensor_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

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
	suffixed := sensor.Fields{"n": int64(1)}
	for _, f := range []sensor.Fields{
		{"n": int64(1), "date": "2026-03-03"}, {"n": int64(1), "date": "20260303"}, {"n": 1.0, "date": "2026-03-03", "hour": "07", "minute": int64(5)},
	} {
		if !sensor.SameFacts(f, suffixed) || !sensor.SameFacts(suffixed, f) {
			t.Errorf("%v and %v differ", f, suffixed)
		}
		if len(f) < 2 {
			t.Error("the fields have changed")
		}
	}
	for _, f := range []sensor.Fields{{"n": int64(2), "date": "2026-03-03"}, {"n": int64(1), "hour": int64(7)}} {
		if sensor.SameFacts(f, suffixed) {
			t.Errorf("%v and %v are the same", f, suffixed)
		}
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
