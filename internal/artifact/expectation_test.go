package artifact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/artifact"
)

// A checkpoint of two suites, each on two batches: the first of one fails, the first of the other
// raises an exception, and the last batches pass.
func TestSuiteIsTheWorstOfItsBatches(t *testing.T) {
	const eu, us, returns = "/shop-orders_eu-year_2026-month_03-day_02", "/shop-orders_us-year_2026-month_03-day_02", "/shop-returns-year_2026-month_03-day_02"
	r, err := gx(recorded(t, "gx/checkpoint.json"))
	want := map[string]string{
		"gx/orders_suite": `"fail"`, "gx/orders_suite" + eu: `"fail"`, "gx/orders_suite" + us: `"pass"`,
		"gx/amounts": `null`, "gx/amounts" + returns: `null`, "gx/amounts" + us: `"pass"`,
	}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
	suite := map[string]any{
		"status": nil, "error": `Error: The column "amount" in BatchData does not exist.`, "batches": 2, "evaluated": 4, "successful": 3, "unsuccessful": 1,
		"successPercent": 75.0, "exceptions": 1, "generatedAt": "2026-03-03T06:00:00Z",
	}
	if diff := cmp.Diff(suite, reading(t, r, "gx/amounts")); diff != "" {
		t.Error(diff)
	}
	if len(r.Failed) != 1 || len(r.Unknown) != 1 {
		t.Errorf("failed %q, unknown %q", r.Failed, r.Unknown)
	}
	described, err := artifact.GreatExpectations(recorded(t, "gx/checkpoint-describe.json"), "all", artifact.Limits{})
	want = map[string]string{"gx/all": `"fail"`, "gx/all" + eu: `"fail"`, "gx/all" + us: `"pass"`, "gx/all" + returns: `null`}
	if diff := cmp.Diff(want, statuses(t, described, err)); diff != "" {
		t.Error(diff)
	}
}

// Both forms of one validation give the same readings, but for what describe() does not contain.
func TestBothFormsOfAValidation(t *testing.T) {
	for name, suite := range map[string]string{"validation": "orders suite", "raised": "amounts"} {
		whole := must(gx(recorded(t, "gx/"+name+".json")))
		described := must(artifact.GreatExpectations(recorded(t, "gx/"+name+"-describe.json"), suite, artifact.Limits{}))
		if len(whole.Readings) != 2 || len(described.Readings) != 2 {
			t.Fatalf("%s: %v, %v", name, whole.Readings, described.Readings)
		}
		for i, one := range whole.Readings {
			other := described.Readings[i]
			if (one.Fields["error"] == nil) != (other.Fields["error"] == nil) {
				t.Errorf("%s: %v, %v", name, one.Fields, other.Fields)
			}
			for _, r := range []artifact.Reading{one, other} {
				delete(r.Fields, "error")
				delete(r.Fields, "generatedAt")
			}
			if diff := cmp.Diff(one, other); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestSuiteIsNamedOnce(t *testing.T) {
	_, err := gx(recorded(t, "gx/raised-describe.json"))
	if err == nil || !strings.Contains(err.Error(), "gx/raised-describe.json: the form of describe() does not name the suite; name it with --suite") {
		t.Errorf("got %v", err)
	}
	_, err = artifact.GreatExpectations(recorded(t, "gx/raised.json"), "orders", artifact.Limits{})
	if err == nil || !strings.Contains(err.Error(), `the file is of the suite "amounts"; leave out --suite`) {
		t.Errorf("got %v", err)
	}
}

// Versions before 1.x, and results without batches.
func TestOlderValidationResults(t *testing.T) {
	const good = `{"success":true,"suite_name":"orders/suite","statistics":{"evaluated_expectations":2,"successful_expectations":2,"unsuccessful_expectations":0,"success_percent":100.0},"results":[]}`
	const empty = `{"success":true,"suite_name":"orders","statistics":{"evaluated_expectations":0,"successful_expectations":0,"unsuccessful_expectations":0,"success_percent":null},"results":[]}`
	const raised = `{"success":false,"meta":{"expectation_suite_name":"orders"},"results":[{"success":false,"exception_info":{"metric":{"raised_exception":true}}}]}`
	const both = `{"success":false,"meta":{"expectation_suite_name":"orders"},"results":[{"success":false,"exception_info":{"raised_exception":true}},{"success":false,"exception_info":{"raised_exception":false}}]}`
	bad := strings.Replace(good, `"success":true`, `"success":false`, 1)
	for text, want := range map[string]string{
		good:   `gx/orders_suite "pass"`,
		empty:  `gx/orders null`,
		raised: `gx/orders null`,
		both:   `gx/orders "fail"`,
		`{"run_results":{"b1":{"validation_result":` + bad + `},"b2":` + good + `}}`:             `gx/orders_suite "fail"`,
		`{"run_results":{"s/n/t/b1":{"validation_result":` + bad + `},"s/n/t/b2":` + good + `}}`: `gx/orders_suite "fail"|gx/orders_suite/b1 "fail"|gx/orders_suite/b2 "pass"`,
	} {
		r, err := gx(artifact.File{Name: "gx.json", Data: []byte(text)})
		got := statuses(t, r, err)
		var all []string
		for _, one := range r.Readings {
			all = append(all, one.Key+" "+got[one.Key])
		}
		if strings.Join(all, "|") != want || r.Passed() != (want == `gx/orders_suite "pass"`) {
			t.Errorf("%s: got %s, want %s; passed %v", text, all, want, r.Passed())
		}
	}
}
