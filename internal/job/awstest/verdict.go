package awstest

import (
	"slices"

	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// RefusedBefore returns the verdict on a start for each of jobtest's answers, if the type reads before it starts: a
// failed read has started nothing.
func RefusedBefore() map[string]jobtest.Verdict {
	want := Verdicts()
	for name, verdict := range want {
		if verdict == jobtest.Open {
			want[name] = jobtest.RefusedTransient
		}
	}
	return want
}

// Verdicts returns the verdict on a start for each of jobtest's answers: if the answer is not AWS's, or the service
// broke, the start may have happened. The operator sets the endpoint, so that a private address is no mistake.
func Verdicts() map[string]jobtest.Verdict {
	want := jobtest.OfAPI()
	delete(want, "a private address")
	return want
}

// Busy returns a job for each state that the SDK lists and that is not an end: each state's config by its name. It
// includes a state that a new SDK version adds, which fails the test until it gets a meaning.
func Busy[S ~string](states []S, ends []jobtest.End, config func(state string) string) map[string]string {
	busy := map[string]string{}
	for _, state := range states {
		if !slices.ContainsFunc(ends, func(e jobtest.End) bool { return e.Name == string(state) }) {
			busy[string(state)] = config(string(state))
		}
	}
	return busy
}
