package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
	const head = `{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/KIND.json"},"results":[`
	run := strings.Replace(head, "KIND", "run-results/v6", 1)
	good := write("good/run_results.json", run+`{"unique_id":"model.a.b","status":"success"}]}`)
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
		{"dbt " + good + " --pipeline nope", 1, "there is no pipeline \"nope\"; `interlock status` lists them"},
		{"dbt " + wrong + " --pipeline patient", 2, wrong + ": field results[1].execution_time: expected number, found string"},
		{"dbt " + empty + " --pipeline patient", 2, empty + " contains none of dbt's files (run_results.json, sources.json, freshness.json, manifest.json); run dbt first, or name its target directory"},
		{"dbt " + manifest + " --pipeline patient", 2, "there is no run_results.json, sources.json or freshness.json among the files: " + manifest},
		{"soda " + long + " --pipeline patient", 2, "reading soda/xxx"},
	} {
		got := s.run(append([]string{"ingest"}, strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || strings.Contains(got.stderr, "item") {
			t.Errorf("%.100s: exit code %d: %.400s\nwant %s", c.args, got.code, got.stderr, c.want)
		}
	}
}
