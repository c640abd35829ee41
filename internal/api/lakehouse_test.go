package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/artifact"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// The example's recorded events open the run of their day in each of its pipelines.
func TestLakehouseExampleRuns(t *testing.T) {
	const dir = "../../examples/lakehouse"
	read := func(pattern string) (all []pipeline.Source) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pipeline.Source{File: name, Data: data})
		}
		return all
	}
	w := newWorld(t)
	report, err := w.Catalog.Apply(ctx, catalog.Files{Pipelines: read("pipelines/*.yaml"), Sources: read("sources/*.yaml")}, w.Now())
	w.Check(err)
	for _, p := range report.Problems {
		if p.Severity == document.Error || strings.Contains(p.File, "sources/") {
			t.Error(p)
		}
	}
	w.sent("cloudevents", string(read("events/landed.json")[0].Data), `{"matched":1,"written":1,"repeated":0,"problems":[]}`, structured)
	w.sent("lineage", string(read("events/spark-complete.json")[0].Data), `{"matched":1,"written":1,"repeated":0,"problems":[]}`)
	var files []artifact.File
	for _, src := range read("target/*.json") {
		files = append(files, artifact.File{Name: src.File, Data: src.Data})
	}
	result, err := artifact.Dbt(files, artifact.Limits{})
	if err != nil || !result.Passed() {
		t.Fatal(result, err)
	}
	var items []map[string]any
	for _, r := range result.Readings {
		items = append(items, map[string]any{"pipeline": "gold", "key": r.Key + "#2026-03-03", "data": r.Fields})
	}
	body, err := json.Marshal(items)
	w.Check(err)
	if got := w.request("POST", "/api/v1/sensors", string(body)); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.Settle()
	for _, id := range []string{"bronze", "silver", "gold"} {
		got := w.get("/api/v1/runs/" + id + "/stream/2026-03-03")
		if !strings.Contains(string(got.body), `"status":"RUNNING"`) {
			t.Errorf("%s: %d %.600s", id, got.status, got.body)
		}
	}
}
