package engine

import (
	"os"
	"runtime/debug"
)

// How much garbage may pile up before it is collected, in percent of what is held.
const (
	usualGarbage  = 100
	littleGarbage = 60
	// someGarbage is for those who read so many pipelines that somebody waits for it: each collection goes through all that was
	// read, and the more that is, the slower.
	someGarbage       = 80
	veryManyPipelines = 50_000
	// muchGarbage is for those who hold so little that several times as much is little, too: a collection for each few
	// megabytes would take a tenth of the processor when much is written.
	muchGarbage  = 400
	fewPipelines = 1000
	// manyPipelines is from how many pipelines on memory matters more than the little time it takes to save it: what they
	// take is never garbage, and as much again would lie about for nothing.
	manyPipelines = 5000
)

// ReadSparingly is to be called before a process reads that many pipelines. What lasts of them would otherwise lie scattered
// among what only reading them took, and the gaps are of little use to anybody afterwards.
func ReadSparingly(pipelines int) {
	if pipelines >= veryManyPipelines {
		allow(someGarbage)
	} else {
		allow(littleGarbage)
	}
}

// SpareMemory is to be called once a process holds that many pipelines: it hands back what only reading them took and, if
// they are many, keeps garbage down from then on; if they are few, time. Where the limit was chosen by somebody (GOGC), it
// is left alone.
func SpareMemory(pipelines int) {
	switch {
	case pipelines >= manyPipelines:
		allow(littleGarbage)
	case pipelines < fewPipelines:
		allow(muchGarbage)
	default:
		allow(usualGarbage)
	}
	debug.FreeOSMemory()
}

func allow(garbage int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
