package rerun

import (
	"hash/fnv"
	"time"

	"github.com/interlock-go/interlock/internal/run"
)

const (
	maxBackoff = 15 * time.Minute
	jitterPart = 5 // up to a fifth of the wait is subtracted
)

// backoff returns the wait before an attempt is retried.
func backoff(first time.Duration, used int, id run.AttemptID) time.Duration {
	return Backoff(first, maxBackoff, used, string(id))
}

// Backoff returns the wait before a retry: the first wait doubled per retry already made, at most most, then
// shortened by up to a fifth so that many failures at once are not retried at once. The jitter is derived from
// id, so every caller computes the same instant.
func Backoff(first, most time.Duration, used int, id string) time.Duration {
	wait := min(max(first, 0), most)
	for n := 0; n < used && wait > 0 && wait < most; n++ {
		wait = min(wait*2, most)
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
