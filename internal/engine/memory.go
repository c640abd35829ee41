package engine

import (
	"os"
	"runtime/debug"
)

// GC percentages (GOGC): how much the heap may grow before a collection.
const (
	usualGarbage  = 100
	littleGarbage = 60
	// someGarbage is used while reading so many pipelines that the reading time matters: each
	// collection scans everything read so far, and takes longer the more that is.
	someGarbage       = 80
	veryManyPipelines = 50_000
	// manyPipelines is the count above which memory matters more than the CPU time needed to save
	// it: definitions are never garbage, and at 100% as much memory again would be wasted.
	manyPipelines = 5000
)

// ReadSparingly must be called before a process reads that many pipelines. It keeps garbage low
// while reading: otherwise the definitions would be scattered among temporary data, and the heap
// would stay fragmented.
func ReadSparingly(pipelines int) {
	if pipelines >= veryManyPipelines {
		allow(someGarbage)
		return
	}
	allow(littleGarbage)
}

// SpareMemory must be called once a process holds that many pipelines. If they are many, it returns
// the memory used for reading to the operating system and limits garbage from then on. It does not
// override a limit set with GOGC.
func SpareMemory(pipelines int) {
	if pipelines < manyPipelines {
		allow(usualGarbage)
		return
	}
	allow(littleGarbage)
	debug.FreeOSMemory()
}

func allow(garbage int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
