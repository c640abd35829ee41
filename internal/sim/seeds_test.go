package sim

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
)

// seeds is how many seeds every test run plays: enough to find the best hidden bug of
// revert_test.go. With the race detector there are fewer, because a world has one thread. `make
// sim` and `make nightly` play new seeds.
const seeds = 200

// No combination of faults breaks a promise. `make sim` plays other seeds, and prints how to replay
// one that fails.
func TestSeedsKeepEveryPromise(t *testing.T) {
	played := uint64(seeds)
	if testing.Short() || raced {
		played /= 5
	}
	// Worlds are small and short: time matters more than memory.
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	var next, faults atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < played; seed = next.Add(1) - 1 {
				o := Play(seed, Replay{})
				faults.Add(uint64(len(o.Faults)))
				for _, v := range o.Broken {
					t.Errorf("seed %d: %s\ngo run ./internal/sim/simulate -from %d -seeds 1", seed, v, seed)
				}
			}
		})
	}
	workers.Wait()
	if faults.Load() < 10*played {
		t.Errorf("only %d faults in %d seeds: expected more", faults.Load(), played)
	}
}

// found are seeds that broke a promise once.
var found = []uint64{
	700454,       // a retry opened with a version whose start deadline had passed
	811521,       // a watchdog pass was held up over a jump of the clock, and rewound what another replica had handled since
	990000000901, // the clock was set back while a start call had no answer, and its slot waited for hours
	990000001521, // a start call that was overtaken reached its target late, and nothing followed its job
}

func TestSeedsThatBrokeAPromiseKeepIt(t *testing.T) {
	for _, seed := range found {
		for _, v := range Play(seed, Replay{}).Broken {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
}

// The same seed gives the same history, line by line.
func TestSeedDecidesEverything(t *testing.T) {
	for seed := range uint64(10) {
		var first, second bytes.Buffer
		Play(seed, Replay{Trace: &first})
		Play(seed, Replay{Trace: &second})
		if first.Len() == 0 || !bytes.Equal(first.Bytes(), second.Bytes()) {
			a, b := bytes.Split(first.Bytes(), []byte("\n")), bytes.Split(second.Bytes(), []byte("\n"))
			for i := range min(len(a), len(b)) {
				if !bytes.Equal(a[i], b[i]) {
					t.Fatalf("seed %d differs in line %d:\n%s\n%s", seed, i+1, a[i], b[i])
				}
			}
			t.Fatalf("seed %d has %d lines and then %d", seed, len(a), len(b))
		}
	}
}
