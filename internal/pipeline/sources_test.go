package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestDefinitionKeepsTheFilesItRefersTo(t *testing.T) {
	holidays := pipeline.Source{File: "holidays.yaml", Data: []byte("name: holidays\ndates: [2026-12-25]\n")}
	unused := pipeline.Source{File: "unused.yaml", Data: []byte("name: unused\ndates: [2026-12-26]\n")}
	template := pipeline.Source{File: "template.yaml", Data: []byte("name: template\nrules: [{key: a, check: exists}]\n")}
	set := pipeline.Load([]pipeline.Source{{File: "orders.yaml", Data: []byte(
		"pipeline: {id: orders, owner: tests}\nschedule: {cron: '@daily', exclude: {calendar: holidays, holidays: holidays}}\nexclusions: {calendar: holidays}\narchetype: template\n",
	)}}, pipeline.Options{Calendars: []pipeline.Source{unused, holidays}, Archetypes: []pipeline.Source{template}, Whole: true})
	d := set.Find("orders")
	if d == nil {
		t.Fatalf("rejected: %v", set.Problems)
	}
	if diff := cmp.Diff([]pipeline.Source{holidays}, d.Calendars); diff != "" {
		t.Errorf("calendars (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]pipeline.Source{template}, d.Archetypes); diff != "" {
		t.Errorf("archetypes (-want +got):\n%s", diff)
	}
}

func TestRejectedFilesNameTheirPipeline(t *testing.T) {
	sources := []pipeline.Source{
		{File: "good.yaml", Data: []byte("pipeline: {id: good, owner: tests}\n")},
		{File: "no-owner.yaml", Data: []byte("pipeline: {id: broken}\n")},
		{File: "no-yaml.yaml", Data: []byte("]not yaml[")},
		{File: "no-id.yaml", Data: []byte("pipeline: {id: Not Legal, owner: tests}\n")},
		{File: "twice-1.yaml", Data: []byte("pipeline: {id: twice, owner: tests}\n")},
		{File: "twice-2.yaml", Data: []byte("pipeline: {id: twice, owner: tests}\n")},
	}
	want := []pipeline.Refused{
		{File: "no-owner.yaml", ID: "broken"},
		{File: "no-yaml.yaml"},
		{File: "no-id.yaml"},
		{File: "twice-1.yaml", ID: "twice"},
		{File: "twice-2.yaml", ID: "twice"},
	}
	if diff := cmp.Diff(want, pipeline.Load(sources, pipeline.Options{}).Refused); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
