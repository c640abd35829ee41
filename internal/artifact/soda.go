package artifact

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

// sodaScan is the result of a scan of Soda Core or Soda Library.
type sodaScan struct {
	Name       string       `json:"definitionName"`
	DataSource string       `json:"defaultDataSource"`
	End        string       `json:"scanEndTimestamp"`
	Checks     *[]sodaCheck `json:"checks"`
	HasErrors  bool         `json:"hasErrors"`
	Logs       []struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	} `json:"logs"`
}

type sodaCheck struct {
	Name        string  `json:"name"`
	Definition  string  `json:"definition"`
	Table       string  `json:"table"`
	Column      *string `json:"column"`
	Outcome     *string `json:"outcome"`
	Diagnostics struct {
		Value any `json:"value"`
	} `json:"diagnostics"`
}

// scan identifies a scan among those whose results one pipeline gets. The readings of its checks
// carry both fields.
type scan struct {
	name, dataSource string
	reason           string // why it left checks out
}

// marked reports whether a reading is of a check of this scan.
func (s *scan) marked(r Reading) bool {
	return strings.HasPrefix(r.Key, sodaPrefix) && r.Key != sodaScanKey &&
		r.Fields["scan"] == s.name && r.Fields["dataSource"] == s.dataSource
}

const (
	sodaPrefix  = "soda/"
	sodaScanKey = sodaPrefix + "scan"
)

// Soda reads the result of a scan. A check that could not be evaluated is unknown, not failed. If
// the scan had errors, the file leaves checks out: see Result.LeavesOut. A file older than
// limits.Since only gets a warning.
func Soda(f File, limits Limits) (*Result, error) {
	var file sodaScan
	if err := decode(f, &file); err != nil {
		return nil, err
	}
	if file.Checks == nil {
		return nil, missing(f, "checks")
	}
	old, err := limits.stale(f.Name, instant(file.End))
	if err != nil {
		return nil, err
	}
	out := &Result{}
	if old != "" {
		out.Warnings = append(out.Warnings, old)
	}
	if file.HasErrors {
		out.incomplete = &scan{file.Name, file.DataSource, file.reason()}
		out.Unknown = append(out.Unknown, "the scan had errors: "+out.incomplete.reason)
	}
	counts := map[string]int{}
	for i, c := range *file.Checks {
		fields, err := c.fields(f, i)
		if err != nil {
			return nil, err
		}
		fields["scan"], fields["dataSource"] = file.Name, file.DataSource
		out.addCheck(c, fields)
		counts[worse[badness(fields)]]++
	}
	if len(*file.Checks) == 0 && !file.HasErrors {
		out.Unknown = append(out.Unknown, "the scan has no checks")
	}
	out.add(sodaScanKey, file.summary(counts))
	out.keepWorst()
	return out, nil
}

// reason returns the first error in the log of a scan.
func (s *sodaScan) reason() string {
	for _, entry := range s.Logs {
		if entry.Level == "error" && entry.Message != "" {
			return shortError(entry.Message)
		}
	}
	return "the file does not say which"
}

// summary returns the reading of the scan as a whole. If the scan had errors, it is unknown unless
// a check failed.
func (s *sodaScan) summary(counts map[string]int) map[string]any {
	fields := map[string]any{
		"status": nil, "pass": counts["pass"], "warn": counts["warn"], "fail": counts["fail"],
		"hasErrors": s.HasErrors, "generatedAt": orNull(s.End), "scan": s.Name, "dataSource": s.DataSource,
	}
	switch {
	case counts["fail"] > 0:
		fields["status"] = "fail"
	case s.HasErrors:
		fields["error"] = s.reason()
	case counts[""] > 0:
		fields["error"] = "some checks were not evaluated"
	case counts["warn"] > 0:
		fields["status"] = "warn"
	case counts["pass"] > 0:
		fields["status"] = "pass"
	default:
		fields["error"] = "the scan has no checks"
	}
	return fields
}

// fields returns the reading of a check, the i-th of its file.
func (c sodaCheck) fields(f File, i int) (map[string]any, error) {
	if c.Name == "" {
		return nil, missing(f, fmt.Sprintf("checks[%d].name", i))
	}
	fields := map[string]any{"status": nil, "check": c.Name, "table": c.Table, "value": c.Diagnostics.Value}
	switch status := strings.ToLower(deref(c.Outcome)); status {
	case "pass", "warn", "fail":
		fields["status"] = status
	case "", "none", "error":
		fields["error"] = "the check was not evaluated"
	default:
		return nil, fmt.Errorf("%s: field checks[%d].outcome: unknown outcome %q; expected pass, warn or fail", f.Name, i, status)
	}
	return fields, nil
}

// addCheck adds the two readings of a check: under its name, where keepWorst keeps the worst of all
// checks with that name, and under a key of its own.
func (r *Result) addCheck(c sodaCheck, fields map[string]any) {
	switch fields["status"] {
	case "fail":
		r.Failed = append(r.Failed, fmt.Sprintf("check %q of %s", c.Name, c.Table))
	case nil:
		r.Unknown = append(r.Unknown, fmt.Sprintf("check %q of %s was not evaluated", c.Name, c.Table))
	}
	r.add(sodaName(c.Name), maps.Clone(fields))
	definition := cmp.Or(c.Definition, c.Table+"\n"+deref(c.Column)+"\n"+c.Name)
	r.add(sodaPrefix+keyPart(c.Table, maxPart)+"/"+keyPart(c.Name, maxPart)+"-"+hash(definition), fields)
}

// sodaName returns the key that all checks with a name share. soda/scan is the scan itself.
func sodaName(name string) string {
	key := sodaPrefix + keyPart(name, maxName)
	if key == sodaScanKey {
		key += "-" + hash(name)
	}
	return key
}

// LeavesOut reports whether the file leaves out checks that could not be evaluated. Then the
// pipeline's readings have to be passed to AddLeftOut.
func (r *Result) LeavesOut() bool { return r.incomplete != nil }

// AddLeftOut adds a reading without a status for each check of the scan that the file does not
// mention, so that an older status of it does not count. known are the latest readings of the
// pipeline. The reading that checks of one name share is at best unknown if one of them was left
// out.
func (r *Result) AddLeftOut(known []Reading) {
	if r.incomplete == nil {
		return
	}
	mentioned := map[string]bool{}
	for _, one := range r.Readings {
		mentioned[one.Key] = true
	}
	for _, old := range known {
		if mentioned[old.Key] || !r.incomplete.marked(old) {
			continue
		}
		fields := map[string]any{
			"status": nil, "check": old.Fields["check"], "table": old.Fields["table"], "value": nil,
			"scan": r.incomplete.name, "dataSource": r.incomplete.dataSource,
			"error": "the scan left the check out; its first error: " + r.incomplete.reason,
		}
		r.add(old.Key, fields)
		if name, ok := old.Fields["check"].(string); ok {
			r.add(sodaName(name), fields)
		}
	}
	r.keepWorst()
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
