package main

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// startedPaused is the reason of the pause that serve --paused begins.
const startedPaused = "started paused"

// pauseFirst pauses all pipelines if the server starts with --paused; deadlines that an earlier
// pause of all pipelines holds stay held. Otherwise it completes a pause that the process before
// could not copy to every pipeline. It runs before the files are applied, before the engine starts
// and before a request is served, so nothing can start before the pause.
func (c *controller) pauseFirst(ctx context.Context) error {
	now := time.Now()
	if !c.around.paused {
		_, err := c.parts.Router.SpreadPause(ctx, now)
		return err
	}
	all, err := c.pauseOfAll(ctx)
	if err == nil {
		p := store.Pause{By: "server", Why: startedPaused, HoldSLA: all.HoldSLA}
		_, err = c.parts.Router.PauseAll(ctx, p, now)
	}
	if err != nil {
		return fmt.Errorf("pause all pipelines before the start: %w", err)
	}
	return nil
}

// pauseOfAll returns the pause of all pipelines; the zero Pause if there is none.
func (c *controller) pauseOfAll(ctx context.Context) (store.Pause, error) {
	row, err := store.IfFound(c.store.Pipeline(ctx, store.AllPipelines))
	if err != nil {
		return store.Pause{}, fmt.Errorf("read the pause of all pipelines: %w", err)
	}
	if !row.Pause.Active() {
		return store.Pause{}, nil
	}
	return row.Pause, nil
}

// pausedNotice says that all pipelines are paused and how to end that; "" if they are not.
func (c *controller) pausedNotice(ctx context.Context) string {
	p, err := c.pauseOfAll(ctx)
	if err != nil || !p.Active() {
		return "" // if the store cannot be read, its own check says so
	}
	until := ""
	if !p.Until.IsZero() {
		until = " until " + period.Stamp(p.Until)
	}
	return fmt.Sprintf("all pipelines are paused by %s since %s%s: %s; `interlock resume --all` ends it", p.By, period.Stamp(p.Since), until, p.Why)
}

// pauseCheck reports a pause of all pipelines. The controller is ready all the same.
func (c *controller) pauseCheck(ctx context.Context) []client.HealthCheck {
	notice := c.pausedNotice(ctx)
	if notice == "" {
		return nil
	}
	return []client.HealthCheck{{Name: "pause", OK: true, Detail: notice}}
}
