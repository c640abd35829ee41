package engine_test

import (
	"runtime/debug"
	"testing"

	"github.com/interlock-go/interlock/internal/engine"
)

// garbage is the limit in force.
func garbage() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

func TestMemoryIsSparedWithManyPipelines(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	engine.SpareMemory(10)
	if garbage() != 100 {
		t.Errorf("with few pipelines, garbage may be %d%%", garbage())
	}
	for range 2 {
		engine.SpareMemory(100_000)
		if garbage() >= 100 {
			t.Errorf("with many pipelines, garbage may be %d%%", garbage())
		}
	}
}

func TestChosenLimitOfGarbageStays(t *testing.T) {
	before := debug.SetGCPercent(300)
	defer debug.SetGCPercent(before)
	engine.SpareMemory(100_000)
	if garbage() != 300 {
		t.Errorf("somebody chose 300%%, and it is %d%%", garbage())
	}
}
