package main

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// probeEvery is how often the store is probed, and so how late a full disk is noticed while nothing is written.
const probeEvery = 5 * time.Second

// storeWatch probes the store, and reports once when it stops taking changes from outside and once when it takes them again.
type storeWatch struct {
	c         *controller
	since     time.Time // zero while it takes changes
	announced bool      // INFRA_ALARM is stored
}

func (c *controller) storeTick() []engine.Tick {
	if c.store.probe == nil {
		return nil
	}
	w := &storeWatch{c: c}
	return []engine.Tick{{Name: "store", Every: probeEvery, Do: w.look}}
}

func (w *storeWatch) look(ctx context.Context, now time.Time) error {
	err := w.c.store.probe(ctx)
	if err != nil && store.FaultOf(err) == nil {
		return err
	}
	switch {
	case err != nil && w.since.IsZero():
		w.since = now
		w.c.logger.Error("the store accepts no writes from outside", "error", err)
	case err == nil && !w.since.IsZero():
		w.c.logger.Info("the store accepts writes again")
	}
	switch {
	case err != nil && !w.announced:
		// Where not even this can be stored, the log and /readyz have said it, and it is tried again.
		w.announced = w.announce(ctx, "ALARM", store.FaultOf(err).Remedy, now) == nil
	case err == nil && w.announced:
		if err := w.announce(ctx, "OK", "the store accepts writes again", now); err != nil {
			return err
		}
		w.announced = false
	}
	if err == nil {
		w.since = time.Time{}
	}
	return nil
}

func (w *storeWatch) announce(ctx context.Context, state, message string, now time.Time) error {
	which := fmt.Sprintf("store %s since %s", state, w.since.UTC().Format(time.RFC3339Nano))
	b := store.Batch{ID: which}
	b.Emit(event.New(event.InfraAlarm, event.About{Which: which, At: now}, message, event.Alarm{Alarm: "store", State: state}))
	return w.c.store.Commit(ctx, b, now)
}

// storeCheck reports whether the store takes changes from outside.
func (c *controller) storeCheck() []client.HealthCheck {
	if c.store.trouble == nil {
		return nil
	}
	if err := c.store.trouble(); err != nil {
		return []client.HealthCheck{{Name: "store", Detail: err.Error()}}
	}
	return []client.HealthCheck{{Name: "store", OK: true, Detail: "accepts writes"}}
}
