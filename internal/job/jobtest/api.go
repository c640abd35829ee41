package jobtest

import (
	"testing"

	"github.com/interlock-go/interlock/internal/egress"
)

// Guard is an egress guard that allows these hosts.
func Guard(t *testing.T, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// OfAPI returns the verdicts of a target that speaks JSON, answers a start with the job, and rejects a second start
// with the same key. Any answer that is not the target's own leaves the start open, except a redirect or a 4xx other
// than 408, which prove that nothing was started.
func OfAPI() map[string]Verdict {
	return map[string]Verdict{
		"200": Open, "202": Open, "204": Open, "200 with a page": Open, "200 without end": Open, "200 cut off": Open,
		"200 with {}": Open, "200 with []": Open, "200 with null": Open, "200 with broken JSON": Open,
		"304": RefusedPermanent, "400": RefusedPermanent, "401": RefusedPermanent, "403": RefusedPermanent, "404": RefusedPermanent,
		"408": Open, "409": RefusedPermanent, "425": RefusedTransient, "429": RefusedTransient,
		"500": Open, "503": Open, "504 with a page": Open, "500 cut off": Open, "no HTTP": Open, "nothing": Open, "no answer in time": Open,
		"302 to a private address": RefusedPermanent, "307 to a private address": RefusedPermanent, "302 to nowhere": RefusedPermanent,
		"307 to itself for ever": RefusedPermanent, "307 to another scheme": RefusedPermanent,
		"nobody listens": RefusedTransient, "a certificate that is not trusted": RefusedTransient, "a private address": RefusedPermanent,
	}
}
