package sim

import "time"

// dice are random numbers that depend on nothing but where they are thrown: on the seed, the place, and how often it was
// come by before. So what happens in one place does not change what another one throws, and a fault that is left out leaves
// the others as they were.
type dice uint64

// throw gives the dice of a place for the nth time.
func throw(seed uint64, place string, n int) dice {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(place) {
		h = (h ^ uint64(place[i])) * prime
	}
	return dice(mix(mix(seed^h) + uint64(n)*0x9e3779b97f4a7c15))
}

// mix spreads every bit of x over the whole number.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// next is another number.
func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// under is a whole number from 0 to n-1.
func (d *dice) under(n int) int { return int(d.next() % uint64(n)) }

// share is a number from 0 to 1.
func (d *dice) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// chance says yes with that probability.
func (d *dice) chance(p float64) bool { return d.share() < p }

// span is a duration from 0 to most.
func (d *dice) span(most time.Duration) time.Duration {
	return time.Duration(d.next() % uint64(most))
}

// one of some.
func one[T any](d *dice, of ...T) T { return of[d.under(len(of))] }
