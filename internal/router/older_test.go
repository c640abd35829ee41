package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// patient returns a pipeline whose gate is evaluated each half hour, with more in its schedule.
func patient(schedule, more string) string {
	return fmt.Sprintf(`
pipeline: {id: orders, owner: data}
schedule: {evaluation: {window: 6h, interval: 30m}%s}
job: {type: command, config: {command: "true"}}
%s`, schedule, more)
}

func TestWriteWakesAnAttemptOfAnOlderVersionWhoseGateReadsIt(t *testing.T) {
	const arrival = ", trigger: {key: arrival, check: exists}"
	for name, c := range map[string]struct {
		before, after string // "" removes the file
		run           string
		open          func(w *world) // opens the gate of the attempt
	}{
		"only a post-run sensor by now": {
			patient(arrival, "validation: {rules: [{key: b, check: exists}]}"), patient(arrival, "postRun: {rules: [{key: b, check: exists}]}"),
			"stream", func(w *world) { w.Write("orders", "b#2026-03-03", "n=1") },
		},
		"another pipeline's sensor": {
			patient(arrival, "validation: {rules: [{key: b, check: exists, from: common}]}"), patient(arrival, ""),
			"stream", func(w *world) { w.Write("common", "b", "n=1") },
		},
		"a removed file": {
			patient(arrival, "validation: {rules: [{key: b, check: exists, from: common}]}"), "",
			"stream", func(w *world) { w.Write("common", "b", "n=1") },
		},
		"a day that an hour's version no longer reads": {
			patient(arrival, "validation: {rules: [{key: b, check: exists}]}"), patient(arrival+", period: hour", "validation: {rules: [{key: b, check: exists}]}"),
			"stream", func(w *world) { w.Write("orders", "b#2026-03-03", "n=1") },
		},
		"an upstream, of another schedule": {
			patient(", after: [up], cron: '15 9 * * *'", ""), patient(arrival, ""),
			"cron", func(w *world) {
				w.Write("up", "arrival", "n=1")
				w.succeed("up/stream/2026-03-03")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.before, source("up", ""), "pipeline: {id: common, owner: data}")
			w.Write("orders", "arrival#2026-03-03", "n=1")
			w.Pass(10 * time.Minute)
			w.expect("orders/"+c.run+"/2026-03-03", "PENDING 1")
			if c.after == "" {
				w.remove("orders")
			} else {
				w.apply(c.after)
			}
			w.Settle()
			w.Pass(time.Minute)
			c.open(w)
			w.expect("orders/"+c.run+"/2026-03-03", "RUNNING 1")
		})
	}
}

func TestWriteThatClosesTheGateOfAnOlderVersionWithdrawsItsOffer(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.stands("TRIGGERING 1: waiting for a worker")
	c.Apply(strings.Replace(outside, "{key: landed, check: equals, field: state, value: ready}", "{key: other, check: exists}", 1))
	c.Settle()
	c.Write("nightly", "landed#2026-03-03", "state=gone")
	c.stands("PENDING 1")
}

func TestRowForgetsOlderVersionsOnceNoAttemptHasThem(t *testing.T) {
	gated := "validation: {rules: [{key: b, check: exists}]}"
	w := newWorld(t, patient(", trigger: {key: arrival, check: exists}", gated))
	older := func() int {
		row, err := w.Store.Pipeline(ctx, "orders")
		w.Check(err)
		return len(row.Older)
	}
	edit := func(comment string) {
		w.apply(patient(", trigger: {key: arrival, check: exists}", gated+"\n# "+comment))
		w.Settle()
	}
	edit("nothing is open")
	same(t, "without attempts", 0, older())
	w.Write("orders", "arrival#2026-03-03", "n=1")
	edit("one is open")
	same(t, "with one", 1, older())
	w.Write("orders", "b#2026-03-03", "n=1")
	w.succeed("orders/stream/2026-03-03")
	w.Write("orders", "b#2026-03-03", "n=2")
	same(t, "after its end", 0, older())
	same(t, "readers", 0, len(w.Catalog.OlderReaders("orders", "b")))
}

// An attempt whose version is not available evaluates no gate, so a write need not wake it.
func TestVersionThatIsNotAvailableStopsNoWrite(t *testing.T) {
	const arrival = ", trigger: {key: arrival, check: exists}"
	w := newWorld(t, patient(arrival, "validation: {rules: [{key: b, check: exists}]}"))
	w.Write("orders", "arrival#2026-03-02", "n=1")
	w.Write("orders", "arrival#2026-03-03", "n=1")
	w.apply(patient(arrival, ""))
	w.Settle()
	old, err := w.Store.Run(ctx, w.Key("orders/stream/2026-03-02"))
	w.Check(err)
	next := old
	next.Progress.Opening.ConfigVersion = "lost"
	next.Version++
	b := store.Batch{ID: "lose"}
	b.Swap(old, next)
	w.Check(w.Store.Commit(ctx, b, w.Now()))
	w.Write("orders", "b#2026-03-03", "n=1")
	w.expect("orders/stream/2026-03-02", "PENDING 1")
	w.expect("orders/stream/2026-03-03", "RUNNING 1")
}
