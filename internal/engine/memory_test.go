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

func TestTimeIsSparedWithFewPipelines(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	engine.SpareMemory(10)
	if garbage() <= 100 {
		t.Errorf("with few pipelines, garbage may be %d%%", garbage())
	}
	debug.SetGCPercent(100)
	engine.SpareMemory(2000)
	if garbage() != 100 {
		t.Errorf("with some pipelines, garbage may be %d%%", garbage())
	}
}

func TestMemoryIsSparedWithManyPipelines(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
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
	for _, pipelines := range []int{10, 100_000} {
		engine.SpareMemory(pipelines)
		if garbage() != 300 {
			t.Errorf("somebody chose 300%%, and with %d pipelines it is %d%%", pipelines, garbage())
		}
	}
}
