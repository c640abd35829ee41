package sim

import "time"

// dice are random numbers that depend only on the seed, the place where they are thrown, and how
// often that place was reached before. So events in one place do not change the numbers of another,
// and leaving out one fault does not affect the others.
type dice uint64

// throw returns the dice of a place for the nth time.
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

// next returns another number.
func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mix(uint64(*d))
}

// under returns a whole number from 0 to n-1.
func (d *dice) under(n int) int { return int(d.next() % uint64(n)) }

// share returns a number from 0 to 1.
func (d *dice) share() float64 { return float64(d.next()>>11) / (1 << 53) }

// chance returns true with that probability.
func (d *dice) chance(p float64) bool { return d.share() < p }

// span returns a duration from 0 to most.
func (d *dice) span(most time.Duration) time.Duration {
	return time.Duration(d.next() % uint64(most))
}

// one returns one of the values.
func one[T any](d *dice, of ...T) T { return of[d.under(len(of))] }
