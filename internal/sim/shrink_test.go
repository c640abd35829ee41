package sim

import "testing"

// The ids that Shrink returns break the invariant in a replay. This bug needs almost none of them.
func TestShrunkSeedStillFails(t *testing.T) {
	bug := Replay{until: VersionsGrow, bugs: bugs{below: sayLess}}
	whole := Play(1, bug)
	shrunk, keep := Shrink(1, VersionsGrow, bug, 20)
	if !shrunk.Fails(VersionsGrow) {
		t.Fatalf("%v", shrunk.Broken)
	}
	if keep == nil || len(keep) > 1 || len(whole.Happened) < 2 {
		t.Errorf("%q are left of %d faults and errands", keep, len(whole.Happened))
	}
	bug.Only = keep
	if !Play(1, bug).Fails(VersionsGrow) {
		t.Errorf("a replay of %q does not fail", keep)
	}
}
