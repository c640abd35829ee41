package artifact

import (
	"maps"
	"slices"
	"strings"
)

// The tools whose files are read.
const (
	ToolDbt          = "dbt"
	ToolExpectations = "gx"
	ToolSoda         = "soda"
)

// part is what one file of a tool gives: if there is no such file, none of its keys has a status.
type part struct {
	always   string // the key that is always written; "" if its name depends on the file
	prefixes []string
}

var parts = map[string][]part{
	ToolDbt:          {{"dbt/run", []string{"dbt/run", "dbt/node/"}}, {"", []string{"dbt/freshness/"}}},
	ToolExpectations: {{"", []string{"gx/"}}},
	ToolSoda:         {{sodaScanKey, []string{sodaPrefix}}},
}

func (p part) holds(key string) bool {
	return slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// Unproven returns the readings without a status of a tool whose command left no file, or only some
// of its files: for each reading of stale that the tool's files do not give. stale are those that
// otherwise would count, such as those of an earlier attempt. written are the readings that the
// files of this command give. complete says that each file that was asked for was written: then the
// keys of its kind stand that it does not mention.
func Unproven(tool string, complete bool, stale, written []Reading, reason string) []Reading {
	var out Result
	for _, p := range parts[tool] {
		gives := slices.ContainsFunc(written, func(r Reading) bool { return p.holds(r.Key) })
		if gives && complete {
			continue
		}
		if p.always != "" && !complete {
			out.add(p.always, unproven(nil, reason))
		}
		for _, r := range stale {
			if p.holds(r.Key) {
				out.add(r.Key, unproven(r.Fields, reason))
			}
		}
	}
	slices.SortStableFunc(out.Readings, func(a, b Reading) int { return strings.Compare(a.Key, b.Key) })
	given := map[string]bool{}
	for _, r := range written {
		given[r.Key] = true
	}
	return slices.DeleteFunc(out.Readings, func(r Reading) bool {
		twice := given[r.Key]
		given[r.Key] = true
		return twice
	})
}

// unproven returns the fields of a reading without a status. Those that say what was checked stay.
func unproven(before map[string]any, reason string) map[string]any {
	fields := maps.Clone(before)
	maps.DeleteFunc(fields, func(name string, _ any) bool {
		return !slices.Contains([]string{"check", "table", "scan", "dataSource"}, name)
	})
	if fields == nil {
		fields = map[string]any{}
	}
	fields["status"], fields["error"] = nil, shortError(reason)
	return fields
}

// Worst returns, of several readings with one key, the worst: for the files of several commands.
func Worst(readings []Reading) []Reading {
	all := Result{Readings: slices.Clone(readings)}
	all.keepWorst()
	return all.Readings
}

// IsSuite reports whether a key is that of a whole suite of Great Expectations.
func IsSuite(key string) bool {
	name, of := strings.CutPrefix(key, "gx/")
	return of && !strings.Contains(name, "/")
}
