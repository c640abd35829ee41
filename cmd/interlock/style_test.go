package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	tests := []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"terminal", true, nil, true},
		{"no terminal", false, nil, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"empty NO_COLOR does not count", true, map[string]string{"NO_COLOR": ""}, true},
		{"dumb terminal", true, map[string]string{"TERM": "dumb"}, false},
		{"CLICOLOR_FORCE is not ours", false, map[string]string{"CLICOLOR_FORCE": "1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call{args: []string{"validate", "testdata/broken"}, terminal: tt.terminal, env: tt.env}.run()
			if coloured := strings.Contains(got.stdout, "\x1b["); coloured != tt.want {
				t.Errorf("coloured: %v\n%q", coloured, got.stdout)
			}
		})
	}
}

func TestJSONIsNeverColoured(t *testing.T) {
	for _, format := range []string{"json", "github"} {
		got := call{args: []string{"validate", "testdata/broken", "--format", format}, terminal: true}.run()
		if strings.Contains(got.stdout, "\x1b[") {
			t.Errorf("%s: %q", format, got.stdout)
		}
	}
}

func TestColoursDoNotMoveColumns(t *testing.T) {
	rows := func(s style) string {
		return table([][]cell{
			{{"日本", s.red}, plain("x"), plain("last")},
			{{"a", s.green}, plain("größer"), plain("")},
		})
	}
	want := "日本  x       last\na     größer\n"
	if diff := cmp.Diff(want, rows(style{})); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	coloured := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(rows(style{colours: true}))
	if diff := cmp.Diff(want, coloured); diff != "" {
		t.Errorf("coloured, without the colours (-want +got):\n%s", diff)
	}
}

func TestShortenKeepsWithinItsWidth(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "exactly te": "exactly te", "rather long": "rather lo…", "日本日本日本": "日本日本…"} {
		if got := shorten(text, 10); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
