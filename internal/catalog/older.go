package catalog

import (
	"context"
	"fmt"
	"sync"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// maxOlder is how many versions that are no longer in force stay compiled: those of attempts that were open when
// their file changed.
const maxOlder = 256

// Definition returns a version of a pipeline, even one no longer in force: an attempt finishes on the version it
// opened with. If the version was never stored, the error is store.ErrNotFound.
func (c *Catalog) Definition(ctx context.Context, id pipeline.ID, version string) (*pipeline.Definition, error) {
	if e := c.Current().Get(id); e != nil && e.Version == version {
		return e.Definition, nil
	}
	if d := c.older.get(id, version); d != nil {
		return d, nil
	}
	config, err := c.store.Config(ctx, id, version)
	if err != nil {
		return nil, fmt.Errorf("read version %s of pipeline %s: %w", version, id, err)
	}
	got := found(pipeline.Load([]pipeline.Source{config.File}, c.options(config)), config)
	if got.definition == nil {
		return nil, fmt.Errorf("compile version %s of pipeline %s: %s", version, id, got.problem)
	}
	c.older.put(id, version, got.definition)
	return got.definition, nil
}

// shelf is a FIFO cache of compiled versions.
type shelf struct {
	mu    sync.Mutex
	order []shelved
	byID  map[shelved]*pipeline.Definition
}

type shelved struct {
	id      pipeline.ID
	version string
}

func (s *shelf) get(id pipeline.ID, version string) *pipeline.Definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[shelved{id, version}]
}

func (s *shelf) put(id pipeline.ID, version string, d *pipeline.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := shelved{id, version}
	if s.byID[at] == nil {
		s.order = append(s.order, at)
	}
	s.byID[at] = d
	if len(s.order) > maxOlder {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
}
