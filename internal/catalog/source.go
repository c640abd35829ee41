package catalog

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// Sources returns the active sources. The set never changes; call Sources again for a later one.
func (c *Catalog) Sources() *source.Set { return c.sources.Load() }

// applySources activates sources: those from files without errors, and the last good version of the
// others. That version is stored, so that it survives a restart. Unknown pipelines are only
// warnings: they may be added later.
//
// A stored source whose file is listed in Files.Gone stays active.
func (c *Catalog) applySources(ctx context.Context, all Files, now time.Time) error {
	loaded := source.Load(all.Sources, source.Options{
		Pipelines: func(id pipeline.ID) bool { return c.Current().Get(id) != nil }, Names: c.names, Unknown: document.Warning,
	})
	active, refused := map[source.ID]*source.Definition{}, []RefusedSource{}
	texts := map[string]pipeline.Source{}
	for _, src := range all.Sources {
		texts[src.File] = src
	}
	var read []judged
	for _, d := range loaded.Definitions {
		active[d.ID] = d
		read = append(read, judged{sourceKey(d.ID), texts[d.File], nil})
	}
	for _, r := range loaded.Refused {
		id := c.sourceIn(r)
		if old := c.ledger.source(id); old != nil && active[id] == nil {
			active[id] = old
		}
		stays := RefusedSource{File: r.File, ID: id, Stays: active[id] != nil, problems: errorTexts(loaded.Problems, r.File)}
		refused = append(refused, stays)
		read = append(read, judged{sourceKey(id), texts[r.File], stays.problems})
	}
	err := c.storeFiles(ctx, []pipeline.FileKind{pipeline.SourceFile}, read, all, now)
	for key, kept := range c.ledger.files {
		if id := source.ID(key.name); key.kind == pipeline.SourceFile && active[id] == nil && slices.Contains(all.Gone, kept.File) {
			if old := c.ledger.source(id); old != nil {
				active[id] = old
			}
		}
	}
	c.loadedSources = loaded
	c.refusedSources.Store(&refused)
	c.sources.Store(source.NewSet(slices.Collect(maps.Values(active))))
	return err
}

// LoadSources loads the stored sources, for a process that reads no files of its own.
func (c *Catalog) LoadSources(ctx context.Context) error {
	c.lock()
	defer c.change.Unlock()
	c.ledger = ledger{}
	if err := c.readLedger(ctx); err != nil {
		return err
	}
	var all []*source.Definition
	for key := range c.ledger.files {
		if key.kind != pipeline.SourceFile {
			continue
		}
		if d := c.ledger.source(source.ID(key.name)); d != nil {
			all = append(all, d)
		}
	}
	c.sources.Store(source.NewSet(all))
	return nil
}

func (c *Catalog) names() []string {
	var names []string
	for _, e := range c.Current().All() {
		names = append(names, string(e.ID))
	}
	return names
}

func sourceKey(id source.ID) fileKey { return fileKey{pipeline.SourceFile, string(id)} }

// sourceIn returns the source that a rejected file names, or that was last read from it; "" if there
// is none.
func (c *Catalog) sourceIn(r source.Refused) source.ID {
	if r.ID != "" {
		return r.ID
	}
	return source.ID(c.ledger.nameOf(pipeline.SourceFile, r.File))
}

// source compiles the stored version of a source; nil if there is none.
func (l *ledger) source(id source.ID) *source.Definition {
	kept, found := l.files[sourceKey(id)]
	if !found {
		return nil
	}
	loaded := source.Load([]pipeline.Source{kept.Source}, source.Options{})
	if len(loaded.Definitions) != 1 {
		return nil
	}
	return loaded.Definitions[0]
}
