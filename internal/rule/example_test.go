package rule

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestExampleOfNestedRepetitionsEnds(t *testing.T) {
	text := "^"
	for range 40 {
		text = "(" + text + ")+"
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	left := maxSampled
	sample(new(strings.Builder), tree, 2, &left)
	if left >= 0 {
		t.Errorf("%d parts are left: the expression is no hard one", left)
	}
}
