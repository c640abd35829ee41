package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// File is one file as this process last read it.
type File struct {
	Name     string
	Kind     pipeline.FileKind
	Pipeline pipeline.ID // the pipeline it describes; "" if it is not a pipeline file or the pipeline is unknown
	Refused  bool
	Version  string             // of a source file: the version that is active, which is its last good one; "" if there is none
	Accepted time.Time          // of a source file: when that version was accepted
	Missing  string             // why it can no longer be read; "" if it is present
	Problems []document.Problem // warnings included, in file order
}

// Files lists the files last judged, sorted by name, with their problems, and the files that have
// gone missing since. It is empty before the first Apply; the list is shared and must not be
// changed.
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
			all = append(all, File{Name: e.File, Kind: pipeline.PipelineFile, Pipeline: id, Missing: why})
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
	sources := c.loadedSources
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
	sourceOf := map[string]source.ID{}
	for _, d := range sources.Definitions {
		sourceOf[d.File] = d.ID
	}
	for _, r := range sources.Refused {
		refused[r.File], sourceOf[r.File] = true, c.sourceIn(r)
	}
	all := make([]File, 0, len(files.Pipelines)+len(files.Calendars)+len(files.Archetypes)+len(files.Sources))
	add := func(kind pipeline.FileKind, read []pipeline.Source) {
		for _, s := range read {
			if s.Gone && kind == pipeline.PipelineFile && ids[s.File] == "" && !refused[s.File] {
				continue // renamed
			}
			f := File{Name: s.File, Kind: kind, Pipeline: ids[s.File], Refused: refused[s.File], Problems: problems[s.File]}
			if kind == pipeline.SourceFile {
				f.Version, f.Accepted = c.activeSource(sourceOf[s.File])
			}
			all = append(all, f)
			delete(problems, s.File)
		}
	}
	add(pipeline.PipelineFile, files.Pipelines)
	add(pipeline.CalendarFile, files.Calendars)
	add(pipeline.ArchetypeFile, files.Archetypes)
	add(pipeline.SourceFile, files.Sources)
	sortFiles(all)
	c.read.Store(&all)
}

// remembered returns the last contents of files that are gone: active versions are in the store,
// and rejected ones are kept in memory for this. So the host need not keep the texts of all files,
// of which there may be very many.
func (c *Catalog) remembered(ctx context.Context, files Files) ([]pipeline.Source, error) {
	if len(files.Gone) == 0 {
		return nil, nil
	}
	back := make(map[string]bool, len(files.Pipelines))
	for _, src := range files.Pipelines {
		back[src.File] = true
	}
	active := map[string]*Entry{}
	for _, e := range c.Current().All() {
		active[e.File] = e
	}
	var all []pipeline.Source
	for _, file := range files.Gone {
		src, refused := c.refused[file]
		e := active[file]
		switch {
		case back[file] || !refused && e == nil:
			continue
		case !refused:
			config, err := c.store.Config(ctx, e.ID, e.Version)
			if err != nil {
				return nil, fmt.Errorf("read version %s of pipeline %s, whose file is missing: %w", e.Version, e.ID, err)
			}
			src = pipeline.Source{File: file, Data: config.File.Data}
		}
		src.Gone = true
		all = append(all, src)
	}
	return all, nil
}

// refusedFiles returns the rejected files, by name.
func refusedFiles(files []pipeline.Source, set *pipeline.Set) map[string]pipeline.Source {
	names := make(map[string]bool, len(set.Refused))
	for _, r := range set.Refused {
		names[r.File] = true
	}
	refused := make(map[string]pipeline.Source, len(names))
	for _, src := range files {
		if names[src.File] {
			refused[src.File] = src
		}
	}
	return refused
}

// unchanged finds the definitions of files that have not changed since they were last read, so that
// an edit of one file costs reading one file. A definition that uses calendars or archetypes is
// read again when any of those has changed.
func (c *Catalog) unchanged(files Files) func(pipeline.Source) *pipeline.Definition {
	same := c.beside == beside(files)
	byFile := map[string]*Entry{}
	for _, e := range c.Current().All() {
		if same || len(e.Calendars)+len(e.Archetypes) == 0 {
			byFile[e.File] = e
		}
	}
	read := c.progress.begin(len(files.Pipelines), "files read")
	return func(src pipeline.Source) *pipeline.Definition {
		read.done.Add(1)
		e := byFile[src.File]
		if e == nil || c.place.noPrograms && e.RunsPrograms() || version(configOf(e.Definition, src)) != e.Version {
			return nil
		}
		return e.Definition
	}
}

// beside hashes the calendars and archetypes.
func beside(files Files) string {
	sum := sha256.New()
	for _, list := range [][]pipeline.Source{files.Calendars, files.Archetypes} {
		fmt.Fprintf(sum, "%d ", len(list))
		for _, src := range list {
			fmt.Fprintf(sum, "%q %q %d ", src.File, src.Unread, len(src.Data))
			_, _ = sum.Write(src.Data) // never fails
		}
	}
	return string(sum.Sum(nil))
}
