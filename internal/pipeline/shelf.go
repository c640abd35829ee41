package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

// shelf holds what pipeline files refer to by name: job types, calendars, archetypes. It is
// immutable once built.
type shelf struct {
	jobs       []JobKind
	platform   Platform
	timeLimit  time.Duration // limit of an attempt on the platform
	offers     *Offers
	noPrograms bool
	now        time.Time // zero: unknown
	calendars  rack[calendar]
	archetypes rack[*archetype]
	problems   []document.Problem
	named      []Named
	texts      map[string][]byte // contents of the files with problems
}

func newShelf(opts Options) *shelf {
	s := &shelf{
		jobs: opts.Jobs, platform: opts.Platform, timeLimit: cmp.Or(opts.TimeLimit, awsTimeLimit), texts: map[string][]byte{}, noPrograms: opts.NoPrograms, offers: opts.Offers, now: opts.Now,
		calendars:  newRack[calendar](CalendarFile, "--calendars DIR"),
		archetypes: newRack[*archetype](ArchetypeFile, "--archetypes DIR"),
	}
	for _, src := range opts.Calendars {
		putOn(s, &s.calendars, src, readCalendar)
	}
	for _, src := range opts.Archetypes {
		putOn(s, &s.archetypes, src, readArchetype)
	}
	return s
}

// putOn puts a file on a rack of the shelf, unless it is gone and its name is taken.
func putOn[T named](s *shelf, r *rack[T], src Source, read func(Source) (T, []document.Problem)) {
	value, problems := read(src)
	name := value.name()
	if _, taken := r.files[name]; taken && src.Gone {
		return
	}
	problems = r.put(src, name, value, problems)
	s.named = append(s.named, Named{Kind: r.kind, Name: name, Source: src})
	if len(problems) > 0 {
		s.problems = append(s.problems, problems...)
		s.texts[src.File] = src.Data
	}
}

// rack holds the files of one kind, by name.
type rack[T named] struct {
	kind       FileKind
	flag       string // the flag for their directory
	byName     map[string]T
	files      map[string]string // by name, including unusable ones
	unreadable string            // a file with errors whose name cannot be read
}

func newRack[T named](kind FileKind, flag string) rack[T] {
	return rack[T]{kind: kind, flag: flag, byName: map[string]T{}, files: map[string]string{}}
}

// put stores a file that was read and returns its problems. A second one with the same name is
// reported and does not replace the first.
func (r *rack[T]) put(src Source, name string, value T, problems []document.Problem) []document.Problem {
	if name == "" {
		r.unreadable = src.File
		return problems
	}
	if other, taken := r.files[name]; taken {
		return append(problems, document.Problem{
			File: src.File, Line: 1, Column: 1, Path: "name", Severity: document.Error,
			Message: fmt.Sprintf("%s %q is also in %s; give one of them another name", r.kind, name, other),
		})
	}
	r.files[name] = src.File
	if !document.Failed(problems) {
		r.byName[name] = value
	}
	return problems
}

// missing says why there is no usable file of that name, and suggests the closest name.
func (r *rack[T]) missing(name string) string {
	names := slices.Sorted(maps.Keys(r.byName))
	near, ok := document.Suggest(name, names)
	switch file, given := r.files[name]; {
	case given:
		return fmt.Sprintf("%s %q has errors; correct %s first", r.kind, name, file)
	case ok:
		return fmt.Sprintf("there is no %s %q; did you mean %q?", r.kind, name, near)
	case len(names) > 0:
		return fmt.Sprintf("there is no %s %q; use one of %s", r.kind, name, strings.Join(names, ", "))
	case r.unreadable != "":
		return fmt.Sprintf("there is no %s %q; %s has errors and may define it: correct it first", r.kind, name, r.unreadable)
	default:
		return fmt.Sprintf("there is no %s %q, because no directory was given; use %s", r.kind, name, r.flag)
	}
}

type named interface{ name() string }

// withSource adds a file that is not in the list yet.
func withSource(list []Source, src Source) []Source {
	if slices.ContainsFunc(list, func(known Source) bool { return known.File == src.File }) {
		return list
	}
	return append(list, src)
}
