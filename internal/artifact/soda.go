package artifact

import (
	"fmt"
	"strings"
)

// sodaScan is the result of a scan of Soda Core or Soda Library.
type sodaScan struct {
	Checks    *[]sodaCheck `json:"checks"`
	HasErrors bool         `json:"hasErrors"`
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

// Soda reads the result of a scan. A check that could not be evaluated is unknown, not failed.
func Soda(f File) (*Result, error) {
	var scan sodaScan
	if err := decode(f, &scan); err != nil {
		return nil, err
	}
	if scan.Checks == nil {
		return nil, missing(f, "checks")
	}
	out := &Result{}
	for i, c := range *scan.Checks {
		if c.Name == "" {
			return nil, missing(f, fmt.Sprintf("checks[%d].name", i))
		}
	}
	keys := named(*scan.Checks, func(c sodaCheck) labels {
		long := c.Table + "." + deref(c.Column) + "." + c.Name
		return labels{c.Name, long, long + "\n" + c.Definition}
	})
	for i, c := range *scan.Checks {
		fields := map[string]any{"status": nil, "table": c.Table, "value": c.Diagnostics.Value}
		switch status := strings.ToLower(deref(c.Outcome)); status {
		case "pass", "warn":
			fields["status"] = status
		case "fail":
			fields["status"] = status
			out.Failed = append(out.Failed, fmt.Sprintf("check %q of %s", c.Name, c.Table))
		case "", "none", "error":
			out.Unknown = append(out.Unknown, fmt.Sprintf("check %q of %s was not evaluated", c.Name, c.Table))
		default:
			return nil, fmt.Errorf("%s: field checks[%d].outcome: unknown outcome %q; expected pass, warn or fail", f.Name, i, status)
		}
		out.add("soda/"+keys[i], fields)
	}
	if scan.HasErrors && len(out.Unknown) == 0 {
		out.Unknown = append(out.Unknown, "the scan had errors")
	}
	if len(*scan.Checks) == 0 {
		out.Unknown = append(out.Unknown, "the scan has no checks")
	}
	out.merge()
	return out, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
