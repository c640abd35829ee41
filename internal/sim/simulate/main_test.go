package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSweepTellsHowFarItCameAndWhatWentWrong(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-from", "7", "-seeds", "3"}, &out); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out.String())
	}
	for _, want := range []string{"seeds 7 to 9\n", "3 of 3 seeds", "virtual days", "a second", "0 failed", "store call failed", "faults,"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestReplayTellsTheHistoryOfOneSeed(t *testing.T) {
	var all, none bytes.Buffer
	if code := run([]string{"-replay", "-from", "7"}, &all); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if code := run([]string{"-replay", "-from", "7", "-only", ""}, &none); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for _, want := range []string{"a starts", "EVENT CONFIG_ACCEPTED lands", "the calm begins", "seed 7: 0 invariants broken"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if !strings.Contains(none.String(), "broken, 0 faults") {
		t.Error("a fault happened although none is allowed")
	}
}

func TestRandomSeedsAreFreshEachTime(t *testing.T) {
	var first, second settings
	for _, s := range []*settings{&first, &second} {
		if err := s.setFrom("random"); err != nil {
			t.Fatal(err)
		}
	}
	if first.from == second.from {
		t.Errorf("both begin at seed %d", first.from)
	}
}

func TestWrongUse(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"-seed", "1"}, &out); code != 2 || !strings.Contains(out.String(), "-seeds") {
		t.Errorf("exit %d:\n%s", code, out.String())
	}
}
