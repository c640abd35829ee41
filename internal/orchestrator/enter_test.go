package orchestrator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/run"
)

// enters records which workers the steps request. The first call has to wait, and meanwhile runs
// during that time.
func (b *bench) enters(meanwhile func()) *[]string {
	var asked []string
	d := b.steps.Deps
	d.Enter = func(_ context.Context, jobType string, blocking bool) (bool, error) {
		asked = append(asked, fmt.Sprintf("%s %t", jobType, blocking))
		if len(asked) > 1 {
			return false, nil
		}
		meanwhile()
		return true, nil
	}
	b.steps = orchestrator.New(d)
	return &asked
}

func TestStartThatWaitedForAWorkerEvaluatesAgain(t *testing.T) {
	b := newBench(t, daily+gated+glue, plainType)
	b.rows(12)
	b.open(b.key, run.Opening{})
	asked := b.enters(func() { b.rows(3) })
	b.step()
	b.want(run.Pending)
	if len(b.target.calls) != 0 || len(*asked) != 1 {
		t.Errorf("requested %q and made %d calls, although the gate closed meanwhile", *asked, len(b.target.calls))
	}
}

func TestOnlyBlockingStartsRequestABlockingWorker(t *testing.T) {
	for name, c := range map[string]struct {
		kind func(*target) job.Type
		want []string
	}{
		// For the start, again after the wait, and for a poll.
		"the call starts it": {plainType, []string{"glue false", "glue false", "glue false"}},
		"the call is it":     {blockingType, []string{"glue true", "glue true", "glue false"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, daily+glue, c.kind)
			b.open(b.key, run.Opening{})
			asked := b.enters(func() {})
			b.step()
			b.wait(b.run().Progress.Opening.Limits.PollInterval)
			b.step()
			if diff := cmp.Diff(c.want, *asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
