package catalog

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// remembered returns the last contents of files that are gone: versions in force are in the store, and rejected ones
// are kept in memory for this. So the host need not keep the texts of all files, of which there may be very many.
func (c *Catalog) remembered(ctx context.Context, files Files) ([]pipeline.Source, error) {
	if len(files.Gone) == 0 {
		return nil, nil
	}
	back := make(map[string]bool, len(files.Pipelines))
	for _, src := range files.Pipelines {
		back[src.File] = true
	}
	inForce := map[string]*Entry{}
	for _, e := range c.Current().All() {
		inForce[e.File] = e
	}
	var all []pipeline.Source
	for _, file := range files.Gone {
		src, refused := c.refused[file]
		e := inForce[file]
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
