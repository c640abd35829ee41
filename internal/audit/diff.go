package audit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/excerpt"
)

// The bounds of a Diff.
const (
	maxDiffLines = 60
	maxDiffValue = 200     // bytes of a value
	maxDiffTable = 1 << 20 // cells that comparing may need
)

// Diff lists the values of a YAML file that were removed ("- path: value") and added ("+ path:
// value"), in file order. Comments and formatting do not count. Values that look like secrets are
// shown as [redacted]: see redact. It is nil if one of the texts cannot be parsed.
func Diff(before, after []byte) []string {
	old, ok1 := valuesOf(before)
	next, ok2 := valuesOf(after)
	if !ok1 || !ok2 {
		return nil
	}
	for len(old) > 0 && len(next) > 0 && old[0].key == next[0].key {
		old, next = old[1:], next[1:]
	}
	for len(old) > 0 && len(next) > 0 && old[len(old)-1].key == next[len(next)-1].key {
		old, next = old[:len(old)-1], next[:len(next)-1]
	}
	if (len(old)+1)*(len(next)+1) > maxDiffTable {
		return []string{fmt.Sprintf("about %d values changed", max(len(old), len(next)))}
	}
	lines := changedLines(old, next)
	if more := len(lines) - maxDiffLines; more > 0 {
		lines = append(lines[:maxDiffLines], fmt.Sprintf("and %d more lines", more))
	}
	return lines
}

// fileValue is a value of a file. Values are equal if their keys are: a value of a list may move.
type fileValue struct{ key, shown string }

var listIndex = regexp.MustCompile(`\[\d+\]`)

func valuesOf(text []byte) ([]fileValue, bool) {
	doc, _ := document.Parse("", text)
	if doc == nil {
		return nil, false
	}
	var all []fileValue
	for leaf := range doc.Root().Leaves() {
		key := listIndex.ReplaceAllString(leaf.Path, "[]") + ": " + shownValue(leaf.Node, func(_, text string) string { return text })
		shown := shownValue(leaf.Node, func(before, text string) string { return redact(leaf.Keys, before, text) })
		all = append(all, fileValue{key, leaf.Path + ": " + excerpt.Bytes(shown, maxDiffValue)})
	}
	return all, true
}

// shownValue formats a value. hide gets each scalar with the one before it in its list.
func shownValue(n document.Node, hide func(before, text string) string) string {
	switch n.Kind() {
	case document.String:
		return strconv.Quote(hide("", n.Text()))
	case document.List:
		items, before := []string{}, ""
		for _, item := range n.Items() {
			items = append(items, shownItem(item, func(text string) string { return hide(before, text) }))
			before = item.Text()
		}
		return "[" + strings.Join(items, ", ") + "]"
	case document.Map:
		return "{}"
	default:
		return shownItem(n, func(text string) string { return hide("", text) })
	}
}

func shownItem(n document.Node, hide func(string) string) string {
	switch n.Kind() {
	case document.String:
		return strconv.Quote(hide(n.Text()))
	case document.Int, document.Float:
		return hide(n.Text())
	case document.Null:
		return "null"
	default:
		return n.Text()
	}
}

// changedLines returns the values that are not part of the longest common subsequence.
func changedLines(old, next []fileValue) []string {
	common := make([][]int32, len(old)+1) // length of the subsequence of old[i:] and next[j:]
	for i := range common {
		common[i] = make([]int32, len(next)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(next) - 1; j >= 0; j-- {
			if old[i].key == next[j].key {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(old) || j < len(next); {
		switch {
		case i < len(old) && j < len(next) && old[i].key == next[j].key:
			i, j = i+1, j+1
		case j == len(next) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			lines, i = append(lines, "- "+old[i].shown), i+1
		default:
			lines, j = append(lines, "+ "+next[j].shown), j+1
		}
	}
	return lines
}
