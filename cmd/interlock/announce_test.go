//go:build unix

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// TestDeferredWorkerKeepsItsAttemptAcrossRestarts lets a worker announce a silence that is longer than
// its heartbeat, kills the controller, and lets another process of the worker go on with the same key.
func TestDeferredWorkerKeepsItsAttemptAcrossRestarts(t *testing.T) {
	play := func(t *testing.T, config string) {
		g := newGround(t, builtBinary(t), config)
		g.pipeline("nightly", "job: {type: external, config: {heartbeat: 10s}, maxRetries: 1, retryBackoff: 1s}\n")
		d := g.start()
		key := offerNightly(g, d)
		random := client.IdempotencyKey("a random key")
		c, err := d.api.Claim(g.Context(), key, "host-1", random)
		g.check(err)
		permit := client.Permit(c.Permit)
		beaten, err := d.api.Beat(g.Context(), key, client.Beat{NextWithin: 20 * time.Minute, Seq: 2}, permit)
		g.check(err)
		if beaten.NextBy == nil || !beaten.Deadline.Equal(c.Deadline) || time.Until(*beaten.NextBy) < 19*time.Minute {
			t.Fatalf("the silence was answered with %+v", beaten)
		}
		d.kill()
		d = g.start()
		late, err := d.api.Beat(g.Context(), key, client.Beat{Seq: 1}, permit) // it was on its way
		g.check(err)
		if late.NextBy == nil || !late.NextBy.Equal(*beaten.NextBy) {
			t.Errorf("a delayed heartbeat moved nextBy from %s to %v", beaten.NextBy, late.NextBy)
		}
		again, err := d.api.Claim(g.Context(), key, "host-2", random)
		g.check(err)
		if again.Permit != c.Permit || again.Attempt != 1 || again.Seq != 2 || !again.Deadline.Equal(c.Deadline) {
			t.Errorf("claimed again: %+v, first: %+v", again, c)
		}
		if code := refusedAs(d.api.Claim(g.Context(), key, "host-2", client.IdempotencyKey("another"))); code != "held" {
			t.Errorf("a claim with another key is refused as %q", code)
		}
		_, err = d.api.Report(g.Context(), key, client.JobReport{Result: "success"}, permit)
		g.check(err)
		until(t, "the run is COMPLETED", func() bool {
			got, err := d.api.Run(g.Context(), key)
			return err == nil && got.Status == client.Completed
		})
		if code := refusedAs(d.api.Claim(g.Context(), key, "host-1", random)); code != "done" {
			t.Errorf("a claim after the end is refused as %q", code)
		}
		if code := refusedAs(d.api.Beat(g.Context(), key, client.Beat{}, permit)); code != "done" {
			t.Errorf("a heartbeat after the end is refused as %q", code)
		}
	}
	t.Run("embedded", func(t *testing.T) {
		builtBinary(t)
		t.Parallel()
		play(t, "")
	})
	t.Run("on Redis", func(t *testing.T) {
		builtBinary(t)
		server := redistest.Start(t)
		t.Parallel()
		play(t, "store: "+server.URL()+"\n")
	})
}

// refusedAs returns the code of the problem that a worker's request was answered with.
func refusedAs[T any](_ T, err error) string {
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return problem.Code
}

// offerNightly opens the run of a day and waits until it is offered.
func offerNightly(g *ground, d *daemon) client.RunKey {
	g.Helper()
	key, err := client.ParseRunKey("nightly/manual/2026-03-02")
	g.check(err)
	_, err = d.api.Trigger(g.Context(), client.TriggerRequest{Pipeline: "nightly", Date: "2026-03-02"})
	g.check(err)
	until(g.T, key.String()+" is offered", func() bool {
		got, err := d.api.Run(g.Context(), key)
		return err == nil && got.Phase == "offered"
	})
	return key
}

// TestPermitWritesTheResultsOfItsRun writes readings of dbt with a permit, one by one and in a batch, as
// exec does.
func TestPermitWritesTheResultsOfItsRun(t *testing.T) {
	g := newGround(t, builtBinary(t), "")
	g.pipeline("nightly", "validation: {rules: [{key: dbt/node/raw, check: exists}]}\njob: {type: external}\n")
	d := g.start()
	d.put("nightly", "dbt/node/raw#2026-03-02", map[string]any{"status": "pass"})
	key := offerNightly(g, d)
	c, err := d.api.Claim(g.Context(), key, "host-1")
	g.check(err)
	permit := client.Permit(c.Permit)
	_, err = d.api.PutSensor(g.Context(), "nightly", "dbt/run#2026-03-02", map[string]any{"status": "pass"}, permit, client.WithSource("dbt"))
	g.check(err)
	_, err = d.api.PutSensors(g.Context(), []client.SensorWrite{{Pipeline: "nightly", Key: "soda/scan#2026-03-02", Data: map[string]any{"status": nil}}}, permit)
	g.check(err)
	read, err := d.api.Sensor(g.Context(), "nightly", "dbt/run", "2026-03-02")
	g.check(err)
	if read.Source == nil || *read.Source != "dbt (attempt nightly/manual/2026-03-02/1)" {
		t.Errorf("the reading was written by %v", read.Source)
	}
	_, err = d.api.PutSensor(g.Context(), "nightly", "dbt/node/raw#2026-03-02", map[string]any{"status": "pass"}, permit)
	if err == nil || !strings.Contains(err.Error(), `the gate of nightly/manual/2026-03-02/1 reads "dbt/node/raw"`) {
		t.Errorf("writing an input of the gate is answered with %v", err)
	}
}
