package sim

import (
	"fmt"
	"testing"
)

// Seeds that once broke a promise, each with what was wrong. They stay, whatever else is played.
func TestSeedsThatOnceFailed(t *testing.T) {
	for seed, what := range map[uint64]string{
		37:  "an edit during a pause dropped fires that had come before it",
		72:  "an edit during a pause dropped fires that had come before it",
		862: "a pause that was to end while its file was gone never did, and the task that arms deadlines came back at once, for ever",
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, v := range Play(seed, Replay{}).Broken {
				t.Errorf("%s: %s", what, v)
			}
		})
	}
}

// What is left of a seed that fails after shrinking fails all the same, with fewer faults.
func TestShrunkSeedStillFails(t *testing.T) {
	bug := Replay{bugs: bugs{below: sayLess}}
	shrunk, keep := Shrink(1, VersionsGrow, bug, 60)
	if !shrunk.Fails(VersionsGrow) {
		t.Fatalf("%v", shrunk.Broken)
	}
	if whole := Play(1, bug); len(keep) >= len(whole.Happened)/2 {
		t.Errorf("%d of %d faults and errands are left", len(keep), len(whole.Happened))
	}
	bug.Only = keep
	if !Play(1, bug).Fails(VersionsGrow) {
		t.Error("what is left does not fail when it is played again")
	}
}
