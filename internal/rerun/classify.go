package rerun

import (
	"regexp"

	"github.com/interlock-go/interlock/internal/run"
)

// Class is one line of a user's own failure classes: what it matches, and the category that gives.
type Class struct {
	Match    *regexp.Regexp // on the failure's message; nil matches any
	Exits    bool           // ExitCode counts
	ExitCode int
	Category run.Category
}

// Classify is the category of a failed job: the user's first class that matches, else what the job type
// found. A class that names neither a pattern nor an exit code matches nothing.
func Classify(classes []Class, failure run.Report) run.Category {
	for _, c := range classes {
		if c.matches(failure) {
			return c.Category
		}
	}
	return failure.Category
}

func (c Class) matches(failure run.Report) bool {
	if c.Match == nil && !c.Exits {
		return false
	}
	if c.Exits && (!failure.Exited || failure.ExitCode != c.ExitCode) {
		return false
	}
	return c.Match == nil || c.Match.MatchString(failure.Message)
}
