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

// limited begins with a limit of garbage, and with what somebody chose for GOGC.
func limited(t *testing.T, limit int, chosen string) {
	before := debug.SetGCPercent(limit)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", chosen)
}

func TestMemoryIsSparedWithManyPipelinesAndTimeWithFew(t *testing.T) {
	limited(t, 100, "")
	for range 2 {
		engine.ReadSparingly(10)
		few := garbage()
		engine.ReadSparingly(100_000)
		if many := garbage(); few >= many || many >= 100 {
			t.Errorf("while pipelines are read, garbage may be %d%%, and %d%% with very many", few, many)
		}
		engine.SpareMemory(100_000)
		if garbage() >= 100 {
			t.Errorf("with many pipelines, garbage may be %d%%", garbage())
		}
		engine.SpareMemory(2000)
		if garbage() != 100 {
			t.Errorf("with some pipelines, garbage may be %d%%", garbage())
		}
		engine.SpareMemory(10)
		if garbage() <= 100 {
			t.Errorf("with few pipelines, garbage may be %d%%", garbage())
		}
	}
}

func TestChosenLimitOfGarbageStays(t *testing.T) {
	limited(t, 300, "300")
	engine.ReadSparingly(100_000)
	for _, pipelines := range []int{10, 2000, 100_000} {
		engine.SpareMemory(pipelines)
		if garbage() != 300 {
			t.Errorf("somebody chose 300%%, and with %d pipelines it is %d%%", pipelines, garbage())
		}
	}
}
