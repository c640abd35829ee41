package orchestrator_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/interlock-go/interlock/internal/orchestrator"
	"github.com/interlock-go/interlock/internal/run"
)

// afterSuspend returns a clock reading after the machine was suspended for some seconds: the wall
// clock has advanced, the monotonic clock has not. Package time offers no way to create one, so the
// seconds of the wall clock are changed in place: bits 30 to 62 of the first word.
func afterSuspend(t *testing.T, read time.Time, seconds uint64) time.Time {
	t.Helper()
	later := read
	*(*uint64)(unsafe.Pointer(&later)) += seconds << 30
	wall := later.Round(0).Sub(read.Round(0))
	if later.Sub(read) != 0 || wall != time.Duration(seconds)*time.Second {
		t.Fatalf("the clocks moved by %s and %s", later.Sub(read), wall)
	}
	return later
}

// A controller that was suspended between its decision and the call has lost its lease, although no
// monotonic time has passed.
func TestControllerThatWasSuspendedStartsNothing(t *testing.T) {
	b := newBench(t, daily+glue, plainType)
	b.now = time.Now() // only time.Now has a monotonic reading
	b.open(b.key, run.Opening{})
	d := b.steps.Deps
	d.Store = &slow{b.store, func() { b.now = afterSuspend(t, b.now, uint64(lease.Seconds())) }}
	b.steps = orchestrator.New(d)
	claims := b.claim("a")
	if len(claims) != 1 {
		t.Fatalf("claimed %v", claims)
	}
	if _, err := b.steps.Step(ctx, claims[0], b.clock); err != nil {
		t.Log(err) // the lease may be lost
	}
	if len(b.target.calls) != 0 {
		t.Error("a start call was made after the suspension")
	}
}
