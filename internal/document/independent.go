package document

import (
	"slices"
	"strings"
)

// Independent returns the findings about n that do not follow from the problems at the paths in
// wrong. A finding may follow from a problem with the same value, or, if a key that it is about is
// absent, from a problem with a key beside it, which may be a misspelling of that key.
func (n Node) Independent(findings []Finding, wrong []string) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		return slices.ContainsFunc(append(f.Also[:len(f.Also):len(f.Also)], f.Path), func(path string) bool {
			return slices.ContainsFunc(wrong, func(w string) bool {
				return Related(path, w) || parentPath(path) == parentPath(w) && !n.has(path)
			})
		})
	})
}

// has reports whether the value itself has a non-null value at path.
func (n Node) has(path string) bool {
	at, found := n.node().lookup(path)
	return found && at.value.kind != Null
}

// parentPath returns a path without its last step.
func parentPath(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// Paths lists the paths of findings.
func Paths(findings []Finding) []string {
	var paths []string
	for _, f := range findings {
		paths = append(paths, f.Path)
	}
	return paths
}
