package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// away is a store that cannot be reached.
type away struct{ *memory.Store }

func (away) PutReadings(context.Context, []store.Write, time.Time) ([]store.Put, error) {
	return nil, fmt.Errorf("no connection to cache.internal: %w", store.ErrAway)
}

func TestUnreachableStoreIsServiceUnavailable(t *testing.T) {
	w := newWorld(t, func(d *api.Deps) { d.Store = away{d.Store.(*memory.Store)} })
	got := w.put(ordersSensors+"x", "{}")
	p := got.problem(503, "unavailable", "/readyz says why", "If this request changes something, it may or may not have done so")
	if strings.Contains(fmt.Sprint(p), "cache.internal") || !strings.Contains(w.log.String(), "cache.internal") {
		t.Errorf("the response contains the cause, which belongs only in the log: %v", p)
	}
	if got.header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After")
	}
}
