package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheReadmeShowsWhatTheCommandsPrint(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../examples/medallion") // as the README says
	shown := 0
	for _, block := range strings.Split(string(readme), "```\n$ interlock ")[1:] {
		text, _, _ := strings.Cut(block, "```")
		line, want, _ := strings.Cut(text, "\n")
		got := interlock(strings.Fields(line)...)
		if start, cut := strings.CutSuffix(want, "…\n"); cut {
			want, got.stdout = start, got.stdout[:min(len(start), len(got.stdout))]
		}
		if diff := cmp.Diff(want, got.stdout+got.stderr); diff != "" {
			t.Errorf("interlock %s (-README +printed):\n%s", line, diff)
		}
		shown++
	}
	if shown < 3 {
		t.Errorf("found %d commands with their output in the README", shown)
	}
}
