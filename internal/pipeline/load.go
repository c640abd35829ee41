package pipeline

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

// Source is one file's name and contents.
type Source struct {
	File   string
	Data   []byte
	Unread string `json:",omitempty"` // why there are no contents, of a file that is there and could not be read
	// Gone marks a file that was there until just now and still counts as it was, unless another
	// file holds the same pipeline, calendar or archetype by now: then it was renamed.
	Gone bool `json:"-"`
}

// Parse reads the YAML of a file. The document is nil if there is none, and the problems say why.
func (s Source) Parse() (*document.Document, []document.Problem) {
	if s.Unread != "" {
		return nil, []document.Problem{{
			File: s.File, Line: 1, Column: 1, Severity: document.Error, Message: "cannot be read: " + s.Unread,
		}}
	}
	return document.Parse(s.File, s.Data)
}

// Platform adds the limits of a place to run.
type Platform string

// The platforms; the embedded controller and Redis have no limits of their own.
const (
	AnyPlatform Platform = ""
	AWS         Platform = "aws"
)

// Offers is what a deployment offers to files, beside what every one of its platform does.
type Offers struct {
	Jobs []string // the job types that it may start
	Env  []string // the variables that ${env:NAME} may read
	// Secrets and Parameters are the ARNs that ${secret:NAME} and ${ssm:NAME} may read, with the wildcards of IAM.
	Secrets, Parameters []string
}

// Options is what Load needs beside the pipeline files.
type Options struct {
	Jobs       []JobKind
	Calendars  []Source
	Archetypes []Source
	Platform   Platform
	// TimeLimit is how long an attempt may take on the platform; what is usual there unless it is set.
	TimeLimit time.Duration
	// Offers is what the deployment on the platform offers; nil if that is not known.
	Offers *Offers
	// NoPrograms says that no program may run on the controller's own machine.
	NoPrograms bool
	// Whole says that every pipeline, calendar and archetype there is has been given, so that an unknown name is an
	// error; otherwise it is a warning.
	Whole bool
	// Apart says that the files have nothing to do with each other: each is read as if it were alone, and nothing is said
	// of the pipelines that it names.
	Apart bool
	// Known, where it is set, gives what a file was read into before, so that it need not be read again; nil for a file
	// that must be. A definition that it gives must be what reading the file would give.
	Known func(Source) *Definition
	// InForce, where it is set, gives what is in force of what was read from a file before; nil if nothing is. A file that
	// does not even say which pipeline it is counts as that for those that name it: no mistake in one is theirs.
	InForce func(file string) *Definition
}

// Set is what Load made of the files.
type Set struct {
	Definitions []*Definition      // of the files without errors, by id
	Refused     []Refused          // the files with errors, in the order they were given
	Problems    []document.Problem // of all files, by file, line and column
	texts       map[string][]byte  // of the files with problems
}

// Refused is a file with errors. Its id is what it says it is, as far as that can be read: the pipeline whose last good
// version stays in force.
type Refused struct {
	File string
	ID   ID // "" where it cannot be told
}

// Find gives the definition with that id, or nil.
func (s *Set) Find(id ID) *Definition {
	i, ok := slices.BinarySearchFunc(s.Definitions, id, func(d *Definition, id ID) int { return cmp.Compare(d.ID, id) })
	if !ok {
		return nil
	}
	return s.Definitions[i]
}

// Names lists the pipelines that the files name, also those with errors, by id.
func (s *Set) Names() []string {
	var names []string
	for _, d := range s.Definitions {
		names = append(names, string(d.ID))
	}
	for _, r := range s.Refused {
		if r.ID != "" {
			names = append(names, string(r.ID))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Failed says whether any problem is an error.
func (s *Set) Failed() bool { return failed(s.Problems) }

// Line is line n, from 1, of a file that has problems, without its line break; "" if there is none.
func (s *Set) Line(file string, n int) string {
	return document.SourceLine(string(s.texts[file]), n)
}

// Include adds the problems of a file of another kind to the report.
func (s *Set) Include(src Source, problems []document.Problem) {
	if len(problems) == 0 {
		return
	}
	s.texts[src.File] = src.Data
	s.Problems = append(s.Problems, problems...)
	document.SortProblems(s.Problems)
}

// Load reads pipeline files into definitions. A file with an error yields problems and no definition; it never
// affects the others, save that two files with one id are both refused.
func Load(sources []Source, opts Options) *Set {
	shelf := newShelf(opts)
	entries := make([]*entry, len(sources))
	inParallel(len(sources), func(i int) {
		if opts.Known != nil {
			if d := opts.Known(sources[i]); d != nil {
				entries[i] = knownEntry(sources[i], d)
				return
			}
		}
		entries[i] = readEntry(sources[i], shelf)
	})
	entries = dropRenamed(entries)
	if !opts.Apart {
		checkTogether(entries, shelf, opts)
	}
	return collect(entries, shelf)
}

// dropRenamed drops the files that are gone and whose pipeline is in another file now.
func dropRenamed(entries []*entry) []*entry {
	if !slices.ContainsFunc(entries, func(e *entry) bool { return e.source.Gone }) {
		return entries
	}
	there := map[ID]bool{}
	for _, e := range entries {
		if !e.source.Gone {
			there[e.id] = e.id != ""
		}
	}
	return slices.DeleteFunc(entries, func(e *entry) bool { return e.source.Gone && there[e.id] })
}

// inParallel calls f for 0..n-1 on all cores. The calls share nothing, so the result is that of a plain loop.
func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// entry is one pipeline file on its way to a definition. There may be very many, so it keeps of the file only what is
// needed for the look at all of them together.
type entry struct {
	source   Source
	id       ID // as the file has it, valid or not
	after    []ID
	names    []name
	problems []document.Problem
	unread   bool        // not even the YAML of it could be read
	def      *Definition // nil after an error
}

// name is another pipeline that a file names, and where it does; "" where it was read before.
type name struct {
	path string
	id   ID
}

func readEntry(src Source, shelf *shelf) *entry {
	e := &entry{source: src}
	doc, problems := src.Parse()
	e.problems, e.unread = problems, doc == nil
	if doc == nil {
		return e
	}
	file := &File{}
	e.problems = append(e.problems, doc.Decode(file)...)
	e.id, e.after, e.names = file.Pipeline.ID, file.after(), file.names()
	b := newBuilder(e, file, doc, shelf)
	b.build()
	e.add(doc, b.findings...)
	if !failed(e.problems) {
		e.def = b.def
		e.def.Warnings = slices.Clip(e.problems)
	}
	return e
}

// knownEntry is the entry of a file that was read before.
func knownEntry(src Source, d *Definition) *entry {
	e := &entry{source: src, id: d.ID, after: d.After, problems: slices.Clip(d.Warnings), def: d}
	for _, id := range d.After {
		e.names = append(e.names, name{id: id})
	}
	for id := range d.Reads() {
		if id != d.ID {
			e.names = append(e.names, name{id: id})
		}
	}
	return e
}

func (e *entry) refused() Refused {
	r := Refused{File: e.source.File}
	if e.id.Valid() {
		r.ID = e.id
	}
	return r
}

// add adds findings at their positions in the file.
func (e *entry) add(doc *document.Document, findings ...document.Finding) {
	if len(findings) > 0 {
		e.problems = append(e.problems, doc.Resolve(findings...)...)
	}
}

// report is add for what is found later. The file is read again, since so few have such findings.
func (e *entry) report(f document.Finding) {
	if doc, _ := e.source.Parse(); doc != nil {
		e.add(doc, f)
	}
}

func failed(problems []document.Problem) bool {
	return slices.ContainsFunc(problems, func(p document.Problem) bool { return p.Severity == document.Error })
}

// collect gathers what the entries came to.
func collect(entries []*entry, shelf *shelf) *Set {
	s := &Set{texts: shelf.texts, Problems: shelf.problems}
	for _, e := range entries {
		if len(e.problems) > 0 {
			s.texts[e.source.File] = e.source.Data
			s.Problems = append(s.Problems, e.problems...)
		}
		if failed(e.problems) {
			s.Refused = append(s.Refused, e.refused())
			continue
		}
		if e.def != nil {
			s.Definitions = append(s.Definitions, e.def)
		}
	}
	slices.SortFunc(s.Definitions, func(a, b *Definition) int { return cmp.Compare(a.ID, b.ID) })
	document.SortProblems(s.Problems)
	return s
}
