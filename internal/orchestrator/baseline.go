package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// maxBaseline is how many bytes of readings are stored per run: more does not fit into a row of every store.
const maxBaseline = 256 << 10

// capture stores the post-run sensors' values at completion, by rule key, so that later drift can be detected. A key
// without a reading is left out: its first reading becomes its baseline.
func (w *work) capture(ctx context.Context, b *store.Batch, next run.Run, sensors []store.SeenSensor) error {
	if w.def.PostRun == nil {
		return nil
	}
	read, err := w.postRun(ctx)
	if err != nil {
		return err
	}
	baseline, kept, dropped := w.baseline(sensors)
	b.SwapPostRun(read, store.PostRun{Key: next.Key, Attempt: next.Attempt, CompletedAt: next.EndedAt, Baseline: baseline})
	if len(kept) > 0 {
		b.Emit(event.New(event.PostRunBaselineCaptured, w.about(), "stored the values of "+strings.Join(kept, ", ")+" at completion", event.Sensors{Sensors: kept}))
	}
	if len(dropped) > 0 {
		message := fmt.Sprintf("the values of %s at completion are too large to store", strings.Join(dropped, ", "))
		b.Emit(event.New(event.BaselineCaptureFailed, w.about(), message, event.Sensors{Sensors: dropped}))
	}
	return nil
}

// baseline returns the sensors' values as far as there is room, with the keys that were kept and those that were
// dropped.
func (w *work) baseline(sensors []store.SeenSensor) (baseline map[string]sensor.Fields, kept, dropped []string) {
	baseline = map[string]sensor.Fields{}
	room := maxBaseline
	for _, s := range sensors {
		if s.Version == 0 {
			continue
		}
		key := gate.RuleKey(w.def.ID, s.Pipeline, s.Key)
		text, err := json.Marshal(s.Fields)
		if err != nil || len(text) > room {
			dropped = append(dropped, key)
			continue
		}
		room -= len(text)
		baseline[key] = s.Fields
		kept = append(kept, key)
	}
	slices.Sort(kept)
	slices.Sort(dropped)
	return baseline, kept, dropped
}
