package api

import (
	"net/netip"
	"sync"
	"time"
)

// The limits on failed logins.
const (
	maxGuessers  = 4096             // addresses that are remembered, so memory is bounded
	freeGuesses  = 5                // failed logins of one address before it must wait
	longestWait  = 5 * time.Minute  // the wait doubles from one second up to this
	forgetAfter  = 15 * time.Minute // failures expire this long after the last
	ipv6Prefix   = 64               // an IPv6 customer has at least this much
	maxDoublings = 9                // 512 s is above longestWait
)

// guesses slows down clients that log in with unknown tokens, per address. A known token is never
// delayed, so that a client with a stale token delays only itself. If too many addresses fail, it
// forgets the one whose last failure is oldest; this cannot delay any other address.
type guesses struct {
	mu             sync.Mutex
	of             map[netip.Addr]*guesser
	oldest, newest *guesser // in the order of their last failures
}

// guesser is an address that sent unknown tokens.
type guesser struct {
	address      netip.Addr
	failures     int
	last         time.Time
	older, newer *guesser
}

func newGuesses() *guesses { return &guesses{of: map[netip.Addr]*guesser{}} }

// wait returns how long an address must wait before its next unknown token is answered; 0 if it
// need not.
func (g *guesses) wait(from netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.of[network(from)]
	if one == nil || now.Sub(one.last) > forgetAfter || one.failures < freeGuesses {
		return 0
	}
	wait := min(time.Second<<min(one.failures-freeGuesses, maxDoublings), longestWait)
	return max(one.last.Add(wait).Sub(now), 0)
}

// failed counts an unknown token.
func (g *guesses) failed(from netip.Addr, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	address := network(from)
	one := g.of[address]
	switch {
	case one != nil:
		g.unlink(one)
		if now.Sub(one.last) > forgetAfter {
			one.failures = 0
		}
	default:
		if len(g.of) >= maxGuessers {
			delete(g.of, g.oldest.address)
			g.unlink(g.oldest)
		}
		one = &guesser{address: address}
		g.of[address] = one
	}
	one.failures++
	one.last = now
	g.append(one)
}

// unlink removes a guesser from the order.
func (g *guesses) unlink(one *guesser) {
	if one.older == nil {
		g.oldest = one.newer
	} else {
		one.older.newer = one.newer
	}
	if one.newer == nil {
		g.newest = one.older
	} else {
		one.newer.older = one.older
	}
	one.older, one.newer = nil, nil
}

// append makes a guesser the newest.
func (g *guesses) append(one *guesser) {
	if one.older = g.newest; one.older == nil {
		g.oldest = one
	} else {
		one.older.newer = one
	}
	g.newest = one
}

// network returns the address that failures count for: that of an IPv6 customer's network.
func network(from netip.Addr) netip.Addr {
	if from.Is6() && !from.Is4In6() {
		if p, err := from.WithZone("").Prefix(ipv6Prefix); err == nil {
			return p.Addr()
		}
	}
	return from.Unmap()
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

// allowances are one allowance for each client, by name.
type allowances struct {
	mu sync.Mutex
	by map[string]*allowance
}

// maxAllowances is how many clients have an allowance of their own; the others share one.
const maxAllowances = 4096

func (s *allowances) of(name string) *allowance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*allowance{}
	}
	if len(s.by) >= maxAllowances && s.by[name] == nil {
		name = ""
	}
	if s.by[name] == nil {
		s.by[name] = new(allowance)
	}
	return s.by[name]
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
