package engine

import "runtime/debug"

const (
	// usualGarbage is how much garbage may pile up before it is collected, in percent of what is held, unless somebody
	// has chosen otherwise.
	usualGarbage  = 100
	littleGarbage = 40
	// manyPipelines is from how many pipelines on memory matters more than the little time it takes to save it: what they
	// take is never garbage, and as much again would lie about for nothing.
	manyPipelines = 5000
)

// SpareMemory keeps garbage down while a process starts: reading files makes much of it, which would lie between all that
// stays. To be called once it has started is what it returns: with few pipelines that lets garbage pile up as usual, and
// in any case it hands back what only the start needed. Where the limit was chosen by somebody (GOGC), it is left alone.
func SpareMemory() (started func(pipelines int)) {
	if chosen := debug.SetGCPercent(littleGarbage); chosen != usualGarbage {
		debug.SetGCPercent(chosen)
		return func(int) {}
	}
	return func(pipelines int) {
		if pipelines < manyPipelines {
			debug.SetGCPercent(usualGarbage)
		}
		debug.FreeOSMemory()
	}
}
