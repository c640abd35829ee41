package sqlite

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.SampledFrom([]int64{0, 1, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64}).AsAny(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1.5, -1, 1 << 53, 1 << 62, 1 << 63, -1 << 63, 1e21, 1e-7, math.MaxFloat64}).AsAny(),
		rapid.SampledFrom([]string{"", "1", "ready", "a \"quoted\" \\ text", "<&>", "\x00\n", "grün", "\u2028"}).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(anyValue(depth-1), 0, 3).AsAny(),
		rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c\""}), anyValue(depth-1), 0, 3).AsAny(),
	)...)
}

func anyFields(t *rapid.T, name string) sensor.Fields {
	return rapid.MapOfN(rapid.SampledFrom([]string{"n", "m", "grün"}), anyValue(2), 0, 3).Draw(t, name)
}

// often checks what is cheap more often than TestMain says.
func often(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	for range 40 {
		rapid.Check(t, property)
	}
}

func TestTextsAreEqualWhereDataIs(t *testing.T) {
	often(t, func(t *rapid.T) {
		a, b := anyFields(t, "a"), anyFields(t, "b")
		textA, err := encodeFields(a)
		if err != nil {
			t.Fatal(err)
		}
		textB, err := encodeFields(b)
		if err != nil {
			t.Fatal(err)
		}
		if same := sensor.SameData(a, b); (textA == textB) != same {
			t.Errorf("same data: %t, but %s and %s", same, textA, textB)
		}
		if !json.Valid([]byte(textA)) {
			t.Errorf("%s is not JSON", textA)
		}
		back, err := store.DecodeFields([]byte(textA))
		if err != nil || !sensor.SameData(a, back) {
			t.Errorf("%v came back as %v (%v)", a, back, err)
		}
	})
}

func TestDataThatCannotBeStoredIsRefused(t *testing.T) {
	deep := map[string]any{}
	for range 40 {
		deep = map[string]any{"in": deep}
	}
	for name, v := range map[string]any{"NaN": math.NaN(), "infinity": math.Inf(1), "no UTF-8": "\xff", "channel": make(chan int), "deep": deep} {
		if text, err := encodeFields(sensor.Fields{"v": v}); err == nil {
			t.Errorf("%s was written as %.40s", name, text)
		}
	}
	for name, v := range map[string]any{"int": 7, "deeper than plain": []any{[]any{[]any{[]any{[]any{[]any{[]any{[]any{[]any{}}}}}}}}}} {
		if _, err := encodeFields(sensor.Fields{"v": v}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpansAreASet(t *testing.T) {
	often(t, func(t *rapid.T) {
		var got spans
		want := map[int64]bool{}
		for _, pos := range rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "positions") {
			got.add(pos)
			want[pos] = true
		}
		for pos := range int64(22) {
			if got.has(pos) != want[pos] {
				t.Fatalf("%v: %d is in it: %t, want %t", got, pos, got.has(pos), want[pos])
			}
		}
		if got.count() != int64(len(want)) {
			t.Errorf("%v counts %d, want %d", got, got.count(), len(want))
		}
		if !slices.IsSortedFunc(got, func(a, b span) int { return int(a.to + 1 - b.from) }) {
			t.Errorf("%v has stretches that touch", got)
		}
	})
}

func TestInstantsKeepTheirOrder(t *testing.T) {
	times := []time.Time{
		{},
		time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1700, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Unix(0, 0),
		noon, noon.Add(1),
		time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	for i, at := range times[1:] {
		if nanos(at) < nanos(times[i]) {
			t.Errorf("%s is stored before %s", at, times[i])
		}
	}
	for _, at := range []time.Time{{}, times[2], noon.Add(1), times[6]} {
		if got := fromNanos(nanos(at)); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s came back as %s", at, got)
		}
	}
}
