package engine_test

import (
	"runtime/debug"
	"testing"

	"github.com/interlock-go/interlock/internal/engine"
)

// garbage returns the current GC percentage.
func garbage() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}

// limited sets the GC percentage and GOGC for a test.
func limited(t *testing.T, limit int, chosen string) {
	before := debug.SetGCPercent(limit)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", chosen)
}

func TestGCSavesMemoryWithManyPipelines(t *testing.T) {
	limited(t, 100, "")
	for range 2 {
		engine.ReadSparingly(0) // a first start knows no number yet
		unknown := garbage()
		engine.ReadSparingly(100_000)
		if veryMany := garbage(); unknown >= veryMany || veryMany >= 100 {
			t.Errorf("while reading pipelines, GC percentage is %d%% at a first start, and %d%% with very many", unknown, veryMany)
		}
		engine.SpareMemory(100_000)
		if garbage() >= 100 {
			t.Errorf("with many pipelines, GC percentage is %d%%", garbage())
		}
		engine.SpareMemory(10)
		if garbage() != 100 {
			t.Errorf("with few pipelines, GC percentage is %d%%", garbage())
		}
	}
}

func TestGOGCIsNotOverridden(t *testing.T) {
	limited(t, 300, "300")
	engine.ReadSparingly(100_000)
	for _, pipelines := range []int{10, 2000, 100_000} {
		engine.SpareMemory(pipelines)
		if garbage() != 300 {
			t.Errorf("GOGC is 300, but with %d pipelines the GC percentage is %d%%", pipelines, garbage())
		}
	}
}
