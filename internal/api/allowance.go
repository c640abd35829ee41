package api

import (
	"sync"
	"time"
)

// What a client may have written to the store by asking alone: this many rows at once, and one more in this time.
const (
	allowedAtOnce = 100
	allowedPer    = 10 * time.Second
)

// allowance bounds how many rows are written for requests that anyone, or any reader, can send: a flood of them must not fill
// the store.
type allowance struct {
	mu      sync.Mutex
	used    float64
	at      time.Time
	skipped int // since the last row
}

// take returns how many rows were skipped before this one; false if this one must not be written either.
func (a *allowance) take(now time.Time) (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed := now.Sub(a.at); passed > 0 {
		a.used = max(a.used-passed.Seconds()/allowedPer.Seconds(), 0)
		a.at = now
	}
	if a.used+1 > allowedAtOnce {
		a.skipped++
		return 0, false
	}
	a.used++
	skipped := a.skipped
	a.skipped = 0
	return skipped, true
}
