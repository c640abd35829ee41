package explain_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/prober"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const probed = `
pipeline: {id: probed, owner: data}
schedule: {cron: "0 8 * * *", evaluation: {window: 3h, interval: 10m}}
probes: [{key: landing, command: x, interval: 1m}, {key: quality, command: x, ttl: 20m}]
validation:
  rules:
    - {key: landing, check: equals, field: status, value: PASS}
    - {key: quality, check: equals, field: status, value: PASS}
job: {type: command, config: {command: [load]}}
`

// remember stores the state of a probe.
func (w *world) remember(id, key string, s probe.State) {
	w.Helper()
	read, err := w.Store.Note(ctx, store.ProbeNote, id+"/"+key)
	if err != nil {
		read = store.Note{}
	}
	data, err := json.Marshal(s)
	w.Check(err)
	b := store.Batch{ID: fmt.Sprint("remember ", key, w.Now())}
	b.SwapNote(read, store.Note{Kind: store.ProbeNote, Key: prober.NoteKey(w.Catalog.Current().Get("probed").ID, key), Data: data})
	w.Check(w.Store.Commit(ctx, b, w.Now()))
}

func TestProbesOfAClosedGateAreDescribed(t *testing.T) {
	w := newWorld(t, probed)
	w.Pass(23 * time.Hour)
	w.says(w.explain("probed", ""), explain.Waiting,
		"Probes:", "landing: has not run yet", `landing with status equals "PASS"; its probe runs every 1m`,
		`quality with status equals "PASS"; its probe runs while a run waits, and an answer is valid for 20m`)

	state := probe.State{}.For(w.Catalog.Current().Get("probed").Version)
	state = state.Answer(probe.Answer{Status: probe.Fail, Reason: "12 files are missing"}, "2026-03-04", w.Now(), w.Now(), w.Now().Add(time.Hour))
	w.remember("probed", "landing", state)
	for range 3 {
		state = state.Break(&probe.Failure{Category: run.Timeout, Reason: "gave no answer"}, w.Now())
	}
	w.remember("probed", "quality", state)
	w.says(w.explain("probed", ""), explain.Waiting,
		"landing: FAIL for 2026-03-04, answered 2026-03-04T08:10:00Z (now): 12 files are missing",
		"could not answer 3 times in a row since 2026-03-04T08:10:00Z, last 2026-03-04T08:10:00Z (now): gave no answer; it runs again at the earliest 2026-03-04T08:10:40Z (in 40s)")
}
