package glue

import (
	"testing"
	"time"
)

// ServiceErrors are the type's verdicts on the errors of its service.
var ServiceErrors = serviceErrors

// LimitSearches sets how long a search of logs may take, until the test ends.
func LimitSearches(t *testing.T, limit time.Duration) {
	before := maxLogTime
	maxLogTime = limit
	t.Cleanup(func() { maxLogTime = before })
}
