package sim

import "slices"

// Shrink looks for the fewest faults and errands with which a seed still breaks an invariant, and gives that outcome. It
// plays at most so many times.
func Shrink(seed uint64, invariant string, r Replay, plays int) (Outcome, []string) {
	first := Play(seed, r)
	if !first.Fails(invariant) {
		return first, nil
	}
	s := &shrinker{seed: seed, invariant: invariant, replay: r, plays: plays, best: first, keep: slices.Clone(first.Happened)}
	s.replay.Trace = nil
	for size := (len(s.keep) + 1) / 2; size >= 1; size /= 2 {
		s.without(size)
	}
	return s.best, s.keep
}

type shrinker struct {
	seed      uint64
	invariant string
	replay    Replay
	plays     int
	best      Outcome
	keep      []string
}

// without leaves out so many at a time, wherever the invariant breaks all the same.
func (s *shrinker) without(size int) {
	for at := 0; at < len(s.keep) && s.plays > 0; {
		end := min(at+size, len(s.keep))
		s.plays--
		s.replay.Only = slices.Concat([]string{}, s.keep[:at], s.keep[end:])
		o := Play(s.seed, s.replay)
		if !o.Fails(s.invariant) {
			at = end
			continue
		}
		s.best = o
		happened := map[string]bool{}
		for _, id := range o.Happened {
			happened[id] = true
		}
		s.keep = slices.DeleteFunc(s.replay.Only, func(id string) bool { return !happened[id] })
		at = min(at, len(s.keep))
	}
}
