package sim

import (
	"context"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/panicked"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// A handler may recover panics, and with them the crash of its controller. Nothing that it does
// afterwards has an effect.
func TestHandlerThatRecoversACrashHasNoEffect(t *testing.T) {
	w := New(Options{})
	defer w.Close()
	w.Settle()
	h := w.hosts[0]
	h.do("stubborn", func(ctx context.Context) {
		if err := panicked.Catch(func() error { w.wait(w.now.Add(time.Hour)); return nil }); err == nil {
			t.Error("the controller did not die")
		}
		_, err := h.line.PutReadings(ctx, []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "landed"}}}, w.Now())
		t.Errorf("the store answered: %v", err)
	})
	w.Settle()
	w.crash(h, time.Minute)
	w.AdvanceTo(w.now.Add(2 * time.Hour))
	page, err := w.data.LatestReadings(context.Background(), store.LatestQuery{Pipeline: "orders"})
	if err != nil || len(page.Items) > 0 {
		t.Errorf("%d readings were written: %v", len(page.Items), err)
	}
}
