package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

const probed = `
pipeline: {id: probed, owner: data}
probes:
  - {key: landing, builtin: file-freshness, config: {path: /data}, interval: 90s}
  - {key: quality, url: "https://checks.example.com/q"}
`

func TestPipelineShowsTheStateOfItsProbes(t *testing.T) {
	w := newWorld(t)
	w.Apply(probed)
	w.Settle()
	state := probe.State{}.For(w.Catalog.Current().Get("probed").Version)
	state = state.Answer(probe.Answer{Status: probe.Pass, Reason: "all there"}, "2026-03-03", w.Now().Add(-time.Second), w.Now(), w.Now().Add(time.Minute))
	state = state.Break(&probe.Failure{Category: run.Timeout, Reason: "gave no answer"}, w.Now().Add(time.Minute))
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	b := store.Batch{ID: "x"}
	b.SwapNote(store.Note{}, store.Note{Kind: store.ProbeNote, Key: "probed/landing", Data: data})
	if err := w.Store.Commit(ctx, b, w.Now()); err != nil {
		t.Fatal(err)
	}
	got := w.get("/api/v1/pipelines/probed").object(200)["probes"]
	at := func(d time.Duration) string { return w.Now().Add(d).Format(time.RFC3339) }
	want := []any{
		map[string]any{
			"pipeline": "probed", "key": "landing", "kind": "builtin", "builtin": "file-freshness", "interval": "1m30s", "ttl": "3m", "timeout": "30s", "state": "failing",
			"answer": map[string]any{
				"at": at(0), "date": "2026-03-03", "status": "PASS", "reason": "all there", "expiresAt": at(time.Minute), "milliseconds": 1000.0,
			},
			"failures": map[string]any{
				"count": 1.0, "since": at(time.Minute), "at": at(time.Minute), "reason": "gave no answer", "category": "TIMEOUT", "nextTry": at(70 * time.Second),
			},
		},
		map[string]any{
			"pipeline": "probed", "key": "quality", "kind": "url", "builtin": nil, "interval": nil, "ttl": "5m", "timeout": "30s", "state": "new",
			"answer":   map[string]any{"at": nil, "date": nil, "status": nil, "reason": nil, "expiresAt": nil, "milliseconds": nil},
			"failures": map[string]any{"count": 0.0, "since": nil, "at": nil, "reason": nil, "category": nil, "nextTry": nil},
		},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
