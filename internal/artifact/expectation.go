package artifact

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// gxResult is a validation result of Great Expectations, 0.13 to 1.x, or the result of a
// checkpoint, which has several. The forms are those of to_json_dict() and, in 1.x, describe().
type gxResult struct {
	Success      *bool           `json:"success"`
	SuiteName    string          `json:"suite_name"`
	Meta         gxMeta          `json:"meta"`
	Statistics   *gxStats        `json:"statistics"`
	Results      []gxExpectation `json:"results"`
	Expectations []gxExpectation `json:"expectations"` // instead of Results in describe()

	RunResults map[string]struct {
		gxResult
		ValidationResult *gxResult `json:"validation_result"`
	} `json:"run_results"`
	Validations []gxResult `json:"validation_results"` // instead of RunResults in describe()
}

type gxMeta struct {
	SuiteName string `json:"expectation_suite_name"`
	RunID     struct {
		RunTime string `json:"run_time"`
	} `json:"run_id"`
	Markers struct {
		LoadTime string `json:"ge_load_time"`
	} `json:"batch_markers"`
}

// generatedAt returns when a validation ran or, without a checkpoint, when it loaded its data; zero
// if the file does not say.
func (m gxMeta) generatedAt() time.Time { return instant(cmp.Or(m.RunID.RunTime, m.Markers.LoadTime)) }

type gxStats struct {
	Evaluated    *int     `json:"evaluated_expectations"`
	Successful   *int     `json:"successful_expectations"`
	Unsuccessful *int     `json:"unsuccessful_expectations"`
	Percent      *float64 `json:"success_percent"`
}

type gxExpectation struct {
	Success   *bool          `json:"success"`
	Exception any            `json:"exception_info"`
	Result    map[string]any `json:"result"`
	Kwargs    gxKwargs       `json:"kwargs"` // in describe()
	Config    struct {
		Kwargs gxKwargs `json:"kwargs"`
	} `json:"expectation_config"`
}

type gxKwargs struct {
	BatchID string `json:"batch_id"`
}

// validation is one validation of a file: of one suite, on one batch.
type validation struct {
	gxResult
	at           string // path in the file
	suite, batch string
	described    bool // in the form of describe(), which does not mention exceptions
}

// GreatExpectations reads a validation result, or the result of a checkpoint. suite is for the form
// of describe(), which names no suite. A file older than limits.Since only gets a warning.
func GreatExpectations(f File, suite string, limits Limits) (*Result, error) {
	var top gxResult
	if err := decode(f, &top); err != nil {
		return nil, err
	}
	all, err := top.validations(f)
	if err != nil {
		return nil, err
	}
	out := &Result{}
	bySuite := map[string][]map[string]any{}
	for _, v := range all {
		if err := v.name(f, suite); err != nil {
			return nil, err
		}
		fields := out.validation(v)
		bySuite[v.suite] = append(bySuite[v.suite], fields)
		old, err := limits.stale(f.Name, v.Meta.generatedAt())
		if err != nil {
			return nil, err
		}
		if old != "" && !slices.Contains(out.Warnings, old) {
			out.Warnings = append(out.Warnings, old)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bySuite)) {
		out.add("gx/"+keyPart(name, maxName), overBatches(bySuite[name]))
	}
	out.keepWorst()
	return out, nil
}

// validations lists the validations of a file.
func (top *gxResult) validations(f File) ([]*validation, error) {
	switch {
	case top.Validations != nil && len(top.Validations) == 0:
		return nil, fmt.Errorf("%s: field validation_results is empty: the checkpoint validated nothing", f.Name)
	case top.RunResults != nil && len(top.RunResults) == 0:
		return nil, fmt.Errorf("%s: field run_results is empty: the checkpoint validated nothing", f.Name)
	}
	var all []*validation
	for i, one := range top.Validations {
		all = append(all, newValidation(one, fmt.Sprintf("validation_results[%d].", i), ""))
	}
	for _, id := range slices.Sorted(maps.Keys(top.RunResults)) {
		one, at := top.RunResults[id], fmt.Sprintf("run_results[%q].", id)
		if one.ValidationResult != nil {
			all = append(all, newValidation(*one.ValidationResult, at+"validation_result.", id))
		} else {
			all = append(all, newValidation(one.gxResult, at, id))
		}
	}
	if all == nil {
		all = append(all, newValidation(*top, "", ""))
	}
	return all, nil
}

// newValidation returns a validation; id is its id in the result of a checkpoint, which ends in the
// batch.
func newValidation(result gxResult, at, id string) *validation {
	v := &validation{gxResult: result, at: at, described: result.Results == nil && result.Expectations != nil}
	if v.described {
		v.Results = v.Expectations
	}
	for _, e := range v.Results {
		if v.batch == "" {
			v.batch = cmp.Or(e.Config.Kwargs.BatchID, e.Kwargs.BatchID)
		}
	}
	if v.batch == "" && strings.Contains(id, "/") {
		v.batch = path.Base(id)
	}
	return v
}

// name finds the name of the suite: in the file or, if the file has none, the one that the user
// gave.
func (v *validation) name(f File, given string) error {
	v.suite = cmp.Or(v.SuiteName, v.Meta.SuiteName)
	switch {
	case v.Success == nil:
		return missing(f, v.at+"success")
	case v.suite == "" && given == "" && v.described:
		return fmt.Errorf("%s: the form of describe() does not name the suite; name it with --suite, or save to_json_dict() instead", f.Name)
	case v.suite == "" && given == "":
		return missing(f, v.at+"suite_name (or meta.expectation_suite_name)")
	case v.suite != "" && given != "" && v.suite != given:
		return fmt.Errorf("%s: --suite %s: the file is of the suite %q; leave out --suite", f.Name, given, v.suite)
	}
	v.suite = cmp.Or(v.suite, given)
	return nil
}

// validation adds the reading of one batch, and returns it.
func (r *Result) validation(v *validation) map[string]any {
	failed, raised, message := v.count()
	fields := map[string]any{
		"status": "pass", "evaluated": nil, "successful": nil, "unsuccessful": nil, "successPercent": nil,
		"exceptions": raised, "generatedAt": nil,
	}
	if at := v.Meta.generatedAt(); !at.IsZero() {
		fields["generatedAt"] = period.Exact(at)
	}
	if s := v.Statistics; s != nil {
		set(fields, "evaluated", s.Evaluated)
		set(fields, "successful", s.Successful)
		set(fields, "unsuccessful", s.Unsuccessful)
		set(fields, "successPercent", s.Percent)
	}
	what := "suite " + v.suite
	if v.batch != "" {
		what += ", batch " + v.batch
	}
	switch {
	case failed > 0 || !*v.Success && raised == 0:
		fields["status"] = "fail"
		r.Failed = append(r.Failed, what)
	case raised > 0:
		fields["status"], fields["error"] = nil, message
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %s", what, message))
	case fields["evaluated"] == 0:
		fields["status"], fields["error"] = nil, "no expectation was evaluated"
		r.Unknown = append(r.Unknown, what+": no expectation was evaluated")
	}
	if v.batch != "" {
		r.add("gx/"+keyPart(v.suite, maxPart)+"/"+keyPart(v.batch, maxPart), fields)
	}
	return fields
}

// overBatches returns the reading of a suite: its worst status, and the sums over its batches.
func overBatches(batches []map[string]any) map[string]any {
	worst := slices.MaxFunc(batches, func(a, b map[string]any) int { return cmp.Compare(badness(a), badness(b)) })
	all := maps.Clone(worst)
	all["batches"] = len(batches)
	for _, name := range []string{"evaluated", "successful", "unsuccessful", "exceptions"} {
		all[name] = sum(batches, name)
	}
	evaluated, known := all["evaluated"].(int)
	if successful, ok := all["successful"].(int); ok && known && evaluated > 0 && len(batches) > 1 {
		all["successPercent"] = 100 * float64(successful) / float64(evaluated)
	}
	return all
}

// sum adds up a field; it is nil if one of the batches lacks it.
func sum(batches []map[string]any, name string) any {
	total := 0
	for _, fields := range batches {
		n, ok := fields[name].(int)
		if !ok {
			return nil
		}
		total += n
	}
	return total
}

// count counts the expectations that were not met, and those that raised an exception. message is
// the first exception.
func (v *validation) count() (failed, raised int, message string) {
	for _, e := range v.Results {
		text, is := exception(e.Exception)
		if v.described && e.Success != nil && !*e.Success && len(e.Result) == 0 {
			text, is = "an expectation has no result: it raised an exception, or the result format leaves results out", true
		}
		switch {
		case is:
			raised++
			message = cmp.Or(message, text)
		case e.Success != nil && !*e.Success:
			failed++
		}
	}
	return failed, raised, message
}

// exception looks for raised_exception, which newer versions keep by metric, and its message.
func exception(info any) (message string, raised bool) {
	object, _ := info.(map[string]any)
	if is, ok := object["raised_exception"].(bool); ok {
		text, _ := object["exception_message"].(string)
		return cmp.Or(shortError(text), "an expectation raised an exception"), is
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, nested := object[name].(map[string]any); !nested {
			continue
		}
		if text, is := exception(object[name]); is {
			return text, true
		}
	}
	return "", false
}
