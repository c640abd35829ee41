package awslambda_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
)

// Terraform calls the deployed function before it puts files; it validates them and stores none.
func TestFilesAreCheckedByTheFunction(t *testing.T) {
	w := deploy(t, awslambdatest.Options{})
	ask := func(file string, sources ...string) (r awslambda.FileReport) {
		t.Helper()
		check := awslambda.FileCheck{Pipelines: map[string]string{"orders.yaml": file}, Sources: map[string]string{}}
		for _, text := range sources {
			check.Sources["landings.yaml"] = text
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if err := errors.Join(json.NewEncoder(z).Encode(check), z.Close()); err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(map[string]any{"check": packed.Bytes()})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.Route(scripted{}, string(payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(answer), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := ask(daily); r != (awslambda.FileReport{}) {
		t.Errorf("a good file: %+v", r)
	}
	if r := ask(strings.Replace(daily, "owner", "ownr", 1)); !strings.Contains(r.Problems, `orders.yaml:1`) {
		t.Errorf("a bad file: %+v", r)
	}
	if r := ask(strings.Replace(daily, "maxRetries: 1", "pollInterval: 1s", 1)); r.Problems != "" || !strings.Contains(r.Warnings, "is raised") {
		t.Errorf("a file with a warning: %+v", r)
	}
	if r := ask(daily, landings); r != (awslambda.FileReport{}) {
		t.Errorf("a good source: %+v", r)
	}
	if r := ask(daily, strings.Replace(landings, "pipeline: orders", "pipeline: ordrs", 1)); !strings.Contains(r.Problems, `landings.yaml:8:16: write[0].pipeline: there is no pipeline "ordrs"`) {
		t.Errorf("a source for an unknown pipeline: %+v", r)
	}
	if rows, err := w.Store().Pipelines(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("%d pipelines were stored, %v", len(rows), err)
	}
}
