package pipeline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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
	Unread string `json:",omitempty"` // why an existing file could not be read
	// Gone marks a file that disappeared a moment ago and still counts with its last contents,
	// unless another file has the same pipeline, calendar or archetype by now: then it was renamed.
	Gone bool `json:"-"`
}

// Digest returns the SHA-256 digest of the contents, in hexadecimal; "" without a file.
func (s Source) Digest() string {
	if s.File == "" {
		return ""
	}
	sum := sha256.Sum256(s.Data)
	return hex.EncodeToString(sum[:])
}

// Parse parses the YAML of a file. If the document is nil, the problems say why.
func (s Source) Parse() (*document.Document, []document.Problem) {
	if s.Unread != "" {
		return nil, []document.Problem{{
			File: s.File, Line: 1, Column: 1, Severity: document.Error, Message: "cannot be read: " + s.Unread,
		}}
	}
	return document.Parse(s.File, s.Data)
}

// Platform selects the limits of a runtime platform.
type Platform string

// The embedded controller and Redis have no limits of their own.
const (
	AnyPlatform Platform = ""
	AWS         Platform = "aws"
)

// Offers is what a deployment offers to files, besides what every deployment on its platform does.
type Offers struct {
	Jobs []string // the job types that it may start
	Env  []string // the variables that ${env:NAME} may read
	// Secrets and Parameters are the ARNs that ${secret:NAME} and ${ssm:NAME} may read, with IAM
	// wildcards.
	Secrets, Parameters []string
}

// Options configure Load.
type Options struct {
	Jobs       []JobKind
	Calendars  []Source
	Archetypes []Source
	Platform   Platform
	// TimeLimit is how long an attempt may take on the platform; 0 means the platform's default.
	TimeLimit time.Duration
	// Offers is what the deployment on the platform offers; nil if unknown.
	Offers *Offers
	// NoPrograms means that no program may run on the controller's machine.
	NoPrograms bool
	// Now is the instant at which the files are judged, for warnings about what is past; zero gives
	// none. A definition never depends on it.
	Now time.Time
	// Whole means that every existing pipeline, calendar and archetype was given, so that an
	// unknown name is an error; otherwise it is a warning.
	Whole bool
	// Shared means that readers of the problems may see only some of the pipelines: no problem
	// suggests one that its file does not name.
	Shared bool
	// Apart means that the files are unrelated: each is read as if it were alone, and the pipelines
	// it refers to are not checked.
	Apart bool
	// Known, if set, returns the definition that a file was read into before, so that it need not
	// be read again; nil if it must be. The definition must be equal to what reading the file would
	// give.
	Known func(Source) *Definition
	// Active, if set, returns the active definition that was read from a file before; nil if there
	// is none. If a file's pipeline cannot be determined, other files that refer to it see this
	// definition: they are not to blame for its mistakes.
	Active func(file string) *Definition
}

// Set is the result of Load.
type Set struct {
	Definitions []*Definition      // of files without errors, by id
	Refused     []Refused          // files with errors, in the given order
	Problems    []document.Problem // in all files, by file, line and column
	Named       []Named            // the files that pipelines refer to by name, in the given order
	texts       map[string][]byte  // contents of the files with problems
}

// Named is a file that pipelines refer to by name: a calendar or an archetype.
type Named struct {
	Kind   FileKind
	Name   string // "" if it cannot be read
	Source Source
}

// Refused is a file with errors. ID is the id in the file, as far as it can be read: the last good
// version of that pipeline stays active.
type Refused struct {
	File string
	ID   ID // "" if unknown
}

// Find returns the definition with that id, or nil.
func (s *Set) Find(id ID) *Definition {
	i, ok := slices.BinarySearchFunc(s.Definitions, id, func(d *Definition, id ID) int { return cmp.Compare(d.ID, id) })
	if !ok {
		return nil
	}
	return s.Definitions[i]
}

// Names lists the ids in the files, including files with errors, sorted.
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

// Failed reports whether any problem is an error.
func (s *Set) Failed() bool { return document.Failed(s.Problems) }

// Line returns line n, from 1, of a file that has problems, without its line break; "" if there is
// none.
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

// Load compiles pipeline files into definitions. A file with an error has problems and no
// definition. It never affects other files, except that two files with the same id are both
// rejected.
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

// dropRenamed drops files that are gone and whose pipeline is now in another file.
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

// inParallel calls f for 0..n-1 on all cores. The calls share nothing, so the result is that of a
// plain loop.
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

// entry is one pipeline file being loaded. There may be very many, so it keeps of the file only
// what the check of all files together needs.
type entry struct {
	source   Source
	id       ID // as in the file, valid or not
	after    []ID
	places   []int // of the upstreams in schedule.after; nil if the file was read before
	names    []name
	problems []document.Problem
	unread   bool        // its YAML could not be parsed
	def      *Definition // nil after an error
}

// name is another pipeline that a file refers to, and its path; "" if the file was read before.
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
	e.id, e.names = file.Pipeline.ID, file.names()
	e.after, e.places = file.after()
	b := newBuilder(e, file, doc, shelf)
	b.build()
	e.add(doc, b.findings...)
	if !document.Failed(e.problems) {
		e.def = b.def
		e.def.Warnings = slices.Clip(e.problems)
	}
	return e
}

// knownEntry returns the entry of a file that was read before.
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

// report is add for later findings. It parses the file again, since so few have such findings.
func (e *entry) report(f document.Finding) {
	if doc, _ := e.source.Parse(); doc != nil {
		e.add(doc, f)
	}
}

// collect assembles the result from the entries.
func collect(entries []*entry, shelf *shelf) *Set {
	s := &Set{texts: shelf.texts, Problems: shelf.problems, Named: shelf.named}
	for _, e := range entries {
		if len(e.problems) > 0 {
			s.texts[e.source.File] = e.source.Data
			s.Problems = append(s.Problems, e.problems...)
		}
		if document.Failed(e.problems) {
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
