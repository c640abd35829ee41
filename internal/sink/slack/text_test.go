package slack

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// For any data, the result contains no Slack control character, is not too long, and cuts no entity
// in two.
func TestPlainTextIsHarmlessAndFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[<>&*_~`+"`"+`:a!@# \n]{0,60}`)).Draw(t, "text")
		limit := rapid.IntRange(1, 80).Draw(t, "limit")
		got := plain(text, limit)
		if size(got) > limit {
			t.Fatalf("%d of %d characters: %q", size(got), limit, got)
		}
		rest := strings.NewReplacer("&amp;", "", "&lt;", "", "&gt;", "").Replace(got)
		if strings.ContainsAny(rest, "<>&\r\x00") {
			t.Fatalf("%q is sent as %q", text, got)
		}
	})
}

func TestOnlyMarksThatWouldFormatAreReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"*bold*": "∗bold∗", "a * b": "a * b", "snake_case_name": "snake_case_name", "_SUCCESS": "_SUCCESS", "_it_": "ˍitˍ", "~x~ y~": "∼x∼ y∼",
		"`rm -rf`": "ˋrm -rfˋ", ":fire: at 10:30:00": "∶fire: at 10:30:00", "2*3*4": "2*3*4", "": "",
		":x:fire:": "∶x∶fire:", ":+1: :-1: :100:": "∶+1: ∶-1: ∶100:", ":8ball:": "∶8ball:", "2026-03-03T10:30:00+02:00": "2026-03-03T10:30:00+02:00",
	} {
		if got := plain(text, 100); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
