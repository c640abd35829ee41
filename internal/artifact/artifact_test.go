package artifact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/artifact"
)

func runResults(version string, results ...string) artifact.File {
	return artifact.File{Name: "target/run_results.json", Data: fmt.Appendf(nil,
		`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/run-results/%s.json","generated_at":"2026-03-03T06:00:00Z","invocation_id":"i1"},"results":[%s],"elapsed_time":1.5}`,
		version, strings.Join(results, ","))}
}

func node(id, status, more string) string {
	return fmt.Sprintf(`{"unique_id":%q,"status":%q,"execution_time":1.5,"thread_id":"t","timing":[],"message":null,"adapter_response":{}%s}`, id, status, more)
}

// lines shows what files give, a line each.
func lines(t *testing.T, r *artifact.Result, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range r.Readings {
		data, _ := json.Marshal(one.Fields)
		all = append(all, one.Key+" "+string(data))
	}
	for _, what := range r.Failed {
		all = append(all, "failed "+what)
	}
	for _, what := range r.Unknown {
		all = append(all, "unknown "+what)
	}
	return all
}

// Each version that users have is read; a node that was skipped after an error is no pass, and
// status words have any case.
func TestDbtRun(t *testing.T) {
	for _, version := range []string{"v4", "v5", "v6"} {
		r, err := artifact.Dbt([]artifact.File{runResults(version,
			node("model.shop.orders", "success", `,"failures":null`), node("test.shop.not_null_orders_id.cf6c17daed", "Pass", `,"failures":0`),
			node("test.shop.unique_orders_id.fed79b3a6e", "fail", `,"failures":3`), node("model.shop.broken", "error", ""), node("model.shop.after", "skipped", ""),
			node("test.shop.w.1", "WARN", `,"failures":1`))})
		want := []string{
			`dbt/node/after {"executionTime":1.5,"status":"skipped"}`,
			`dbt/node/broken {"executionTime":1.5,"status":"error"}`,
			`dbt/node/not_null_orders_id {"executionTime":1.5,"failures":0,"status":"pass"}`,
			`dbt/node/orders {"executionTime":1.5,"status":"success"}`,
			`dbt/node/unique_orders_id {"executionTime":1.5,"failures":3,"status":"fail"}`,
			`dbt/node/w {"executionTime":1.5,"failures":1,"status":"warn"}`,
			`dbt/run {"error":1,"fail":1,"generatedAt":"2026-03-03T06:00:00Z","invocationId":"i1","pass":2,"skipped":1,"status":"error","warn":1}`,
			`failed test.shop.unique_orders_id.fed79b3a6e: fail`, `failed model.shop.broken: error`, `failed model.shop.after: skipped`,
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
		r, err := artifact.Dbt([]artifact.File{runResults("v6", nodes...)})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Readings[len(r.Readings)-1].Fields["status"]; got != want || r.Passed() != (want == "pass" || want == "warn") {
			t.Errorf("%v: %v, passed %v", statuses, got, r.Passed())
		}
	}
}

// Two nodes of one name keep apart; a manifest gives the names.
func TestDbtNames(t *testing.T) {
	manifest := artifact.File{Name: "manifest.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/manifest/v12.json"},"nodes":{"model.a.x.v2":{"name":"x","version":2}}}`)}
	r, err := artifact.Dbt([]artifact.File{manifest, runResults("v6", node("model.a.same", "success", ""), node("snapshot.b.same", "success", ""), node("model.a.x.v2", "success", ""))})
	got := lines(t, r, err)
	want := []string{"dbt/node/model.a.same", "dbt/node/snapshot.b.same", "dbt/node/x.v2", "dbt/run"}
	for i, key := range want {
		if !strings.HasPrefix(got[i], key+" ") {
			t.Errorf("got %s, want %s", got[i], key)
		}
	}
}

func TestDbtFreshness(t *testing.T) {
	sources := artifact.File{Name: "sources.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/sources/v3.json"},"results":[
		{"unique_id":"source.shop.raw.orders","max_loaded_at":"2026-03-03T05:00:00+00:00","snapshotted_at":"x","max_loaded_at_time_ago_in_s":3600.5,"status":"warn","criteria":{}},
		{"unique_id":"source.shop.raw.lost","error":"no such table","status":"runtime error"},
		{"unique_id":"source.shop.raw.old","max_loaded_at":"2026-03-01T05:00:00+00:00","max_loaded_at_time_ago_in_s":176400.0,"status":"error"}]}`)}
	fresh := artifact.File{Name: "freshness.json", Data: []byte(`{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/freshness/v0.json"},"results":[
		{"unique_id":"model.shop.gold","resource_type":"model","max_loaded_at":"2026-03-03T05:00:00Z","max_loaded_at_time_ago_in_s":1.0,"status":"Pass"}]}`)}
	r, err := artifact.Dbt([]artifact.File{sources, fresh})
	want := []string{
		`dbt/freshness/gold {"ageSeconds":1,"maxLoadedAt":"2026-03-03T05:00:00Z","status":"pass"}`,
		`dbt/freshness/raw.lost {"ageSeconds":null,"maxLoadedAt":null,"status":null}`,
		`dbt/freshness/raw.old {"ageSeconds":176400,"maxLoadedAt":"2026-03-01T05:00:00+00:00","status":"error"}`,
		`dbt/freshness/raw.orders {"ageSeconds":3600.5,"maxLoadedAt":"2026-03-03T05:00:00+00:00","status":"warn"}`,
		`failed source.shop.raw.old: stale`, `unknown source.shop.raw.lost: runtime error`,
	}
	if diff := cmp.Diff(want, lines(t, r, err)); diff != "" {
		t.Error(diff)
	}
}

func TestGreatExpectations(t *testing.T) {
	const good = `{"success":true,"suite_name":"orders suite","statistics":{"evaluated_expectations":2,"successful_expectations":2,"unsuccessful_expectations":0,"success_percent":100.0},"results":[]}`
	const raised = `{"success":false,"meta":{"expectation_suite_name":"orders"},"results":[{"success":false,"exception_info":{"metric":{"raised_exception":true}}}]}`
	const both = `{"success":false,"meta":{"expectation_suite_name":"orders"},"results":[{"success":false,"exception_info":{"raised_exception":true}},{"success":false,"exception_info":{"raised_exception":false}}]}`
	for text, want := range map[string]string{
		good:   `gx/orders_suite {"evaluated":2,"exceptions":0,"status":"pass","successPercent":100,"successful":2,"unsuccessful":0}`,
		raised: `gx/orders {"evaluated":null,"exceptions":1,"status":null,"successPercent":null,"successful":null,"unsuccessful":null}|unknown suite orders: 1 expectation raised an exception`,
		both:   `gx/orders {"evaluated":null,"exceptions":1,"status":"fail","successPercent":null,"successful":null,"unsuccessful":null}|failed suite orders`,
		`{"run_results":{"b1":{"validation_result":` + good + `},"b2":` + strings.Replace(good, `"success":true`, `"success":false`, 1) + `}}`: `gx/orders_suite {"evaluated":2,"exceptions":0,"status":"fail","successPercent":100,"successful":2,"unsuccessful":0}|failed suite orders suite`,
	} {
		r, err := artifact.GreatExpectations(artifact.File{Name: "gx.json", Data: []byte(text)})
		if got := strings.Join(lines(t, r, err), "|"); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// What Soda could not evaluate is unknown, not failed.
func TestSoda(t *testing.T) {
	r, err := artifact.Soda(artifact.File{Name: "scan.json", Data: []byte(`{"hasErrors":true,"checks":[
		{"name":"row_count > 0","table":"orders","outcome":"pass","diagnostics":{"value":12}},
		{"name":"No nulls","table":"orders","column":"id","outcome":"fail","diagnostics":{"value":3}},
		{"name":"freshness(ts) < 1d","table":"orders","outcome":null},
		{"name":"dup","table":"a","outcome":"Warn"},{"name":"dup","table":"b","outcome":"pass"}]}`)})
	want := []string{
		`soda/No_nulls {"status":"fail","table":"orders","value":3}`,
		`soda/a..dup {"status":"warn","table":"a","value":null}`,
		`soda/b..dup {"status":"pass","table":"b","value":null}`,
		`soda/freshness_ts_1d {"status":null,"table":"orders","value":null}`,
		`soda/row_count_0 {"status":"pass","table":"orders","value":12}`,
		`failed check "No nulls" of orders`, `unknown check "freshness(ts) < 1d" of orders was not evaluated`,
	}
	if diff := cmp.Diff(want, lines(t, r, err)); diff != "" {
		t.Error(diff)
	}
}

// Names that differ only in characters that a key cannot have keep their own keys: no check hides
// another one.
func TestNamesThatBecomeTheSameKeyStayApart(t *testing.T) {
	r, err := artifact.Soda(artifact.File{Name: "scan.json", Data: []byte(`{"checks":[
		{"name":"row_count > 0","table":"orders","outcome":"fail"},{"name":"row_count < 0","table":"orders","outcome":"pass"},
		{"name":"same","table":"t","definition":"d","outcome":"pass"},{"name":"same","table":"t","definition":"d","outcome":"fail"},
		{"name":"same","table":"t","definition":"d","outcome":"warn"}]}`)})
	want := []string{
		`soda/orders..row_count_0-4024fe84 {"status":"fail","table":"orders","value":null}`,
		`soda/orders..row_count_0-d984290d {"status":"pass","table":"orders","value":null}`,
		`soda/t..same-b60159f3 {"status":"fail","table":"t","value":null}`,
		`failed check "row_count > 0" of orders`, `failed check "same" of t`,
	}
	if diff := cmp.Diff(want, lines(t, r, err)); diff != "" {
		t.Error(diff)
	}
	r, err = artifact.Dbt([]artifact.File{runResults("v6", node("model.shop.maß", "error", ""), node("model.shop.maé", "success", ""))})
	if got := lines(t, r, err); len(got) != 4 || !strings.HasPrefix(got[0], "dbt/node/model.shop.ma-") || !strings.HasPrefix(got[1], "dbt/node/model.shop.ma-") || got[0] == got[1] {
		t.Errorf("got %q", got)
	}
}

func TestMissingTimeOfARunIsNull(t *testing.T) {
	f := runResults("v6", node("model.shop.a", "success", ""))
	f.Data = []byte(strings.Replace(string(f.Data), `"generated_at":"2026-03-03T06:00:00Z",`, "", 1))
	r, err := artifact.Dbt([]artifact.File{f})
	if got := lines(t, r, err); !strings.Contains(got[1], `"generatedAt":null`) {
		t.Errorf("got %q", got)
	}
}

// The results of two runs would overwrite each other.
func TestTwoRunsAreRejected(t *testing.T) {
	one, two := runResults("v6", node("model.shop.a", "error", "")), runResults("v6", node("model.shop.a", "success", ""))
	two.Name = "old/run_results.json"
	if _, err := artifact.Dbt([]artifact.File{one, two}); err == nil || !strings.HasPrefix(err.Error(), "target/run_results.json and old/run_results.json are both run-results") {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableFilesNameFileAndField(t *testing.T) {
	dbt := func(f artifact.File) error { _, err := artifact.Dbt([]artifact.File{f}); return err }
	gx := func(f artifact.File) error { _, err := artifact.GreatExpectations(f); return err }
	soda := func(f artifact.File) error { _, err := artifact.Soda(f); return err }
	for _, c := range []struct {
		read       func(artifact.File) error
		text, want string
	}{
		{dbt, `{`, "f.json: it is not JSON"},
		{dbt, `{}`, "f.json: field metadata.dbt_schema_version is missing"},
		{dbt, string(runResults("v3").Data), "f.json: field metadata.dbt_schema_version: run-results v3 is not supported; supported are v4, v5, v6"},
		{dbt, string(runResults("v6", `{"status":"pass"}`).Data), "f.json: field results[0].unique_id is missing"},
		{dbt, string(runResults("v6", `{"unique_id":"a","status":7}`).Data), "f.json: field results[0].status: expected string, found number"},
		{dbt, string(runResults("v6", `{"unique_id":"a","status":"pass","timing":[{"name":"x"},[]],"message":"{"}`, `{"execution_time":"1s"}`).Data), "f.json: field results[1].execution_time: expected number, found string"},
		{dbt, string(runResults("v6", `{"unique_id":"a","status":[[1],2]}`).Data), "f.json: field results[0].status: expected string, found array"},
		{dbt, string(runResults("v6", `[]`).Data), "f.json: field results[0]: expected object, found array"},
		{dbt, `[1]`, "f.json: expected object, found array"},
		{dbt, strings.Replace(string(runResults("v6").Data), `"results":[]`, `"results":{}`, 1), "f.json: field results: expected array, found object"},
		{dbt, strings.Replace(string(runResults("v6").Data), `"results":[]`, `"r":[]`, 1), "f.json: field results is missing"},
		{dbt, strings.Replace(string(runResults("v6").Data), "run-results/v6", "catalog/v1", 1), "is not supported"},
		{gx, `{"suite_name":"a"}`, "f.json: field success is missing"},
		{gx, `{"success":true}`, "f.json: field suite_name"},
		{gx, `{"run_results":{"a::b":{"success":1}}}`, `f.json: field run_results["a::b"].success: expected bool, found number`},
		{soda, `{}`, "f.json: field checks is missing"},
		{soda, `{"checks":[{"name":"a","outcome":"maybe"}]}`, `f.json: field checks[0].outcome: unknown outcome "maybe"`},
	} {
		if err := c.read(artifact.File{Name: "f.json", Data: []byte(c.text)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}
