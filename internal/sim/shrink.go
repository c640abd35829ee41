package sim

import "slices"

// Shrink searches for the smallest set of faults and errands with which a seed still breaks an
// invariant. It returns their ids and the outcome of a replay with only these. It plays the seed at
// most plays+2 times. If no smaller set fails in a replay, the ids are nil, which means all, as in
// Replay.Only. Events after the violation cannot matter, so each play ends there.
func Shrink(seed uint64, invariant string, r Replay, plays int) (Outcome, []string) {
	r.until = invariant
	first := Play(seed, r)
	if !first.Fails(invariant) {
		return first, nil
	}
	s := &shrinker{seed: seed, invariant: invariant, replay: r, plays: plays, keep: slices.Clone(first.Happened)}
	s.replay.Trace = nil
	for size := (len(s.keep) + 1) / 2; size >= 1; size /= 2 {
		s.without(size)
	}
	s.replay.Only = s.keep
	if again := Play(seed, s.replay); again.Fails(invariant) {
		return again, s.keep
	}
	return first, nil
}

type shrinker struct {
	seed      uint64
	invariant string
	replay    Replay
	plays     int
	keep      []string
}

// without removes size ids at a time wherever the invariant still breaks.
func (s *shrinker) without(size int) {
	for at := 0; at < len(s.keep) && s.plays > 0; {
		end := min(at+size, len(s.keep))
		s.plays--
		s.replay.Only = append(append([]string{}, s.keep[:at]...), s.keep[end:]...) // never nil, which would mean all
		o := Play(s.seed, s.replay)
		if !o.Fails(s.invariant) {
			at = end
			continue
		}
		happened := map[string]bool{}
		for _, id := range o.Happened {
			happened[id] = true
		}
		s.keep = slices.DeleteFunc(s.replay.Only, func(id string) bool { return !happened[id] })
		at = min(at, len(s.keep))
	}
}
