package artifact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// gxResult is a validation result of Great Expectations, 0.13 to 1.x, or the result of a
// checkpoint, which has several.
type gxResult struct {
	Success    *bool           `json:"success"`
	SuiteName  string          `json:"suite_name"`
	Meta       gxMeta          `json:"meta"`
	Statistics *gxStats        `json:"statistics"`
	Results    []gxExpectation `json:"results"`

	RunResults map[string]struct {
		gxResult
		ValidationResult *gxResult `json:"validation_result"`
	} `json:"run_results"`
}

type gxMeta struct {
	SuiteName string `json:"expectation_suite_name"`
}

type gxStats struct {
	Evaluated    *int     `json:"evaluated_expectations"`
	Successful   *int     `json:"successful_expectations"`
	Unsuccessful *int     `json:"unsuccessful_expectations"`
	Percent      *float64 `json:"success_percent"`
}

type gxExpectation struct {
	Success   *bool `json:"success"`
	Exception any   `json:"exception_info"`
}

// GreatExpectations reads a validation result, or the result of a checkpoint.
func GreatExpectations(f File) (*Result, error) {
	var top gxResult
	if err := decode(f, &top); err != nil {
		return nil, err
	}
	out := &Result{}
	if top.RunResults == nil {
		if err := out.suite(f, "", top); err != nil {
			return nil, err
		}
		return out, nil
	}
	if len(top.RunResults) == 0 {
		return nil, fmt.Errorf("%s: field run_results is empty: the checkpoint validated nothing", f.Name)
	}
	for _, id := range slices.Sorted(maps.Keys(top.RunResults)) {
		one := top.RunResults[id]
		result := one.gxResult
		at := fmt.Sprintf("run_results[%q].", id)
		if one.ValidationResult != nil {
			result, at = *one.ValidationResult, at+"validation_result."
		}
		if err := out.suite(f, at, result); err != nil {
			return nil, err
		}
	}
	out.merge()
	return out, nil
}

// suite gives the reading of one suite.
func (r *Result) suite(f File, at string, v gxResult) error {
	name := cmp.Or(v.SuiteName, v.Meta.SuiteName)
	switch {
	case name == "":
		return missing(f, at+"suite_name (or meta.expectation_suite_name)")
	case v.Success == nil:
		return missing(f, at+"success")
	}
	failed, unknown := v.count()
	fields := map[string]any{"status": "pass", "evaluated": nil, "successful": nil, "unsuccessful": nil, "successPercent": nil, "exceptions": unknown}
	switch {
	case failed > 0 || !*v.Success && unknown == 0:
		fields["status"] = "fail"
		r.Failed = append(r.Failed, "suite "+name)
	case unknown > 0:
		fields["status"] = nil
		noun := "expectation"
		if unknown > 1 {
			noun = "expectations"
		}
		r.Unknown = append(r.Unknown, fmt.Sprintf("suite %s: %d %s raised an exception", name, unknown, noun))
	}
	if s := v.Statistics; s != nil {
		set(fields, "evaluated", s.Evaluated)
		set(fields, "successful", s.Successful)
		set(fields, "unsuccessful", s.Unsuccessful)
		set(fields, "successPercent", s.Percent)
		if s.Evaluated != nil && *s.Evaluated == 0 {
			fields["status"] = nil
			r.Unknown = append(r.Unknown, fmt.Sprintf("suite %s: no expectation was evaluated", name))
		}
	}
	r.add("gx/"+keyName(name), fields)
	return nil
}

// count counts the expectations that were not met, and those that raised an exception.
func (v gxResult) count() (failed, unknown int) {
	for _, e := range v.Results {
		switch {
		case raised(e.Exception):
			unknown++
		case e.Success != nil && !*e.Success:
			failed++
		}
	}
	return failed, unknown
}

// raised looks for raised_exception, which newer versions keep by metric.
func raised(info any) bool {
	object, _ := info.(map[string]any)
	if is, ok := object["raised_exception"].(bool); ok {
		return is
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(object)), func(v any) bool {
		inner, ok := v.(map[string]any)
		return ok && raised(inner)
	})
}

// merge keeps, of several readings with one key, the worst: a suite passes if all its batches do.
func (r *Result) merge() {
	worst := map[string]Reading{}
	for _, one := range r.Readings {
		if old, ok := worst[one.Key]; !ok || badness(one) > badness(old) {
			worst[one.Key] = one
		}
	}
	r.Readings = slices.Collect(maps.Values(worst))
	r.sort()
}

func badness(r Reading) int {
	switch r.Fields["status"] {
	case "pass":
		return 0
	case "warn":
		return 1
	case nil:
		return 2
	}
	return 3
}
