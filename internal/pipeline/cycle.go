package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// findCycles reports every upstream that leads back to its pipeline, each with one cycle.
func (g *graph) findCycles() {
	r := rings{g: g, at: map[ID]int{}, low: map[ID]int{}, ring: map[ID]int{}, told: map[step]bool{}}
	for _, id := range g.names {
		r.visit(id)
	}
	for _, id := range g.names {
		for _, upstream := range g.after(id) {
			if r.ring[upstream] == r.ring[id] && !r.told[step{id, upstream}] {
				r.report(r.cycle(id, upstream))
			}
		}
	}
}

// after lists the upstreams of a pipeline; if several files have the same id, those of the first.
func (g *graph) after(id ID) []ID {
	if g.missing(id) {
		return nil
	}
	return g.byID[id][0].after
}

// step is the edge from a pipeline to one of its upstreams.
type step struct{ from, to ID }

// rings finds the strongly connected components of the graph, after Tarjan. Only an edge inside a component is part
// of a cycle. Pipelines without upstreams are in none.
type rings struct {
	g       *graph
	at, low map[ID]int // from 1: visiting order, and the earliest pipeline it leads back to
	open    []ID       // visited, not yet in a component
	ring    map[ID]int // component number
	told    map[step]bool
}

func (r *rings) visit(id ID) {
	if r.at[id] > 0 || len(r.g.after(id)) == 0 {
		return
	}
	r.at[id] = len(r.at) + 1
	r.low[id] = r.at[id]
	r.open = append(r.open, id)
	for _, upstream := range r.g.after(id) {
		r.visit(upstream)
		if r.at[upstream] > 0 && r.ring[upstream] == 0 {
			r.low[id] = min(r.low[id], r.low[upstream])
		}
	}
	for r.low[id] == r.at[id] && r.ring[id] == 0 { // the root of its component: the others were visited since
		last := len(r.open) - 1
		r.ring[r.open[last]] = r.at[id]
		r.open = r.open[:last]
	}
}

// cycle returns a shortest cycle that begins with the edge from a pipeline to that upstream.
func (r *rings) cycle(id, upstream ID) []ID {
	before := map[ID]ID{upstream: id}
	for next := []ID{upstream}; before[id] == ""; next = next[1:] {
		for _, further := range r.g.after(next[0]) {
			if _, seen := before[further]; !seen && r.ring[further] == r.ring[id] {
				before[further] = next[0]
				next = append(next, further)
			}
		}
	}
	cycle := []ID{id}
	for at := before[id]; at != id; at = before[at] {
		cycle = append(cycle, at)
	}
	slices.Reverse(cycle[1:])
	return cycle
}

// report reports a cycle in each of its files, at the edges that have not been reported yet.
func (r *rings) report(cycle []ID) {
	for i, id := range cycle {
		at := step{id, cycle[(i+1)%len(cycle)]}
		if r.told[at] {
			continue
		}
		r.told[at] = true
		e := r.g.byID[id][0]
		e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", slices.Index(e.after, at.to)), Message: fmt.Sprintf(
			"upstreams form a cycle: %s; none of them could ever start", around(cycle, i))})
	}
}

// around formats a cycle, starting and ending at the i-th pipeline.
func around(cycle []ID, i int) string {
	var names []string
	for j := range len(cycle) + 1 {
		switch {
		case len(cycle) <= maxNamed || j < maxNamed/2 || j > len(cycle)-maxNamed/2:
			names = append(names, string(cycle[(i+j)%len(cycle)]))
		case j == maxNamed/2:
			names = append(names, fmt.Sprintf("… (%d pipelines)", len(cycle)))
		}
	}
	return strings.Join(names, " → ")
}
