package rule

import "strings"

// SpeaksFor says whether a rule at that place in the tree (Leaf.Path) speaks for opening. Each "not" around it turns that
// round; what is unknown never does.
func SpeaksFor(path string, o Outcome) bool {
	want := Pass
	for place := range strings.SplitSeq(path, " › ") {
		if place == "not" {
			want = Pass - want
		}
	}
	return o == want
}
