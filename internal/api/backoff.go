package api

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// The pace at which unknown tokens may be tried.
const (
	guessSlots   = 1024             // addresses share these; more memory is never used
	freeGuesses  = 5                // failed logins of one address before it has to wait
	longestWait  = 5 * time.Minute  // the wait doubles from one second up to this
	forgetAfter  = 15 * time.Minute // failures are forgotten this long after the last
	freeForAll   = 200              // failed logins of all addresses together before those that failed have to wait
	forAllPer    = 10               // how many of these are forgotten each second
	waitForAll   = 10 * time.Second
	ipv6Prefix   = 64 // one customer has at least this much
	maxDoublings = 9  // 512 s is above longestWait
)

// guesses slows down clients that log in with unknown tokens: each address, and all of them together. It uses the same
// memory however many addresses try. Two addresses may share a slot, and then wait for each other.
//
// An address without failures may always try once, so that strangers who fail from many addresses cannot lock out an
// operator.
type guesses struct {
	mu    sync.Mutex
	seed  maphash.Seed
	slots [guessSlots]guessSlot
	level float64 // failures of all addresses that are not forgotten yet
	at    time.Time
}

type guessSlot struct {
	failures int
	last     time.Time
}

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

// wait returns how long an address must not try to log in; 0 if it may.
func (g *guesses) wait(from netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slot(from, now)
	if s.failures == 0 {
		return 0
	}
	g.drain(now)
	var wait time.Duration
	if over := s.failures - freeGuesses; over >= 0 {
		wait = min(time.Second<<min(over, maxDoublings), longestWait)
	}
	if g.level >= freeForAll {
		wait = max(wait, waitForAll)
	}
	return max(s.last.Add(wait).Sub(now), 0)
}

// failed counts an unknown token.
func (g *guesses) failed(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slot(from, now)
	s.failures++
	s.last = now
	g.drain(now)
	g.level++
}

// slot returns the counter of an address, empty if its failures are forgotten.
func (g *guesses) slot(from netip.Addr, now time.Time) *guessSlot {
	if from.Is6() {
		if p, err := from.WithZone("").Prefix(ipv6Prefix); err == nil {
			from = p.Addr()
		}
	}
	b := from.As16()
	s := &g.slots[maphash.Bytes(g.seed, b[:])%guessSlots]
	if now.Sub(s.last) > forgetAfter {
		*s = guessSlot{}
	}
	return s
}

func (g *guesses) drain(now time.Time) {
	if passed := now.Sub(g.at).Seconds(); passed > 0 {
		g.level = max(g.level-passed*forAllPer, 0)
		g.at = now
	}
}

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
