package api

import (
	"net/netip"
	"testing"
	"time"
)

func TestGuessesRememberABoundedNumberOfAddresses(t *testing.T) {
	g, now := newGuesses(), time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range 3 * maxGuessers {
		g.failed(at(i), now)
	}
	for range freeGuesses - 1 {
		g.failed(at(3*maxGuessers-1), now)
		g.failed(at(0), now)
	}
	if len(g.of) != maxGuessers {
		t.Errorf("%d addresses are remembered", len(g.of))
	}
	if g.wait(at(3*maxGuessers-1), now) == 0 {
		t.Error("a recent address was forgotten")
	}
	if g.wait(at(0), now) != 0 {
		t.Error("an address that was forgotten has to wait")
	}
	n := 0
	for one := g.oldest; one != nil; one = one.newer {
		n++
	}
	if n != len(g.of) || g.newest.newer != nil || g.oldest.older != nil {
		t.Errorf("%d addresses are in order", n)
	}
	now = now.Add(forgetAfter + time.Second)
	g.failed(at(3*maxGuessers-1), now)
	if g.wait(at(3*maxGuessers-1), now) != 0 {
		t.Error("failures do not expire")
	}
}
