package rerun

import (
	"hash/fnv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxBackoff = 15 * time.Minute
	jitterPart = 5 // up to a fifth of the wait is taken off
)

// backoff is the wait before a retry: the first wait doubled per retry already made, capped, then shortened
// by up to a fifth so that many runs that failed together do not return together. The share is drawn from
// the attempt's id: whoever decides, and however often, finds the same instant.
func backoff(first time.Duration, used int, id run.AttemptID) time.Duration {
	wait := min(max(first, 0), maxBackoff)
	for n := 0; n < used && wait > 0 && wait < maxBackoff; n++ {
		wait = min(wait*2, maxBackoff)
	}
	h := fnv.New64a()
	h.Write([]byte(id)) // never fails
	const steps = 1000
	share := time.Duration(mix(h.Sum64()) % (steps + 1))
	return wait - wait/jitterPart*share/steps
}

// mix spreads ids that differ only in their last digit over the whole range.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
