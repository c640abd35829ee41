package awstest

import (
	"slices"

	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// Busy are the jobs in the states that the SDK lists and that are no ends: each state's config by its name. A state that a
// new version of the SDK adds is among them, and so fails the test until somebody decides what it means.
func Busy[S ~string](states []S, ends []jobtest.End, config func(state string) string) map[string]string {
	busy := map[string]string{}
	for _, state := range states {
		if !slices.ContainsFunc(ends, func(e jobtest.End) bool { return e.Name == string(state) }) {
			busy[string(state)] = config(string(state))
		}
	}
	return busy
}
