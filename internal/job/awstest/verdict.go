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
// broke, the start may have happened.
func Verdicts() map[string]jobtest.Verdict {
	want := map[string]jobtest.Verdict{}
	for _, name := range []string{
		"200", "202", "204", "200 with a page", "200 without end", "200 with {}", "200 with []", "200 with null", "200 with broken JSON", "200 cut off",
		"408", "500", "503", "504 with a page", "500 cut off", "no HTTP", "nothing", "no answer in time",
	} {
		want[name] = jobtest.Open
	}
	for _, name := range []string{"425", "429", "nobody listens", "a certificate that is not trusted"} {
		want[name] = jobtest.RefusedTransient
	}
	for _, name := range []string{
		"304", "400", "401", "403", "404", "409",
		"302 to a private address", "307 to a private address", "302 to nowhere", "307 to itself for ever", "307 to another scheme",
	} {
		want[name] = jobtest.RefusedPermanent
	}
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
