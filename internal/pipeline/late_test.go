package pipeline_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestLateDataRerunsForTheStartConditionAndIsReportedForTheRest(t *testing.T) {
	for text, want := range map[string][2]pipeline.LateData{ // for the start condition's sensor, and for any other
		"": {pipeline.LateRerun, pipeline.LateReport},
		"validation: {rules: [{key: rows, check: exists}]}\n": {pipeline.LateRerun, pipeline.LateReport},
		"validation: {lateData: report}\n":                    {pipeline.LateReport, pipeline.LateReport},
		"validation: {lateData: rerun}\n":                     {pipeline.LateRerun, pipeline.LateRerun},
		"validation: {lateData: ignore}\n":                    {pipeline.LateIgnore, pipeline.LateIgnore},
		"validation: {rules: ~, lateData: ignore}\n":          {pipeline.LateIgnore, pipeline.LateIgnore},
	} {
		set := load(minimal + "schedule: {trigger: {key: landed, check: exists}}\n" + text)
		if len(set.Problems) > 0 {
			t.Errorf("%q: %v", text, report(set))
			continue
		}
		d := set.Definitions[0]
		if got := [2]pipeline.LateData{d.AfterLate(true), d.AfterLate(false)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
