package job_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

func TestANameIsLegalAndItsAttemptsOwn(t *testing.T) {
	legal := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(17, 100).Draw(t, "most")
		a, b := rapid.String().Draw(t, "a"), rapid.StringMatching(`[a-z./:-]{0,3}`).Draw(t, "b")
		name, other := job.Name(run.AttemptID(a), most), job.Name(run.AttemptID(b), most)
		if len(name) > most || !legal.MatchString(name) {
			t.Errorf("%q in %d is %q", a, most, name)
		}
		if (name == other) != (a == b) {
			t.Errorf("%q is %q, %q is %q", a, name, b, other)
		}
	})
}

func TestANameBeginsAsItsAttemptDoes(t *testing.T) {
	if got := job.Name("orders/cron/2026-03-03T07:15/2", 80); got != "orders-cron-2026-03-03T07-15-2-"+got[len(got)-16:] {
		t.Errorf("got %s", got)
	}
}
