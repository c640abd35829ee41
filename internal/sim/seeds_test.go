package sim

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
)

// seeds is how many are played by every test run: more than it takes to find the bug that hides best among those of
// revert_test.go. With the race detector they are fewer, since a world has one thread. Worlds that nobody has
// seen yet are for `make sim` and `make nightly`.
const seeds = 200

// Under everything that may go wrong, no promise is broken. `make sim` plays other seeds, and prints how to see one that fails.
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
		t.Errorf("only %d faults in %d seeds: a storm is more", faults.Load(), played)
	}
}

// The same seed is the same history, line by line.
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
