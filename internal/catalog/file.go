package catalog

import (
	"cmp"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// File is one file as this process last read it.
type File struct {
	Name     string
	Kind     FileKind
	Pipeline pipeline.ID // the pipeline it describes; "" if it is not a pipeline file or the pipeline is unknown
	Refused  bool
	Missing  string             // why it can no longer be read; "" if it is present
	Problems []document.Problem // warnings included, in file order
}

// FileKind is the kind of definition in a file.
type FileKind string

// The kinds of files.
const (
	PipelineFile  FileKind = "pipeline"
	CalendarFile  FileKind = "calendar"
	ArchetypeFile FileKind = "archetype"
	SourceFile    FileKind = "source"
)

// Files lists the files last judged, sorted by name, with their problems, and the files that have gone missing since.
// It is empty before the first Apply; the list is shared and must not be changed.
func (c *Catalog) Files() []File {
	read := c.read.Load()
	if read == nil {
		return nil
	}
	if len(c.Troubles()) == 0 {
		return *read
	}
	all := slices.Clone(*read)
	missing := map[pipeline.ID]string{}
	for _, t := range c.Troubles() {
		for _, id := range t.Pipelines {
			missing[id] = t.Message
		}
	}
	for i := range all {
		all[i].Missing = missing[all[i].Pipeline]
		delete(missing, all[i].Pipeline)
	}
	for id, why := range missing {
		if e := c.Current().Get(id); e != nil {
			all = append(all, File{Name: e.File, Kind: PipelineFile, Pipeline: id, Missing: why})
		}
	}
	sortFiles(all)
	return all
}

func sortFiles(all []File) {
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

// note stores the results for Files.
func (c *Catalog) note(files Files, set *pipeline.Set) {
	sources := c.sourceFiles.loaded
	if sources == nil {
		sources = &source.Loaded{}
	}
	problems := map[string][]document.Problem{}
	for _, p := range slices.Concat(set.Problems, sources.Problems) {
		problems[p.File] = append(problems[p.File], p)
	}
	ids, refused := map[string]pipeline.ID{}, map[string]bool{}
	for _, d := range set.Definitions {
		ids[d.File] = d.ID
	}
	for _, r := range set.Refused {
		ids[r.File], refused[r.File] = c.ownerOf(r), true
	}
	for _, r := range sources.Refused {
		refused[r.File] = true
	}
	all := make([]File, 0, len(files.Pipelines)+len(files.Calendars)+len(files.Archetypes)+len(files.Sources))
	add := func(kind FileKind, read []pipeline.Source) {
		for _, s := range read {
			if s.Gone && kind == PipelineFile && ids[s.File] == "" && !refused[s.File] {
				continue // renamed
			}
			all = append(all, File{Name: s.File, Kind: kind, Pipeline: ids[s.File], Refused: refused[s.File], Problems: problems[s.File]})
			delete(problems, s.File)
		}
	}
	add(PipelineFile, files.Pipelines)
	add(CalendarFile, files.Calendars)
	add(ArchetypeFile, files.Archetypes)
	add(SourceFile, files.Sources)
	sortFiles(all)
	c.read.Store(&all)
}
