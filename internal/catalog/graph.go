package catalog

import (
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
)

// How a pipeline waits for another one.
const (
	BySensor = "sensor" // its gate or start condition reads a sensor of the other (from)
	ByRun    = "after"  // the run of the other must be COMPLETED (schedule.after)
)

// WaitsFor returns the pipelines that e waits for, and how it waits for each.
func (e *Entry) WaitsFor() map[pipeline.ID]string {
	found := map[pipeline.ID]string{}
	gates := []*rule.Gate{e.Gate}
	if e.Start != nil {
		gates = append(gates, e.Start.Gate)
	}
	for _, g := range gates {
		if g == nil {
			continue
		}
		for _, ref := range g.Refs() {
			if ref.From != "" && ref.From != string(e.ID) {
				found[pipeline.ID(ref.From)] = BySensor
			}
		}
	}
	for _, id := range e.After {
		found[id] = ByRun
	}
	return found
}

// Waiting returns, for each pipeline, the pipelines that wait for it, by id.
func (s *Snapshot) Waiting() map[pipeline.ID][]pipeline.ID {
	waiting := map[pipeline.ID][]pipeline.ID{}
	for _, e := range s.all {
		for up := range e.WaitsFor() {
			waiting[up] = append(waiting[up], e.ID)
		}
	}
	return waiting
}

// Downstream lists, by id, the pipelines that wait for id, those that wait for these, and so on.
func (s *Snapshot) Downstream(id pipeline.ID) []pipeline.ID {
	waiting := s.Waiting()
	seen := map[pipeline.ID]bool{id: true}
	var all []pipeline.ID
	for next := []pipeline.ID{id}; len(next) > 0; next = next[1:] {
		for _, other := range waiting[next[0]] {
			if !seen[other] {
				seen[other] = true
				all, next = append(all, other), append(next, other)
			}
		}
	}
	slices.Sort(all)
	return all
}
