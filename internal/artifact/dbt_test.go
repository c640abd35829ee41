package artifact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/artifact"
)

func runResults(version string, results ...string) artifact.File {
	return artifact.File{Name: "target/run_results.json", Data: fmt.Appendf(nil,
		`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/run-results/%s.json","generated_at":"2026-03-03T06:00:00Z","invocation_id":"i1"},"results":[%s],"elapsed_time":1.5,"args":{"which":"build"}}`,
		version, strings.Join(results, ","))}
}

func node(id, status, more string) string {
	return fmt.Sprintf(`{"unique_id":%q,"status":%q,"execution_time":1.5,"thread_id":"t","timing":[],"message":null,"adapter_response":{}%s}`, id, status, more)
}

// A build of dbt in which nodes passed, warned, failed, raised errors and were skipped.
func TestBuildOfDbt(t *testing.T) {
	r, err := dbt(recorded(t, "dbt/build.json"))
	want := map[string]string{
		"dbt/node/accepted_values_orders_status__paid": `"warn"`, "dbt/node/customers": `"success"`, "dbt/node/customers_history": `"success"`,
		"dbt/node/margin": `"skipped"`, "dbt/node/not_null_orders_id": `"pass"`, "dbt/node/orders": `"success"`, "dbt/node/paid_orders_have_ids": `"error"`,
		"dbt/node/payments": `"error"`, "dbt/node/revenue.v2": `"skipped"`, "dbt/node/unique_orders_id": `"fail"`, "dbt/run": `"error"`,
	}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
	run := map[string]any{
		"status": "error", "which": "build", "pass": 4, "warn": 1, "fail": 1, "error": 2, "skipped": 2,
		"generatedAt": "2026-03-03T06:00:00.000000Z", "invocationId": "00000000-0000-4000-8000-000000000001",
	}
	if diff := cmp.Diff(run, reading(t, r, "dbt/run")); diff != "" {
		t.Error(diff)
	}
	if r.Passed() || len(r.Failed) != 5 {
		t.Errorf("failed: %q", r.Failed)
	}
}

// Other commands leave a run_results.json in which every node is a success, although none ran.
func TestOnlyCommandsThatRunNodesCount(t *testing.T) {
	for file, status := range map[string]string{
		"build": "error", "retry": "error", "run": "pass", "test": "error", "seed": "pass", "snapshot": "pass", "run-operation": "pass",
	} {
		r, err := dbt(recorded(t, "dbt/"+file+".json"))
		if err != nil || reading(t, r, "dbt/run")["status"] != status {
			t.Errorf("%s: %+v %v", file, r, err)
		}
	}
	named := func(which string) artifact.File {
		f := runResults("v6", node("model.shop.a", "success", ""))
		f.Data = []byte(strings.Replace(string(f.Data), `"build"`, `"`+which+`"`, 1))
		return f
	}
	for command, f := range map[string]artifact.File{
		"compile": recorded(t, "dbt/compile.json"), "docs generate": recorded(t, "dbt/docs-generate.json"), "clone": recorded(t, "dbt/clone.json"),
		"list": named("list"), "parse": named("parse"), "brew": named("brew"),
	} {
		_, err := dbt(f, recorded(t, "dbt/freshness.json"))
		wantRejected(t, err, true)
		if want := f.Name + " was written by dbt " + command + ","; !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if r, err := dbt(named("retry")); err != nil || reading(t, r, "dbt/run")["which"] != "retry" {
		t.Errorf("retry: %+v %v", r, err)
	}
}

// Each version that users have is read; status words have any case.
func TestVersionsOfRunResults(t *testing.T) {
	for _, version := range []string{"v4", "v5", "v6"} {
		r, err := dbt(runResults(version, node("model.shop.orders", "success", `,"failures":null`),
			node("test.shop.not_null_orders_id.cf6c17daed", "Pass", `,"failures":0`), node("test.shop.w.1", "WARN", `,"failures":1`)))
		want := []string{
			`dbt/node/not_null_orders_id {"executionTime":1.5,"failures":0,"status":"pass"}`,
			`dbt/node/orders {"executionTime":1.5,"status":"success"}`,
			`dbt/node/w {"executionTime":1.5,"failures":1,"status":"warn"}`,
			`dbt/run {"error":0,"fail":0,"generatedAt":"2026-03-03T06:00:00Z","invocationId":"i1","pass":2,"skipped":0,"status":"warn","warn":1,"which":"build"}`,
		}
		if diff := cmp.Diff(want, lines(t, r, err)); diff != "" {
			t.Errorf("%s: %s", version, diff)
		}
	}
}

func TestDbtRunStatus(t *testing.T) {
	for want, statuses := range map[string][]string{
		"pass": {"success", "pass"}, "warn": {"success", "warn"}, "skipped": {"success", "skipped"}, "fail": {"warn", "fail"}, "error": {"fail", "error"}, "empty": nil,
	} {
		var nodes []string
		for i, s := range statuses {
			nodes = append(nodes, node(fmt.Sprintf("model.shop.m%d", i), s, ""))
		}
		r, err := dbt(runResults("v6", nodes...))
		if err != nil {
			t.Fatal(err)
		}
		if got := reading(t, r, "dbt/run")["status"]; got != want || r.Passed() != (want == "pass" || want == "warn") {
			t.Errorf("%v: %v, passed %v", statuses, got, r.Passed())
		}
	}
}

// The key of a node does not depend on the nodes beside it: nodes of one name share a reading, with
// the worst status.
func TestNodesOfOneNameShareTheWorstStatus(t *testing.T) {
	manifest := artifact.File{Name: "manifest.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/manifest/v12.json"},"nodes":{"model.a.x.v2":{"name":"x","version":2}}}`)}
	r, err := dbt(manifest, runResults("v6", node("model.a.same", "success", ""), node("test.a.same", "fail", ""), node("snapshot.b.same", "warn", ""),
		node("model.a.x.v2", "success", ""), node("model.shop.maß", "error", ""), node("model.shop.maé", "success", "")))
	want := map[string]string{"dbt/node/same": `"fail"`, "dbt/node/x.v2": `"success"`, "dbt/node/ma": `"error"`, "dbt/run": `"error"`}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
}

// dbt leaves a table out whose freshness it could not query, such as raw.lost.
func TestDbtFreshness(t *testing.T) {
	r, err := dbt(recorded(t, "dbt/freshness.json"))
	want := map[string]string{"dbt/freshness/raw.late": `"warn"`, "dbt/freshness/raw.orders": `"pass"`, "dbt/freshness/raw.stale": `"error"`}
	if diff := cmp.Diff(want, statuses(t, r, err)); diff != "" {
		t.Error(diff)
	}
	older := artifact.File{Name: "sources.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/sources/v3.json"},"results":[
		{"unique_id":"source.shop.raw.orders","max_loaded_at":"2026-03-03T05:00:00+00:00","max_loaded_at_time_ago_in_s":3600.5,"status":"Warn","criteria":{}},
		{"unique_id":"source.shop.raw.lost","error":"no such table\nat line 1","status":"runtime error"}]}`)}
	models := artifact.File{Name: "freshness.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/freshness/v0.json"},"results":[
		{"unique_id":"model.shop.gold","resource_type":"model","max_loaded_at":"2026-03-03T05:00:00Z","max_loaded_at_time_ago_in_s":1.0,"status":"Pass"}]}`)}
	r, err = dbt(older, models)
	got := []string{
		`dbt/freshness/gold {"ageSeconds":1,"maxLoadedAt":"2026-03-03T05:00:00Z","status":"pass"}`,
		`dbt/freshness/raw.lost {"ageSeconds":null,"error":"no such table","maxLoadedAt":null,"status":null}`,
		`dbt/freshness/raw.orders {"ageSeconds":3600.5,"maxLoadedAt":"2026-03-03T05:00:00+00:00","status":"warn"}`,
		`unknown source.shop.raw.lost: runtime error`,
	}
	if diff := cmp.Diff(got, lines(t, r, err)); diff != "" {
		t.Error(diff)
	}
}

func TestMissingTimeOfARunIsNull(t *testing.T) {
	f := runResults("v6", node("model.shop.a", "success", ""))
	f.Data = []byte(strings.Replace(string(f.Data), `"generated_at":"2026-03-03T06:00:00Z",`, "", 1))
	r, err := dbt(f)
	if got := lines(t, r, err); !strings.Contains(got[1], `"generatedAt":null`) {
		t.Errorf("got %q", got)
	}
}

// The results of two runs would overwrite each other.
func TestTwoRunsAreRejected(t *testing.T) {
	one, two := runResults("v6", node("model.shop.a", "error", "")), runResults("v6", node("model.shop.a", "success", ""))
	two.Name = "old/run_results.json"
	if _, err := dbt(one, two); err == nil || !strings.HasPrefix(err.Error(), "target/run_results.json and old/run_results.json are both run-results") {
		t.Errorf("got %v", err)
	}
}
