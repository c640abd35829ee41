package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// Options configure Load.
type Options struct {
	// Pipelines, if set, reports whether a pipeline exists. Writing to any other is a problem of
	// severity Unknown.
	Pipelines func(pipeline.ID) bool
	Names     func() []string // names of these pipelines, for suggestions
	Unknown   document.Severity
}

// Loaded is the result of Load.
type Loaded struct {
	Definitions []*Definition      // of files without errors, by id
	Refused     []Refused          // files with errors, in the given order
	Problems    []document.Problem // in all files, by file, line and column
}

// Refused is a file with errors. ID is the source it names; "" if that cannot be read.
type Refused struct {
	File string
	ID   ID
}

// loading is one file being loaded.
type loading struct {
	src      pipeline.Source
	id       ID
	def      *Definition
	doc      *document.Document
	problems []document.Problem
}

// Load reads source files. A file with an error has problems and no definition. It does not affect
// other files, except that two files with the same id are both rejected.
func Load(files []pipeline.Source, opts Options) *Loaded {
	all := make([]*loading, 0, len(files))
	byID := map[ID][]*loading{}
	for _, src := range files {
		f := read(src, opts)
		all = append(all, f)
		if f.id != "" {
			byID[f.id] = append(byID[f.id], f)
		}
	}
	all = slices.DeleteFunc(all, func(f *loading) bool { return f.renamed(byID) })
	for id, same := range byID {
		same = slices.DeleteFunc(same, func(f *loading) bool { return f.renamed(byID) })
		if len(same) == 0 {
			continue
		}
		for _, f := range same[1:] {
			f.repeat(id, same[0].src.File)
			same[0].repeat(id, f.src.File)
		}
	}
	out := &Loaded{}
	for _, f := range all {
		out.Problems = append(out.Problems, f.problems...)
		if document.Failed(f.problems) {
			out.Refused = append(out.Refused, Refused{File: f.src.File, ID: f.id})
			continue
		}
		f.def.Warnings = slices.Clip(f.problems)
		out.Definitions = append(out.Definitions, f.def)
	}
	slices.SortFunc(out.Definitions, func(a, b *Definition) int { return cmp.Compare(a.ID, b.ID) })
	document.SortProblems(out.Problems)
	return out
}

// renamed reports whether the file is gone and its source is now in another file.
func (f *loading) renamed(byID map[ID][]*loading) bool {
	return f.src.Gone && slices.ContainsFunc(byID[f.id], func(other *loading) bool { return !other.src.Gone })
}

func (f *loading) repeat(id ID, other string) {
	f.problems = append(f.problems, f.doc.Resolve(document.Finding{
		Path: "source.id", Message: fmt.Sprintf("source %q is also in %s; give one of them another id", id, other),
	})...)
}

func read(src pipeline.Source, opts Options) *loading {
	f := &loading{src: src}
	f.doc, f.problems = src.Parse()
	if f.doc == nil {
		return f
	}
	var file File
	f.problems = append(f.problems, f.doc.Decode(&file)...)
	f.id = file.Source.ID
	var findings []document.Finding
	f.def, findings = compile(&file)
	f.def.File, f.def.Digest = src.File, src.Digest()
	findings = append(findings, f.def.unknown(opts)...)
	f.problems = append(f.problems, f.doc.Resolve(findings...)...)
	return f
}

// unknown reports the pipelines that the source writes to and that do not exist.
func (d *Definition) unknown(opts Options) []document.Finding {
	if opts.Pipelines == nil {
		return nil
	}
	var findings []document.Finding
	for _, t := range d.targets {
		id, constant := t.pipeline.constant()
		if !constant || !pipeline.ID(id).Valid() || opts.Pipelines(pipeline.ID(id)) {
			continue
		}
		names := opts.Names()
		message := fmt.Sprintf("there is no pipeline %q, so its readings would be rejected", id)
		if near := document.DidYouMean(id, names); near != "" {
			message = fmt.Sprintf("there is no pipeline %q%s", id, near)
		} else if len(names) > 0 && len(names) <= 10 {
			message += "; use one of " + strings.Join(names, ", ")
		}
		findings = append(findings, document.Finding{Path: fmt.Sprintf("write[%d].pipeline", t.at), Severity: opts.Unknown, Message: message})
	}
	return findings
}

// Writes reports whether the source may write that sensor: a target with a variable in its pipeline
// or key may write any.
func (d *Definition) Writes(id pipeline.ID, key string) bool {
	return slices.ContainsFunc(d.targets, func(t target) bool {
		to, constant := t.pipeline.constant()
		of, fixed := t.key.constant()
		return (!constant || to == string(id)) && (!fixed || of == key)
	})
}

// Pipelines lists the pipelines that the source names; any reports whether it may also write to
// others.
func (d *Definition) Pipelines() (ids []pipeline.ID, any bool) {
	for _, t := range d.targets {
		id, constant := t.pipeline.constant()
		if !constant {
			any = true
		} else if !slices.Contains(ids, pipeline.ID(id)) {
			ids = append(ids, pipeline.ID(id))
		}
	}
	return ids, any
}
