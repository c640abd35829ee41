package rerun_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/rerun"
)

func TestDriftIsMoreThanTheThreshold(t *testing.T) {
	for name, c := range map[string]struct {
		baseline, current any
		threshold         float64
		drifted           bool
		delta             string
	}{
		"no move":                           {int64(100), int64(100), 0, false, "0"},
		"any move without a threshold":      {int64(100), int64(101), 0, true, "1"},
		"at the threshold":                  {int64(100), int64(110), 10, false, "10"},
		"beyond it":                         {int64(100), int64(111), 10, true, "11"},
		"beyond it downwards":               {int64(100), int64(89), 10, true, "-11"},
		"zero is a value":                   {int64(0), int64(5), 0, true, "5"},
		"down to zero":                      {int64(5), int64(0), 0, true, "-5"},
		"beyond what a float can tell":      {int64(1<<53 + 1), int64(1<<53 + 2), 0, true, "1"},
		"the whole range of integers":       {int64(math.MinInt64), int64(math.MaxInt64), 0, true, "18446744073709551615"},
		"decimals at the threshold":         {0.2, 0.3, 0.1, false, "0.1"},
		"decimals beyond it":                {0.2, 0.31, 0.1, true, "0.11"},
		"text that is a number":             {"1e3", int64(1000), 0, false, "0"},
		"large float and integer alike":     {1e6, int64(1000000), 0, false, "0"},
		"negative threshold counts as zero": {int64(1), int64(1), -5, false, "0"},
	} {
		got := rerun.Drift(c.baseline, c.current, c.threshold)
		if !got.Known || got.Drifted != c.drifted || got.Delta != c.delta {
			t.Errorf("%s: %+v, want drifted %v by %s", name, got, c.drifted, c.delta)
		}
	}
}

func TestMovementReasonNamesDeltaAndThreshold(t *testing.T) {
	for _, c := range []struct {
		current int64
		want    string
	}{
		{110, "changed by 10 from 100 to 110, within the threshold of 10.5"},
		{89, "changed by -11 from 100 to 89, beyond the threshold of 10.5"},
	} {
		if got := rerun.Drift(int64(100), c.current, 10.5); got.Reason != c.want {
			t.Errorf("got %q, want %q", got.Reason, c.want)
		}
	}
}

func TestMissingOrNonNumericFieldIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		baseline, current any
		threshold         float64
		says              string
	}{
		"missing in the reading":  {int64(0), nil, 0, "new reading has no such field"},
		"missing in the baseline": {nil, int64(0), 0, "baseline has no such field"},
		"missing in both":         {nil, nil, 0, "no such field"},
		"text":                    {int64(1), "many", 0, `"many"`},
		"empty text":              {int64(1), "", 0, `""`},
		"bool":                    {int64(1), true, 0, "new reading has true, which is not a number"},
		"list":                    {[]any{1}, int64(1), 0, "baseline has a list, which is not a number"},
		"object":                  {int64(1), map[string]any{"n": 1}, 0, "new reading has an object, which is not a number"},
		"not a number":            {int64(1), math.NaN(), 0, "NaN"},
		"infinity":                {int64(1), math.Inf(1), 0, "Inf"},
		"hex":                     {int64(1), "0x10", 0, "0x10"},
		"a fraction":              {int64(1), "1/3", 0, "1/3"},
		"a billion digits":        {int64(1), "1e1000000000", 0, "1e1000000000"},
		"a very long text":        {int64(1), strings.Repeat("9", 100_000), 0, "…"},
		"threshold not a number":  {int64(1), int64(2), math.NaN(), "threshold"},
	} {
		got := rerun.Drift(c.baseline, c.current, c.threshold)
		if got.Known || got.Drifted || !strings.Contains(got.Reason, c.says) || len(got.Reason) > 200 {
			t.Errorf("%s: %+v, want unknown with %q", name, got, c.says)
		}
	}
}

func TestDriftOfIntegersIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "baseline"), rapid.Int64().Draw(t, "current")
		limit := rapid.Int64Range(0, 1<<53).Draw(t, "threshold")
		delta := new(big.Int).Sub(big.NewInt(b), big.NewInt(a))
		got := rerun.Drift(a, b, float64(limit))
		if want := new(big.Int).Abs(delta).Cmp(big.NewInt(limit)) > 0; got.Drifted != want || got.Delta != delta.String() {
			t.Fatalf("%+v, want drifted %v by %s", got, want, delta)
		}
		back := rerun.Drift(b, a, float64(limit))
		if back.Drifted != got.Drifted {
			t.Fatalf("drifted one way %v, the other %v", got.Drifted, back.Drifted)
		}
	})
}

func TestDriftOfAnyValueHasAReason(t *testing.T) {
	values := rapid.OneOf(
		rapid.Just[any](nil), rapid.Float64().AsAny(), rapid.Int64().AsAny(), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.StringMatching(`[+-]?[0-9]{0,5}\.?[0-9]{0,5}(e[+-]?[0-9]{1,4})?`).AsAny(),
	)
	rapid.Check(t, func(t *rapid.T) {
		got := rerun.Drift(values.Draw(t, "baseline"), values.Draw(t, "current"), rapid.Float64().Draw(t, "threshold"))
		if got.Reason == "" || got.Drifted && !got.Known || len(got.Reason) > 400 {
			t.Fatalf("%+v", got)
		}
	})
}
