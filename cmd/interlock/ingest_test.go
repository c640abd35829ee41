package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// artifactFile returns the path of a file that dbt, Soda or Great Expectations wrote.
func artifactFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../internal/artifact/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// generatedAt copies such a file into a directory, generated in another year.
func generatedAt(t *testing.T, year, name, path string) {
	t.Helper()
	data, err := os.ReadFile(artifactFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "2026-", year+"-")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The errors of ingest name what the user gave: the pipeline, the reading, the directory, the file.
func TestIngestErrorsNameWhatIsWrong(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"patient.yaml": patientFile}})
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = `{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/KIND.json","generated_at":"2999-03-03T06:00:00Z"},"results":[`
	run := strings.Replace(head, "KIND", "run-results/v6", 1)
	good := write("good/run_results.json", run+`{"unique_id":"model.a.b","status":"success"}],"args":{"which":"run"}}`)
	undated := write("undated/run_results.json", strings.Replace(run, `"generated_at"`, `"made_at"`, 1)+`]}`)
	wrong := write("wrong/run_results.json", run+`{"unique_id":"a","status":"success"},{"unique_id":"b","status":"success","execution_time":"1s"}]}`)
	long := write("soda.json", `{"checks":[{"name":"`+strings.Repeat("x", 70_000)+`","outcome":"pass","table":"`+strings.Repeat("y", 70_000)+`"}]}`)
	manifest := write("only/manifest.json", strings.Replace(head, "KIND", "manifest/v12", 1)+`]}`)
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"dbt " + undated + " --pipeline patient", 1, undated + " does not say when it was generated, so it may be old; name the period of its data with --date"},
		{"dbt " + good + " --pipeline nope", 1, "there is no pipeline \"nope\"; `interlock status` lists them"},
		{"dbt " + wrong + " --pipeline patient", 2, wrong + ": field results[1].execution_time: expected number, found string"},
		{"dbt " + empty + " --pipeline patient", 2, empty + " contains none of dbt's files (run_results.json, sources.json, freshness.json, manifest.json); run dbt first, or name its target directory"},
		{"dbt " + manifest + " --pipeline patient", 2, "there is no run_results.json, sources.json or freshness.json among the files: " + manifest},
		{"dbt " + artifactFile(t, "dbt/compile.json") + " --pipeline patient --date 2026-03-03", 1, "compile.json was written by dbt compile, whose results say nothing about the data; only those of build, run,"},
		{"great-expectations " + artifactFile(t, "gx/checkpoint-describe.json") + " --pipeline patient", 2, "checkpoint-describe.json: the form of describe() does not name the suite; name it with --suite"},
		{"soda " + artifactFile(t, "soda/passing.json") + " --pipeline patient --max-age 0s", 2, `--max-age "0s" would reject every file`},
		{"soda " + artifactFile(t, "soda/passing.json") + " --pipeline patient --max-age 1h", 1, "passing.json was generated at 2026-03-03T06:00:00Z, before 2026-03-03T11:00:00Z, the limit of --max-age"},
		{"soda " + long + " --pipeline patient", 2, "reading soda/xxx"},
	} {
		got := s.run(append([]string{"ingest"}, strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || strings.Contains(got.stderr, "item") {
			t.Errorf("%.100s: exit code %d: %.400s\nwant %s", c.args, got.code, got.stderr, c.want)
		}
	}
}

// checkedFile is gated by results of dbt, Soda and Great Expectations; each pipeline has one rule.
func checkedFile(key string) string {
	return `
pipeline: {id: checked, owner: data}
schedule: {period: month}
validation: {rules: [{key: ` + key + `, check: equals, field: status, value: pass}]}
`
}

// Without --date, a file from before the pipeline's current period is old.
func TestYesterdaysFileDoesNotPassToday(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"checked.yaml": checkedFile("dbt/run")}})
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	generatedAt(t, "2001", "dbt/seed.json", path("old/run_results.json"))
	generatedAt(t, "2999", "dbt/freshness.json", path("mixed/sources.json"))
	generatedAt(t, "2001", "dbt/compile.json", path("mixed/run_results.json"))
	generatedAt(t, "2999", "dbt/seed.json", path("new/run_results.json"))
	const dbt, to = "ingest dbt ", " --pipeline checked "
	for _, c := range []struct {
		args   string
		code   int
		stderr []string
		wrote  string
	}{
		{dbt + path("old/run_results.json") + to, 1, []string{"old/run_results.json was generated at 2001-03-03T06:00:00Z, before the pipeline's current period began at ", "T00:00:00Z"}, ""},
		{dbt + path("old") + to, 1, []string{"old/run_results.json was generated at 2001-03-03T06:00:00Z"}, ""},
		{dbt + path("old") + to + "--dry-run", 1, []string{"old/run_results.json was generated at 2001-03-03T06:00:00Z"}, ""},
		{dbt + path("old/run_results.json") + to + "--date 2001-03 --max-age 1h", 1, []string{"2001-03-03T06:00:00Z, before 2026-03-03T11:00:00Z, the limit of --max-age"}, ""},
		{dbt + path("mixed") + to + "--fail", 1, []string{"warning: ", "mixed/run_results.json was generated at 2001-03-03T06:00:00Z"}, "dbt/freshness/raw.late dbt/freshness/raw.orders dbt/freshness/raw.stale"},
		{dbt + path("old") + to + "--date 2001-03", 0, nil, "dbt/node/customers dbt/run"},
		{dbt + path("new") + to + "--fail", 0, nil, "dbt/node/customers dbt/run"},
	} {
		before := s.versions("checked")
		got := s.run(strings.Fields(c.args)...)
		if got.code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, got.code, c.code, got.stderr)
		}
		for _, want := range c.stderr {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%s: stderr %q, want %s", c.args, got.stderr, want)
			}
		}
		var wrote []string
		for key, version := range s.versions("checked") {
			if version != before[key] {
				wrote = append(wrote, key)
			}
		}
		slices.Sort(wrote)
		if strings.Join(wrote, " ") != c.wrote {
			t.Errorf("%s wrote %q, want %q", c.args, wrote, c.wrote)
		}
	}
}

// versions returns the latest version of each sensor of a pipeline.
func (s *service) versions(pipeline string) map[string]int64 {
	s.t.Helper()
	readings, err := s.client().Sensors(s.t.Context(), pipeline)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]int64{}
	for _, r := range readings {
		all[r.Key] = r.Version
	}
	return all
}

// A check that could not be evaluated closes the gate that its last pass had opened.
func TestUnevaluatedCheckIsUnknown(t *testing.T) {
	for _, c := range []struct{ key, before, after string }{
		{"soda/row_count_0", "soda soda/passing.json", "soda soda/broken.json"},
		{"soda/orders/row_count_0-387f34e4", "soda soda/passing.json", "soda soda/broken.json"},
		{"soda/scan", "soda soda/passing.json", "soda soda/broken.json"},
		{"gx/amounts", "great-expectations gx/validation-describe.json --suite amounts", "great-expectations gx/raised.json"},
		{"gx/amounts", "great-expectations gx/validation-describe.json --suite amounts", "great-expectations gx/checkpoint.json"},
	} {
		s := serve(t, site{pipelines: map[string]string{"checked.yaml": checkedFile(c.key)}})
		ingest := func(what string, code int, flags ...string) result {
			args := append([]string{"ingest"}, strings.Fields(what)...)
			args[2] = artifactFile(t, args[2])
			return s.must(code, append(append(args, "--pipeline", "checked", "--date", "2026-03"), flags...)...)
		}
		ingest(c.before, 0, "--fail")
		s.must(0, "gate", "checked", "--date", "2026-03")
		dry := ingest(c.after, 1, "--fail", "--dry-run")
		if want := c.key + " {"; !strings.Contains(dry.stdout, want) {
			t.Errorf("%s: a dry run shows no %s: %s", c.after, want, dry.stdout)
		}
		s.must(0, "gate", "checked", "--date", "2026-03") // a dry run writes nothing
		ingest(c.after, 1, "--fail")
		if got := s.must(1, "gate", "checked", "--date", "2026-03"); !strings.Contains(got.stdout, "field status is missing") {
			t.Errorf("%s: %s", c.key, got.stdout)
		}
		if got := s.must(0, "explain", "checked", "--date", "2026-03"); !strings.Contains(got.stdout, "field status is missing") {
			t.Errorf("%s: %s", c.key, got.stdout)
		}
		r, err := s.client().Sensor(t.Context(), "checked", c.key, "2026-03")
		if text, _ := r.Data["error"].(string); err != nil || r.Data["status"] != nil || text == "" {
			t.Errorf("%s: %v %v", c.key, r.Data, err)
		}
	}
}

// A dry run shows what it can without a server, and says what it cannot.
func TestDryRunOfIngestNeedsNoServer(t *testing.T) {
	server := []string{"--server", "http://127.0.0.1:1"} // nothing can listen on this port without being root
	for args, want := range map[string][]string{
		"dbt dbt/seed.json":                     {"files from before the current period are not recognised"},
		"soda soda/broken.json":                 {"files from before the current period are not recognised", "the checks that the scan left out are not listed"},
		"soda soda/broken.json --date 2026-03":  {"the checks that the scan left out are not listed"},
		"soda soda/passing.json --date 2026-03": nil,
	} {
		fields := strings.Fields(args)
		fields[1] = artifactFile(t, fields[1])
		got := must(t, 0, append(append(append([]string{"ingest"}, fields...), "--pipeline", "checked", "--dry-run"), server...)...)
		var warned []string
		for line := range strings.Lines(got.stderr) {
			about, _, _ := strings.Cut(strings.TrimPrefix(line, "warning: "), ": cannot reach the server")
			warned = append(warned, about)
		}
		if diff := cmp.Diff(want, warned); diff != "" || !strings.Contains(got.stdout, "would write ") {
			t.Errorf("%s (-want +got):\n%s%s", args, diff, got.stdout)
		}
	}
	s := serve(t, site{pipelines: map[string]string{"checked.yaml": checkedFile("dbt/run")}})
	got := s.must(0, "ingest", "soda", artifactFile(t, "soda/passing.json"), "--pipeline", "checked", "--dry-run", "-o", "json")
	if !strings.Contains(got.stdout, `"written": false`) || len(s.versions("checked")) > 0 {
		t.Errorf("a dry run wrote %v: %s", s.versions("checked"), got.stdout)
	}
}
