package gate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/sensor"
)

func TestSameDataHasTheSameContent(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]int64{0, 1, -1, 1 << 53, 1<<53 + 1, 1 << 62, math.MaxInt64, math.MinInt64}), func(i int64) any { return i }),
		rapid.Map(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1.5, 1 << 53, 1 << 62, 1 << 63, -(1 << 63), 1e300}), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]string{"", "1", "a"}), func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, false, []any{int64(1)}, []any{1.0}, map[string]any{"x": int64(1)}, map[string]any{"x": 1.0}}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := sensor.Fields{"v": value.Draw(t, "a")}, sensor.Fields{"v": value.Draw(t, "b")}
		if same := sensor.SameData(a, b); same != (gate.Content(a) == gate.Content(b)) {
			t.Fatalf("%v and %v: same data %v, contents %s and %s", a, b, same, gate.Content(a), gate.Content(b))
		}
	})
}
