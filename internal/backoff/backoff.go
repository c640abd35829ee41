// Package backoff decides how long to wait before something that failed is tried again. It reads no
// clock and never waits: its callers do.
package backoff

import (
	"hash/fnv"
	"time"
)

// Doubling is a wait that doubles with each consecutive failure.
type Doubling struct {
	First time.Duration // after the first failure
	Most  time.Duration // the longest wait
}

// After returns the wait after that many consecutive failures, of which the first is number 1.
func (d Doubling) After(failures int) time.Duration {
	wait := min(max(d.First, 0), d.Most)
	for n := 1; n < failures && wait > 0 && wait < d.Most; n++ {
		wait += min(wait, d.Most-wait)
	}
	return wait
}

// jitterPart bounds the jitter: up to a fifth of the wait is subtracted.
const jitterPart = 5

// Spread is After shortened by up to a fifth, so that many failures at once are not retried at once.
// The jitter is derived from id, so every caller computes the same instant.
func (d Doubling) Spread(failures int, id string) time.Duration {
	wait := d.After(failures)
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
