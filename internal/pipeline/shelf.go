package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// shelf is what pipeline files refer to by name: job types, calendars, archetypes. It does not change once made.
type shelf struct {
	jobs       []JobKind
	platform   Platform
	calendars  map[string]calendar
	archetypes map[string]*archetype
	problems   []document.Problem
	texts      map[string][]byte // of the files with problems
}

func newShelf(opts Options) *shelf {
	s := &shelf{
		jobs: opts.Jobs, platform: opts.Platform,
		calendars: map[string]calendar{}, archetypes: map[string]*archetype{},
		texts: map[string][]byte{},
	}
	first := map[string]string{}
	for _, src := range opts.Calendars {
		if c, ok := readShelved(s, src, "calendar", first, readCalendar); ok {
			s.calendars[c.Name] = c
		}
	}
	clear(first)
	for _, src := range opts.Archetypes {
		if a, ok := readShelved(s, src, "archetype", first, readArchetype); ok {
			s.archetypes[a.file.Name] = a
		}
	}
	return s
}

// readShelved reads one named file; a second file with the same name is reported and does not replace the first.
func readShelved[T named](s *shelf, src Source, what string, first map[string]string, read func(Source) (T, []document.Problem)) (T, bool) {
	value, problems := read(src)
	ok := !failed(problems)
	if ok {
		if other, taken := first[value.name()]; taken {
			problems = append(problems, document.Problem{
				File: src.File, Line: 1, Column: 1, Path: "name", Severity: document.Error,
				Message: fmt.Sprintf("%s %q is also in %s; give one of them another name", what, value.name(), other),
			})
			ok = false
		} else {
			first[value.name()] = src.File
		}
	}
	if len(problems) > 0 {
		s.problems = append(s.problems, problems...)
		s.texts[src.File] = src.Data
	}
	return value, ok
}

type named interface{ name() string }

// withSource adds a file that is not in the list yet.
func withSource(list []Source, src Source) []Source {
	for _, known := range list {
		if known.File == src.File {
			return list
		}
	}
	return append(list, src)
}

// unknownName says that nothing on the shelf has that name, with the closest that is there.
func unknownName[T any](what, name string, known map[string]T, flag string) string {
	names := slices.Sorted(maps.Keys(known))
	if near, ok := document.Suggest(name, names); ok {
		return fmt.Sprintf("there is no %s %q; did you mean %q?", what, name, near)
	}
	if len(names) == 0 {
		return fmt.Sprintf("there is no %s %q, because none were given; name their directory with %s", what, name, flag)
	}
	return fmt.Sprintf("there is no %s %q; known are %s", what, name, strings.Join(names, ", "))
}
