package catalog

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// remembered gives the files that are gone as they were last: what is in force is stored, and what was refused is kept for
// this. So nobody else has to hold the texts of all files, of which there may be very many.
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
		text, refused := c.refused[file]
		e := inForce[file]
		switch {
		case back[file] || !refused && e == nil:
			continue
		case !refused:
			config, err := c.store.Config(ctx, e.ID, e.Version)
			if err != nil {
				return nil, fmt.Errorf("read version %s of pipeline %s, whose file is gone: %w", e.Version, e.ID, err)
			}
			text = config.File.Data
		}
		all = append(all, pipeline.Source{File: file, Data: text})
	}
	return all, nil
}

// refusedTexts are the texts of the files that were refused.
func refusedTexts(files []pipeline.Source, set *pipeline.Set) map[string][]byte {
	refused := make(map[string][]byte, len(set.Refused))
	for _, r := range set.Refused {
		refused[r.File] = nil
	}
	for _, src := range files {
		if _, is := refused[src.File]; is {
			refused[src.File] = src.Data
		}
	}
	return refused
}
