package api

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// The limits on failed logins.
const (
	guessSlots   = 1024             // all addresses share these, so memory is bounded
	freeGuesses  = 5                // failed logins of one address before it must wait
	longestWait  = 5 * time.Minute  // the wait doubles from one second up to this
	forgetAfter  = 15 * time.Minute // failures expire this long after the last
	freeForAll   = 200              // failed logins of all addresses together before addresses with failures must wait
	forAllPer    = 10               // how many of these expire each second
	waitForAll   = 10 * time.Second
	ipv6Prefix   = 64 // an IPv6 customer has at least this much
	maxDoublings = 9  // 512 s is above longestWait
)

// guesses slows down clients that log in with unknown tokens: per address, and all of them
// together. Its memory does not grow with the number of addresses. Two addresses may share a slot,
// and then also share its waits.
//
// An address without failures may always try once, so that attackers who fail from many addresses
// cannot lock out an operator.
type guesses struct {
	mu    sync.Mutex
	seed  maphash.Seed
	slots [guessSlots]guessSlot
	all   bucket // failures of all addresses that have not expired yet
}

type guessSlot struct {
	failures int
	last     time.Time
}

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

// wait returns how long an address must wait before it may log in; 0 if it may now.
func (g *guesses) wait(from netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slot(from, now)
	if s.failures == 0 {
		return 0
	}
	g.all.drain(forAllPer, now)
	var wait time.Duration
	if over := s.failures - freeGuesses; over >= 0 {
		wait = min(time.Second<<min(over, maxDoublings), longestWait)
	}
	if g.all.level >= freeForAll {
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
	g.all.drain(forAllPer, now)
	g.all.level++
}

// slot returns the counter of an address, reset if its failures have expired.
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

// bucket counts what happened lately: its level falls at a steady rate.
type bucket struct {
	level float64
	at    time.Time // when the level was brought up to date
}

// drain brings the level up to date. perSecond is how much it falls.
func (b *bucket) drain(perSecond float64, now time.Time) {
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.level = max(b.level-passed*perSecond, 0)
		b.at = now
	}
}

// An allowance permits a burst of allowedAtOnce rows, then one row per allowedPer.
const (
	allowedAtOnce = 100
	allowedPer    = 10 * time.Second
)

// allowance limits how many rows are written for requests that anyone, or any viewer, can send: a
// flood of them must not fill the store.
type allowance struct {
	mu      sync.Mutex
	used    bucket
	skipped int // since the last row
}

// take returns how many rows were skipped before this one, or false if this one must be skipped
// too.
func (a *allowance) take(now time.Time) (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used.drain(1/allowedPer.Seconds(), now)
	if a.used.level+1 > allowedAtOnce {
		a.skipped++
		return 0, false
	}
	a.used.level++
	skipped := a.skipped
	a.skipped = 0
	return skipped, true
}
