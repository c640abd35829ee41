package sim

import "testing"

// The ids that Shrink returns break the invariant when they are replayed, and are fewer than before. In a world whose only
// pipeline waits for a write, a single errand is enough, and none is too few.
func TestShrunkSeedStillFails(t *testing.T) {
	for name, c := range map[string]struct {
		bug  Replay
		most func(happened int) int
	}{
		"many pipelines": {Replay{bugs: bugs{below: sayLess}}, func(happened int) int { return happened / 2 }},
		"one errand":     {Replay{bugs: bugs{below: sayLess}, tune: only(0, "lands")}, func(int) int { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			whole := Play(1, c.bug)
			shrunk, keep := Shrink(1, VersionsGrow, c.bug, 200)
			if !shrunk.Fails(VersionsGrow) {
				t.Fatalf("%v", shrunk.Broken)
			}
			if keep == nil || len(keep) > c.most(len(whole.Happened)) {
				t.Errorf("%q are left of %d faults and errands", keep, len(whole.Happened))
			}
			c.bug.Only = keep
			if !Play(1, c.bug).Fails(VersionsGrow) {
				t.Errorf("a replay of %q does not fail", keep)
			}
		})
	}
}
