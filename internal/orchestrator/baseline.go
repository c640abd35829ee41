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

// maxBaseline is how many bytes of readings are kept per run: more does not fit into a row everywhere.
const maxBaseline = 256 << 10

// capture stores what the post-run sensors show at completion, by rule key, so that a later move can be told. A key without
// a reading is left out: its first reading will be its baseline.
func (w *work) capture(ctx context.Context, b *store.Batch, next run.Run) error {
	if w.def.PostRun == nil {
		return nil
	}
	view, err := gate.Look(ctx, w.o.Store, gate.Question{
		Definition: w.def, Upstream: w.o.Catalog.Current().Definition, Period: next.Period, Gate: w.def.PostRun.Gate,
	}, w.now)
	if err != nil {
		return err
	}
	read, err := w.postRun(ctx)
	if err != nil {
		return err
	}
	baseline, kept, dropped := w.baseline(view)
	b.SwapPostRun(read, store.PostRun{Key: next.Key, Attempt: next.Attempt, CompletedAt: next.EndedAt, Baseline: baseline})
	if len(kept) > 0 {
		b.Emit(event.New(event.PostRunBaselineCaptured, w.about(), "stored what "+strings.Join(kept, ", ")+" showed at completion", event.Sensors{Sensors: kept}))
	}
	if len(dropped) > 0 {
		message := fmt.Sprintf("what %s showed at completion is too large to be stored", strings.Join(dropped, ", "))
		b.Emit(event.New(event.BaselineCaptureFailed, w.about(), message, event.Sensors{Sensors: dropped}))
	}
	return nil
}

// baseline is what the view's sensors show, as far as there is room for it, with the keys that were kept and those that
// were not.
func (w *work) baseline(view gate.View) (baseline map[string]sensor.Fields, kept, dropped []string) {
	baseline = map[string]sensor.Fields{}
	room := maxBaseline
	for _, s := range view.Sensors {
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
