package sensor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlainDataIsReadWithoutTokens(t *testing.T) {
	for _, data := range []string{
		`{}`, ` { } `, `{"complete":true,"count":12}`, "{\n\t\"a\": [1, -2.5e-3, \"x\", null, false, [], {}],\r \"b\": {\"c\": \"é\"}}",
		`{"a":999999999999999999,"b":-999999999999999999,"c":1000000000000000000,"d":9223372036854775808,"e":-0,"f":0.0,"g":1E+2}`,
	} {
		got, ok := decodePlain([]byte(data))
		want, err := decodeTokens([]byte(data), maxDepth)
		if diff := cmp.Diff(want, got); !ok || err != nil || diff != "" {
			t.Errorf("%s: %v, %v, (-tokens +plain):\n%s", data, ok, err, diff)
		}
	}
}

// Both decode the same data to the same value; errors and unusual input are left to tokens, which explain them.
func TestPlainAndTokensAgree(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ":", ",", " ", "\n", `"a"`, `"b"`, `"`, `\`, `"\u0061"`, "é", "\x00", "true", "false", "null", "nul",
		"-", "0", "00", "1", "12", ".", ".5", "e", "E+1", "1e400", "9223372036854775807", "9223372036854775808", "x",
		`{"a":1}`, `{"a":`, `[1,`, `"c":[]`,
	})
	rapid.Check(t, func(t *rapid.T) {
		data := []byte("{" + strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "") + rapid.SampledFrom([]string{"", "}"}).Draw(t, "end"))
		got, ok := decodePlain(data)
		if !ok {
			return
		}
		want, err := decodeTokens(data, maxDepth)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%q: %v, (-tokens +plain):\n%s", data, err, diff)
		}
	})
}

func TestPlainLeavesErrorsToTokens(t *testing.T) {
	for _, data := range []string{
		"", "{", "{}\x00", "{}{}", "{} 1", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":[`, `{"a":[1`, `{"a":[1,`, `{"a":[1,]}`, `{"a":[,]}`,
		`{"a":"`, `{"a":tru}`, `{"a":truex}`, `{"a":nul`, `{"a":-}`, `{"a":01}`, `{"a":-01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`, `{"a":+1}`,
		`{"a":1e400}`, `{"a":1,"a":2}`, `{a:1}`, `{"a" 1}`, `{"a":"\u0061"}`, "{\"a\":\"\t\"}", `{"a":1]`, `{"a":[1}`, "null", `[{}]`,
	} {
		if got, ok := decodePlain([]byte(data)); ok {
			t.Errorf("%q is read as %v", data, got)
		}
	}
}

func TestPlainLeavesDeepNestingToTokens(t *testing.T) {
	deepest := strings.Repeat(`{"a":`, maxDepth-1) + "{}" + strings.Repeat("}", maxDepth-1)
	if _, ok := decodePlain([]byte(deepest)); !ok {
		t.Errorf("%d levels are not read", maxDepth)
	}
	for _, data := range []string{`{"a":` + deepest + `}`, `{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`} {
		if _, ok := decodePlain([]byte(data)); ok {
			t.Errorf("%d levels are read", maxDepth+1)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range map[string]string{"plain": `{"complete":true,"count":1200,"status":"ready"}`, "escaped": `{"complete":true,"count":1200,"status":"\u0072eady"}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode([]byte(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
