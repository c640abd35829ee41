package rerun

import (
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Classify is the category of a failed job: the user's first class that matches, else what the job type
// found. A class that names neither a pattern nor an exit code matches nothing.
func Classify(classes []pipeline.Class, failure run.Report) run.Category {
	for _, c := range classes {
		if matches(c, failure) {
			return run.Category(c.Category)
		}
	}
	return failure.Category
}

func matches(c pipeline.Class, failure run.Report) bool {
	if c.Match == nil && c.ExitCode == nil {
		return false
	}
	if c.ExitCode != nil && (!failure.Exited || failure.ExitCode != *c.ExitCode) {
		return false
	}
	return c.Match == nil || c.Match.MatchString(failure.Message)
}
