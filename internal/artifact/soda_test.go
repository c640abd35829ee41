package artifact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/artifact"
)

// A scan of two tables, with checks that pass, warn and fail, two of one name, and one named
// "scan".
func TestScanOfSoda(t *testing.T) {
	r, err := soda(recorded(t, "soda/checks.json"))
	want := map[string]string{
		"soda/duplicate_count_id_0": `"fail"`, "soda/ids_present": `"fail"`, "soda/row_count_0": `"pass"`, "soda/row_count_2": `"fail"`, "soda/scan-59ad1b2f": `"warn"`,
		"soda/orders/row_count_0-387f34e4": `"pass"`, "soda/orders/ids_present-0df3e1c6": `"pass"`, "soda/orders/duplicate_count_id_0-f1f937c6": `"fail"`, "soda/orders/scan-df514fcf": `"warn"`,
		"soda/customers/row_count_0-aecc888f": `"pass"`, "soda/customers/row_count_2-39928617": `"fail"`, "soda/customers/ids_present-3d7b6162": `"fail"`,
		"soda/scan": `"fail"`,
	}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
	scan := map[string]any{
		"status": "fail", "pass": 3, "warn": 1, "fail": 3, "hasErrors": false, "generatedAt": "2026-03-03T06:00:00+00:00", "scan": "nightly", "dataSource": "shop",
	}
	if diff := cmp.Diff(scan, reading(t, r, "soda/scan")); diff != "" {
		t.Error(diff)
	}
	check := map[string]any{"status": "fail", "check": "ids present", "table": "customers", "value": 1.0, "scan": "nightly", "dataSource": "shop"}
	if diff := cmp.Diff(check, reading(t, r, "soda/ids_present")); diff != "" {
		t.Error(diff)
	}
	if r.LeavesOut() || len(r.Failed) != 3 || r.Unknown != nil {
		t.Errorf("leaves out %v, failed %q, unknown %q", r.LeavesOut(), r.Failed, r.Unknown)
	}
	if r, err := soda(recorded(t, "soda/passing.json")); err != nil || !r.Passed() || reading(t, r, "soda/scan")["status"] != "pass" {
		t.Errorf("%+v %v", r, err)
	}
}

// A check has the same keys in every file, whichever checks are beside it.
func TestKeysOfACheckDependOnItAlone(t *testing.T) {
	few, err := soda(recorded(t, "soda/passing.json"))
	all, err2 := soda(recorded(t, "soda/checks.json"))
	got := statuses(t, all, err2)
	for key := range statuses(t, few, err) {
		if got[key] == "" {
			t.Errorf("the larger scan has no reading %s", key)
		}
	}
	r, err := soda(artifact.File{Name: "scan.json", Data: []byte(`{"checks":[
		{"name":"rows > 0","table":"t","outcome":"fail"},{"name":"rows < 0","table":"t","outcome":"pass"},
		{"name":"same","table":"t","definition":"d","outcome":"pass"},{"name":"same","table":"t","definition":"d","outcome":"fail"},
		{"name":"same","table":"t","definition":"d","outcome":"warn"}]}`)})
	want := map[string]string{
		"soda/rows_0": `"fail"`, "soda/t/rows_0-5aa34527": `"fail"`, "soda/t/rows_0-44d64df0": `"pass"`,
		"soda/same": `"fail"`, "soda/t/same-18ac3e73": `"fail"`, "soda/scan": `"fail"`,
	}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
}

// known returns readings as a server returns them.
func known(t *testing.T, r *artifact.Result, err error) []artifact.Reading {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Readings)
	if err != nil {
		t.Fatal(err)
	}
	var all []artifact.Reading
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Soda leaves checks that it could not evaluate out of its file. Their old statuses do not stand.
func TestLeftOutChecksBecomeUnknown(t *testing.T) {
	before := known(t, must(soda(recorded(t, "soda/checks.json"))), nil)
	r, err := soda(recorded(t, "soda/invalid.json"))
	if err != nil || !r.LeavesOut() {
		t.Fatal(r, err)
	}
	r.AddLeftOut(before)
	want := map[string]string{
		"soda/duplicate_count_id_0": `null`, "soda/ids_present": `null`, "soda/row_count_0": `"pass"`, "soda/row_count_2": `"fail"`, "soda/scan-59ad1b2f": `"warn"`,
		"soda/orders/row_count_0-387f34e4": `"pass"`, "soda/orders/ids_present-0df3e1c6": `null`, "soda/orders/duplicate_count_id_0-f1f937c6": `null`, "soda/orders/scan-df514fcf": `"warn"`,
		"soda/customers/row_count_0-aecc888f": `"pass"`, "soda/customers/row_count_2-39928617": `"fail"`, "soda/customers/ids_present-3d7b6162": `null`,
		"soda/scan": `"fail"`,
	}
	if diff := cmp.Diff(want, statuses(t, r, nil)); diff != "" {
		t.Error(diff)
	}
	gone := reading(t, r, "soda/customers/ids_present-3d7b6162")
	if text, _ := gone["error"].(string); !strings.Contains(text, `left the check out; its first error: Invalid check "missing_count(id) = = 0"`) || gone["check"] != "ids present" || gone["table"] != "customers" {
		t.Errorf("got %v", gone)
	}
	// They stay unknown after the next scan with errors.
	again, err := soda(recorded(t, "soda/broken.json"))
	if err != nil {
		t.Fatal(err)
	}
	again.AddLeftOut(known(t, r, nil))
	for key, status := range statuses(t, again, nil) {
		if status != `null` {
			t.Errorf("%s is %s", key, status)
		}
	}
	if len(again.Readings) != len(want) || again.Passed() {
		t.Errorf("%d readings, passed %v", len(again.Readings), again.Passed())
	}
}

// Of two checks with one name, the file mentions the one that passed.
func TestNameOfALeftOutCheckIsNoPass(t *testing.T) {
	const head = `{"definitionName":"n","defaultDataSource":"d","hasErrors":`
	const here, there = `{"name":"same","table":"a","outcome":"pass"}`, `{"name":"same","table":"b","outcome":"pass"}`
	before := known(t, must(soda(artifact.File{Data: []byte(head + `false,"checks":[` + here + `,` + there + `]}`)})), nil)
	r := must(soda(artifact.File{Data: []byte(head + `true,"checks":[` + here + `]}`)}))
	r.AddLeftOut(before)
	got := statuses(t, r, nil)
	if got["soda/same"] != `null` || got["soda/scan"] != `null` || len(got) != 4 {
		t.Errorf("got %v", got)
	}
}

// What another scan, another tool or a person wrote is not of the scan.
func TestOtherReadingsKeepTheirStatus(t *testing.T) {
	mark := map[string]any{"status": "pass", "check": "rows", "table": "t", "scan": "nightly", "dataSource": "shop"}
	with := func(name string, value any) map[string]any {
		fields := map[string]any{name: value}
		for k, v := range mark {
			if k != name {
				fields[k] = v
			}
		}
		return fields
	}
	r := must(soda(recorded(t, "soda/broken.json")))
	r.AddLeftOut([]artifact.Reading{
		{Key: "soda/t/rows-1", Fields: with("scan", "hourly")},
		{Key: "soda/t/rows-2", Fields: with("dataSource", "lake")},
		{Key: "soda/rows", Fields: map[string]any{"status": "pass"}},
		{Key: "gx/rows", Fields: mark},
		{Key: "landed", Fields: mark},
	})
	if got := statuses(t, r, nil); len(got) != 1 || got["soda/scan"] != `null` {
		t.Errorf("got %v", got)
	}
}

// A file without errors leaves nothing out: a check that is gone from the scan is not touched.
func TestScanWithoutErrorsLeavesNothingOut(t *testing.T) {
	before := known(t, must(soda(recorded(t, "soda/checks.json"))), nil)
	r := must(soda(recorded(t, "soda/passing.json")))
	r.AddLeftOut(before)
	if len(r.Readings) != 4 {
		t.Errorf("got %v", statuses(t, r, nil))
	}
}

// A check without an outcome was not evaluated.
func TestCheckWithoutAnOutcomeIsUnknown(t *testing.T) {
	r, err := soda(artifact.File{Data: []byte(`{"checks":[{"name":"fresh","table":"orders","outcome":null},{"name":"rows","table":"orders","outcome":"pass"}]}`)})
	got := statuses(t, r, err)
	if got["soda/fresh"] != `null` || got["soda/scan"] != `null` || reading(t, r, "soda/fresh")["error"] == nil || r.Passed() {
		t.Errorf("got %v", got)
	}
	r, err = soda(artifact.File{Data: []byte(`{"checks":[]}`)})
	if got := statuses(t, r, err); got["soda/scan"] != `null` || r.Passed() {
		t.Errorf("got %v", got)
	}
}

func must(r *artifact.Result, err error) *artifact.Result {
	if err != nil {
		panic(err)
	}
	return r
}
