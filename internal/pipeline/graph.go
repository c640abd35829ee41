package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// checkTogether reports what only several files together have wrong: one id twice, unknown upstreams, cycles.
func checkTogether(entries []*entry, shelf *shelf, whole bool) {
	g := graph{shelf: shelf, byID: make(map[ID][]*entry, len(entries)), unknown: map[ID]string{}}
	for _, e := range entries {
		if e.id != "" {
			g.byID[e.id] = append(g.byID[e.id], e)
		}
	}
	g.severity = document.Warning
	if whole {
		g.severity = document.Error
	}
	g.names = slices.Sorted(maps.Keys(g.byID))
	g.refuseRepeatedIDs()
	for _, e := range entries {
		g.checkNames(e)
	}
	g.findCycles()
}

// graph is the pipelines by id and what they follow.
type graph struct {
	shelf    *shelf
	byID     map[ID][]*entry
	names    []ID
	severity document.Severity // of a name that is not among the files
	unknown  map[ID]string     // what is said of such a name; many files may use one
}

func (g *graph) refuseRepeatedIDs() {
	for _, id := range g.names {
		same := g.byID[id]
		if len(same) < 2 {
			continue
		}
		for _, e := range same {
			e.report(document.Finding{Path: "pipeline.id", Message: fmt.Sprintf(
				"%q is also the id in %s; give each pipeline its own", id, otherFiles(e, same))})
		}
	}
}

// maxNamed is how many names a message lists; what is wrong with many files is told in each of them.
const maxNamed = 6

// otherFiles lists the files of the entries that are not e.
func otherFiles(e *entry, all []*entry) string {
	var others []string
	for _, other := range all {
		if other != e {
			others = append(others, other.source.File)
		}
		if len(others) == maxNamed && len(all) > maxNamed+1 {
			return fmt.Sprintf("%s and %d more files", strings.Join(others, ", "), len(all)-1-maxNamed)
		}
	}
	return strings.Join(others, ", ")
}

// checkNames reports the pipelines that e names and that are not there.
func (g *graph) checkNames(e *entry) {
	if e.def != nil && slices.ContainsFunc(e.names, func(n name) bool { return n.path == "" && g.missing(n.id) }) {
		e.names = readEntry(e.source, g.shelf).names // to say where
	}
	for _, n := range e.names {
		if g.missing(n.id) {
			e.report(document.Finding{Path: n.path, Severity: g.severity, Message: g.unknownMessage(n.id)})
		}
	}
}

func (g *graph) missing(id ID) bool { return len(g.byID[id]) == 0 }

// names lists the pipelines that a file names: its upstreams, and whose sensors it reads.
func (f *File) names() []name {
	var names []name
	add := func(path string, id ID) {
		if id != "" {
			names = append(names, name{path, id})
		}
	}
	for i, id := range f.after() {
		add(fmt.Sprintf("schedule.after[%d]", i), id)
	}
	if s := f.Schedule; s != nil && s.Trigger != nil {
		add("schedule.trigger.from", ID(s.Trigger.From))
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

func (g *graph) unknownMessage(id ID) string {
	if message, told := g.unknown[id]; told {
		return message
	}
	known := make([]string, len(g.names))
	for i, name := range g.names {
		known[i] = string(name)
	}
	message := fmt.Sprintf("there is no pipeline %q among the files given", id)
	if near, ok := document.Suggest(string(id), known); ok {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	g.unknown[id] = message
	return message
}

// after lists the upstreams.
func (f *File) after() []ID {
	if s := f.Schedule; s != nil && s.After != nil {
		return s.After.ids
	}
	return nil
}

// findCycles reports each cycle of upstreams once in every file that is part of it.
func (g *graph) findCycles() {
	done := map[ID]bool{}
	for _, id := range g.names {
		g.walk(id, nil, done)
	}
}

// walk follows upstreams depth first; trail is the way from the start to id.
func (g *graph) walk(id ID, trail []ID, done map[ID]bool) {
	if start := slices.Index(trail, id); start >= 0 {
		g.reportCycle(trail[start:])
		return
	}
	if done[id] || len(g.byID[id]) == 0 {
		return
	}
	for _, upstream := range g.byID[id][0].after {
		g.walk(upstream, append(trail, id), done)
	}
	done[id] = true
}

func (g *graph) reportCycle(cycle []ID) {
	for i, id := range cycle {
		e := g.byID[id][0]
		at := slices.Index(e.after, cycle[(i+1)%len(cycle)])
		e.report(document.Finding{Path: fmt.Sprintf("schedule.after[%d]", at), Message: fmt.Sprintf(
			"upstreams form a cycle: %s; none of them could ever start", around(cycle, i))})
	}
}

// around writes the way around a cycle from the i-th pipeline back to it.
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
