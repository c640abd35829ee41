package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestFilesAreListedWithTheirProblems(t *testing.T) {
	d := newDesk(t)
	d.more.Calendars = []pipeline.Source{{File: "days.yaml", Data: []byte("name: days\ndates: [2026-12-25]\n")}}
	d.files["orders.yaml"] = orders
	d.apply()
	d.files["orders.yaml"] = "pipeline: {id: orders, ownr: tests}\n"
	d.files["lost.yaml"] = "]no yaml["
	d.apply()
	type seen struct {
		Name, Pipeline string
		Kind           pipeline.FileKind
		Refused        bool
	}
	var got []seen
	for _, f := range d.Files() {
		got = append(got, seen{f.Name, string(f.Pipeline), f.Kind, f.Refused})
		if f.Refused != (len(f.Problems) > 0) {
			t.Errorf("%s: problems are %v", f.Name, f.Problems)
		}
		if f.Name == "orders.yaml" && (f.Problems[0].Line != 1 || f.Problems[0].Path != "pipeline.owner") {
			t.Errorf("problem is %v", f.Problems[0])
		}
	}
	want := []seen{
		{"days.yaml", "", pipeline.CalendarFile, false},
		{"lost.yaml", "", pipeline.PipelineFile, true},
		{"orders.yaml", "orders", pipeline.PipelineFile, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
