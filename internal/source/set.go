// Package source derives readings from events of other tools. A source file says which events
// count, by JSONPath (RFC 9535) conditions, and which readings are written for each. A Set holds
// many sources, and finds those that an event may match without trying each of them. The package
// knows the envelopes of CloudEvents and OpenLineage.
//
// It never guesses: a field that an event does not have is left out, and if a period cannot be
// parsed nothing is written. It does no I/O. Package ingest writes the readings; package files
// reads the files.
package source

import (
	"cmp"
	"slices"
)

// Set is a set of sources, indexed by the values their conditions require. It is immutable.
type Set struct {
	all     []*Definition // by id
	byID    map[ID]*Definition
	formats map[Format]*index
}

// index finds the sources of one format that an event may match: those listed by the value of one
// of their conditions, and all the rest.
type index struct {
	lists []list
	rest  []*Definition
}

// list indexes sources by the text that a condition requires at one path.
type list struct {
	path   path
	byText map[string][]*Definition
}

// NewSet indexes sources, whose ids must be distinct.
func NewSet(all []*Definition) *Set {
	s := &Set{all: slices.Clone(all), byID: make(map[ID]*Definition, len(all)), formats: map[Format]*index{}}
	slices.SortFunc(s.all, byID)
	shared := countShared(all)
	for _, d := range s.all {
		s.byID[d.ID] = d
		if s.formats[d.Format] == nil {
			s.formats[d.Format] = &index{}
		}
		s.formats[d.Format].add(d, shared)
	}
	return s
}

func byID(a, b *Definition) int { return cmp.Compare(a.ID, b.ID) }

// All lists the sources by id. The list is shared and must not be changed.
func (s *Set) All() []*Definition { return s.all }

// Get returns the source with that id; nil if there is none.
func (s *Set) Get(id ID) *Definition { return s.byID[id] }

// Takes reports whether there is a source of that format.
func (s *Set) Takes(f Format) bool { return s.formats[f] != nil }

// wanted is a text that a condition requires at a path.
type wanted struct{ path, text string }

// texts lists the texts that a condition allows; nil if it also allows other values, or if the
// message does not show the value without being split or decoded.
func (c *condition) texts() []wanted {
	if c.path.element || len(c.path.decode) > 0 {
		return nil
	}
	var all []wanted
	for _, v := range c.values {
		text, ok := v.(string)
		if !ok {
			return nil
		}
		all = append(all, wanted{c.path.name, text})
	}
	return all
}

// countShared counts how many sources require each text.
func countShared(all []*Definition) map[wanted]int {
	shared := map[wanted]int{}
	for _, d := range all {
		for i := range d.conditions {
			for _, w := range d.conditions[i].texts() {
				shared[w]++
			}
		}
	}
	return shared
}

// add indexes d by the condition that the fewest sources share.
func (x *index) add(d *Definition, shared map[wanted]int) {
	best, fewest := -1, 0
	for i := range d.conditions {
		most := 0
		for _, w := range d.conditions[i].texts() {
			most = max(most, shared[w])
		}
		if most > 0 && (best < 0 || most < fewest) {
			best, fewest = i, most
		}
	}
	if best < 0 {
		x.rest = append(x.rest, d)
		return
	}
	c := &d.conditions[best]
	at := slices.IndexFunc(x.lists, func(l list) bool { return l.path.name == c.path.name })
	if at < 0 {
		at = len(x.lists)
		x.lists = append(x.lists, list{c.path, map[string][]*Definition{}})
	}
	for _, w := range c.texts() {
		if of := x.lists[at].byText[w.text]; !slices.Contains(of, d) {
			x.lists[at].byText[w.text] = append(of, d)
		}
	}
}

// Map applies every source of a format that matches an event, by id.
func (s *Set) Map(f Format, event map[string]any) []Mapped {
	x := s.formats[f]
	if x == nil {
		return nil
	}
	l := newLookup(event)
	var found []*Definition
	for i := range x.lists {
		values, _ := l.at(&x.lists[i].path) // it has nothing to decode
		for _, v := range values {
			if text, ok := v.(string); ok {
				found = append(found, x.lists[i].byText[text]...)
			}
		}
	}
	found = append(found, x.rest...)
	if len(found) > 1 {
		slices.SortFunc(found, byID)
		found = slices.Compact(found)
	}
	var out []Mapped
	for _, d := range found {
		if m, ok := d.mapped(l); ok {
			out = append(out, m)
		}
	}
	return out
}
