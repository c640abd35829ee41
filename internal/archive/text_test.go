package archive

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOnlyTheZeroCharacterIsReplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"\x00", `\`, "u0000", `"`, "a", "é"})).Draw(t, "parts"), "")
		made, err := document(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(made), &got); err != nil {
			t.Fatalf("%s: %v", made, err)
		}
		if want := text(s); got[want] != want {
			t.Fatalf("%q became %v", s, got)
		}
	})
}
