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
func checkTogether(entries []*entry, whole bool) {
	g := graph{byID: map[ID][]*entry{}, unknown: map[string]string{}}
	for _, e := range entries {
		if id := e.file.Pipeline.ID; e.doc != nil && id != "" {
			g.byID[id] = append(g.byID[id], e)
		}
	}
	g.severity = document.Warning
	if whole {
		g.severity = document.Error
	}
	g.names = slices.Sorted(maps.Keys(g.byID))
	g.refuseRepeatedIDs()
	for _, e := range entries {
		if e.doc != nil {
			g.checkNames(e)
		}
	}
	g.findCycles()
}

// graph is the pipelines by id and what they follow.
type graph struct {
	byID     map[ID][]*entry
	names    []ID
	severity document.Severity // of a name that is not among the files
	unknown  map[string]string // what is said of such a name; many files may use one
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
	for i, id := range e.after() {
		g.checkName(e, fmt.Sprintf("schedule.after[%d]", i), string(id))
	}
	if s := e.file.Schedule; s != nil && s.Trigger != nil {
		g.checkName(e, "schedule.trigger.from", s.Trigger.From)
	}
	if v := e.file.Validation; v != nil {
		g.checkFrom(e, "validation.rules", v.Rules)
	}
	if p := e.file.PostRun; p != nil {
		g.checkFrom(e, "postRun.rules", p.Rules)
	}
}

func (g *graph) checkFrom(e *entry, path string, rules []rule.Rule) {
	for at, leaf := range rule.Leaves(rules) {
		g.checkName(e, path+at+".from", leaf.From)
	}
}

func (g *graph) checkName(e *entry, path, name string) {
	if name == "" || len(g.byID[ID(name)]) > 0 {
		return
	}
	message, told := g.unknown[name]
	if !told {
		message = g.unknownMessage(name)
		g.unknown[name] = message
	}
	e.report(document.Finding{Path: path, Severity: g.severity, Message: message})
}

func (g *graph) unknownMessage(name string) string {
	known := make([]string, len(g.names))
	for i, id := range g.names {
		known[i] = string(id)
	}
	message := fmt.Sprintf("there is no pipeline %q among the files given", name)
	if near, ok := document.Suggest(name, known); ok {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return message
}

// after lists e's upstreams.
func (e *entry) after() []ID {
	if s := e.file.Schedule; s != nil && s.After != nil {
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
	for _, upstream := range g.byID[id][0].after() {
		g.walk(upstream, append(trail, id), done)
	}
	done[id] = true
}

func (g *graph) reportCycle(cycle []ID) {
	for i, id := range cycle {
		e := g.byID[id][0]
		at := slices.Index(e.after(), cycle[(i+1)%len(cycle)])
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
