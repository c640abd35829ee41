package excerpt_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/excerpt"
)

func TestShortTextIsUnchanged(t *testing.T) {
	const text = "größe\xff"
	for name, got := range map[string]string{
		"Head": excerpt.Head(text, len(text)), "Bytes": excerpt.Bytes(text, len(text)), "Runes": excerpt.Runes(text, 6),
	} {
		if got != text {
			t.Errorf("%s changed it to %q", name, got)
		}
	}
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{excerpt.Head("größe", 3), "gr"},
		{excerpt.Head("größe", 4), "grö"},
		{excerpt.Bytes("größe", 3), "gr…"},
		{excerpt.Quoted("größe", 3), `"gr"…`},
		{excerpt.Quoted("a\nb", 3), `"a\nb"`},
		{excerpt.Runes("größe", 4), "grö…"},
		{excerpt.Head("größe", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestLastLineIsTheLastOneWithText(t *testing.T) {
	for output, want := range map[string]string{
		"":                              "",
		"\n \n":                         "",
		"reading\nno such table\n\n":    "no such tab…",
		"50%\r100%":                     "100%",
		"error: a very long line\r\n":   "error: a ve…",
		"Traceback\n  KeyError: 'id'\n": "KeyError: '…",
	} {
		if got := excerpt.LastLine(output, 11); got != want {
			t.Errorf("LastLine(%q) = %q, want %q", output, got, want)
		}
	}
}
