package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// checkTogether reports problems of several files together: duplicate ids, unknown upstreams,
// cycles, upstreams in other zones.
func checkTogether(entries []*entry, shelf *shelf, opts Options) {
	g := graph{shelf: shelf, shared: opts.Shared, byID: make(map[ID][]*entry, len(entries)), unknown: map[ID]ID{}}
	for _, e := range entries {
		if e.id != "" {
			g.byID[e.id] = append(g.byID[e.id], e)
		}
	}
	g.refuseRepeatedIDs()
	g.standIn(entries, opts.Active)
	g.severity = document.Warning
	if opts.Whole {
		g.severity = document.Error
	}
	g.names = slices.Sorted(maps.Keys(g.byID))
	for _, e := range entries {
		g.checkNames(e)
		g.checkCounts(e)
		g.checkZones(e)
	}
	g.findCycles()
}

// graph holds the pipelines by id, and their upstreams.
type graph struct {
	shelf    *shelf
	shared   bool // Options.Shared
	byID     map[ID][]*entry
	names    []ID
	lost     []string          // files that cannot be read, and whose pipeline is unknown
	severity document.Severity // severity of an unknown name
	unknown  map[ID]ID         // the closest known name to an unknown one; many files may use one
}

// standIn makes each file whose pipeline cannot be determined count as the active version that was
// read from it, unless another file now has that pipeline.
func (g *graph) standIn(entries []*entry, active func(file string) *Definition) {
	for _, e := range entries {
		if e.id.Valid() {
			continue
		}
		var d *Definition
		if active != nil {
			d = active(e.source.File)
		}
		switch {
		case d == nil && e.unread:
			g.lost = append(g.lost, e.source.File)
		case d != nil && g.missing(d.ID):
			g.byID[d.ID] = []*entry{{source: e.source, id: d.ID, after: d.After}}
		}
	}
}

func (g *graph) refuseRepeatedIDs() {
	for id, same := range g.byID {
		if len(same) < 2 {
			continue
		}
		for _, e := range same {
			e.report(document.Finding{Path: "pipeline.id", Message: fmt.Sprintf(
				"%q is also the id in %s; give each pipeline a unique id", id, otherFiles(e, same))})
		}
	}
}

// maxNamed is how many names a message lists; a problem of many files is reported in each of them.
const maxNamed = 6

// otherFiles lists the files of the other entries.
func otherFiles(e *entry, all []*entry) string {
	var others []string
	for _, other := range all {
		if other != e && len(others) < maxNamed {
			others = append(others, other.source.File)
		}
	}
	return firstOf(others, len(all)-1)
}

// firstOf lists the first of n files.
func firstOf(files []string, n int) string {
	list := strings.Join(files, ", ")
	if more := n - len(files); more > 0 {
		list += fmt.Sprintf(" and %d more files", more)
	}
	return list
}

// checkNames reports the pipelines that e refers to and that do not exist.
func (g *graph) checkNames(e *entry) {
	if e.def != nil && slices.ContainsFunc(e.names, func(n name) bool { return n.path == "" && g.missing(n.id) }) {
		e.names = readEntry(e.source, g.shelf).names // to find the position
	}
	for _, n := range e.names {
		if g.missing(n.id) {
			e.report(document.Finding{Path: n.path, Severity: g.severity, Message: g.unknownMessage(e.id, n.id)})
		}
	}
}

func (g *graph) missing(id ID) bool { return len(g.byID[id]) == 0 }

// names lists the pipelines that a file refers to: its upstreams, and those whose sensors it reads.
func (f *File) names() []name {
	var names []name
	add := func(path string, id ID) {
		if id != "" {
			names = append(names, name{path, id})
		}
	}
	if up := f.Schedule.After; up != nil {
		for i, id := range up.ids {
			add(fmt.Sprintf("schedule.after[%d]", up.places[i]), id)
		}
	}
	if t := f.Schedule.Trigger; t != nil {
		add("schedule.trigger.from", ID(t.From))
	}
	if v := f.Validation; v != nil {
		for at, leaf := range rule.Leaves(v.Rules) {
			add("validation.rules"+at+".from", ID(leaf.From))
		}
	}
	if p := f.PostRun; p != nil {
		for at, leaf := range rule.Leaves(p.Rules) {
			add("postRun.rules"+at+".from", ID(leaf.From))
		}
	}
	return names
}

// unknownMessage describes an unknown name used in the file of own.
func (g *graph) unknownMessage(own, id ID) string {
	message := fmt.Sprintf("there is no pipeline %q among these files", id)
	if n := len(g.lost); n > 0 {
		message += fmt.Sprintf("; it may be in %s, which cannot be read", firstOf(g.lost[:min(n, maxNamed)], n))
	}
	if g.shared && len(g.lost) == 0 {
		return message + "; `interlock validate` suggests a name"
	}
	if g.shared {
		return message + "; correct that first"
	}
	near := g.nearest(id)
	if near != "" && near == own { // never suggest the pipeline itself
		near = g.near(id, own)
	}
	switch {
	case near != "":
		message += fmt.Sprintf("; did you mean %q?", near)
	case len(g.lost) > 0:
		message += "; correct that first"
	}
	return message
}

// nearest returns the pipeline that was most likely meant; "" if none is close.
func (g *graph) nearest(id ID) ID {
	near, asked := g.unknown[id]
	if !asked {
		near = g.near(id, "")
		g.unknown[id] = near
	}
	return near
}

// near is nearest, excluding one pipeline and uncached.
func (g *graph) near(id, without ID) ID {
	known := make([]string, 0, len(g.names))
	for _, name := range g.names {
		if name != without {
			known = append(known, string(name))
		}
	}
	near, _ := document.Suggest(string(id), known)
	return ID(near)
}

// after lists the upstreams, and their places in the list.
func (f *File) after() ([]ID, []int) {
	if up := f.Schedule.After; up != nil {
		return up.ids, up.places
	}
	return nil, nil
}

// findCycles reports every upstream that leads back to its pipeline, each with one cycle.
func (g *graph) findCycles() {
	r := rings{g: g, at: map[ID]int{}, low: map[ID]int{}, ring: map[ID]int{}, reported: map[step]bool{}}
	for _, id := range g.names {
		r.visit(id)
	}
	for _, id := range g.names {
		for _, upstream := range g.after(id) {
			if r.ring[upstream] == r.ring[id] && !r.reported[step{id, upstream}] {
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

// rings finds the strongly connected components of the graph, after Tarjan. Only an edge inside a
// component is part of a cycle. Pipelines without upstreams are in none.
type rings struct {
	g        *graph
	at, low  map[ID]int // from 1: visiting order, and the earliest pipeline it leads back to
	open     []ID       // visited, not yet in a component
	ring     map[ID]int // component number
	reported map[step]bool
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
		if r.reported[at] {
			continue
		}
		r.reported[at] = true
		e := r.g.byID[id][0]
		e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", e.placeOf(at.to)), Message: fmt.Sprintf(
			"upstreams form a cycle: %s; none of them could ever start", around(cycle, i))})
	}
}

// placeOf returns the place of an upstream in the file's list. A file that was read before has no
// wrong items, so its upstreams are the list.
func (e *entry) placeOf(upstream ID) int {
	i := slices.Index(e.after, upstream)
	if i < len(e.places) {
		return e.places[i]
	}
	return i
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
