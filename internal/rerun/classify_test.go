package rerun_test

import (
	"regexp"
	"testing"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rerun"
	"github.com/interlock-go/interlock/internal/run"
)

func TestFirstMatchingClassWins(t *testing.T) {
	zero, three := 0, 3
	classes := []pipeline.Class{
		{Category: "TIMEOUT"}, // no pattern and no exit code: matches nothing
		{Match: regexp.MustCompile(`(?i)quota`), ExitCode: &three, Category: "TIMEOUT"},
		{Match: regexp.MustCompile(`(?i)quota`), Category: "TRANSIENT"},
		{ExitCode: &zero, Category: "TIMEOUT"},
		{ExitCode: &three, Category: "PERMANENT"},
		{Match: regexp.MustCompile(`.`), Category: "TRANSIENT"},
	}
	for name, c := range map[string]struct {
		failure run.Report
		want    run.Category
	}{
		"pattern":                  {run.Report{Message: "Quota exceeded", Category: run.Permanent}, run.Transient},
		"pattern and exit code":    {run.Report{Message: "quota", Exited: true, ExitCode: 3}, run.Timeout},
		"exit code":                {run.Report{Message: "boom", Exited: true, ExitCode: 3}, run.Permanent},
		"no exit code is not zero": {run.Report{Message: "boom", Category: run.Permanent}, run.Transient},
		"nothing matches":          {run.Report{Category: run.Timeout}, run.Timeout},
	} {
		if got := rerun.Classify(classes, c.failure, ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
