package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Load puts in force what the store has in force. A stored version that cannot be compiled is listed as broken and does
// not stop the others.
func (c *Catalog) Load(ctx context.Context) error {
	c.change.Lock()
	defer c.change.Unlock()
	return c.load(ctx, nil)
}

// Refresh brings the catalog up to what the store has in force, if it has another version of this pipeline: another
// replica may have accepted or removed it. Whoever reacts to a store.PipelineMoved calls it first. While Apply works it
// waits.
func (c *Catalog) Refresh(ctx context.Context, id pipeline.ID) error {
	row, err := c.store.Pipeline(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read pipeline %s: %w", id, err)
	}
	if c.Current().has(row) {
		return nil
	}
	c.change.Lock()
	defer c.change.Unlock()
	if c.Current().has(row) {
		return nil
	}
	return c.load(ctx, nil)
}

// has says that what row says is in force is so here, as far as it can be.
func (s *Snapshot) has(row store.Pipeline) bool {
	e := s.byID[row.ID]
	if e == nil {
		return row.Config == "" || s.isBroken(row)
	}
	return e.Version == row.Config && e.Horizon.Equal(row.Horizon)
}

func (s *Snapshot) isBroken(row store.Pipeline) bool {
	for _, b := range s.broken {
		if b.ID == row.ID && b.Version == row.Config {
			return true
		}
	}
	return false
}

// load makes the Snapshot anew. What is compiled already, here or in fresh, is kept.
func (c *Catalog) load(ctx context.Context, fresh map[shelved]*pipeline.Definition) error {
	rows, err := c.store.Pipelines(ctx)
	if err != nil {
		return fmt.Errorf("list pipelines: %w", err)
	}
	var entries []*Entry
	var missing []store.Pipeline
	for _, row := range rows {
		if row.Config == "" {
			continue
		}
		if d := c.known(row, fresh); d != nil {
			entries = append(entries, &Entry{Definition: d, Version: row.Config, Horizon: row.Horizon})
		} else {
			missing = append(missing, row)
		}
	}
	configs, err := c.configs(ctx, missing)
	if err != nil {
		return err
	}
	var broken []Broken
	all := c.compileAll(configs)
	for _, row := range missing {
		if found := all[row.ID]; found.definition != nil {
			entries = append(entries, &Entry{Definition: found.definition, Version: row.Config, Horizon: row.Horizon})
		} else {
			broken = append(broken, Broken{ID: row.ID, Version: row.Config, Problem: found.problem})
		}
	}
	c.current.Store(newSnapshot(entries, broken))
	return nil
}

// configs reads the versions that rows have in force, in their order.
func (c *Catalog) configs(ctx context.Context, rows []store.Pipeline) ([]store.Config, error) {
	configs := make([]store.Config, len(rows))
	err := together(atOnce, len(rows), func(i int) (err error) {
		if configs[i], err = c.store.Config(ctx, rows[i].ID, rows[i].Config); err != nil {
			return fmt.Errorf("read version %s of pipeline %s: %w", rows[i].Config, rows[i].ID, err)
		}
		return nil
	})
	return configs, err
}

// known is the definition that row has in force, if it is compiled already.
func (c *Catalog) known(row store.Pipeline, fresh map[shelved]*pipeline.Definition) *pipeline.Definition {
	if d := fresh[shelved{row.ID, row.Config}]; d != nil {
		return d
	}
	if old := c.Current().Get(row.ID); old != nil && old.Version == row.Config {
		return old.Definition
	}
	return nil
}

// compiled is what became of a stored version.
type compiled struct {
	definition *pipeline.Definition
	problem    string
}

// compileAll compiles versions together where they were read with the same calendars and archetypes, which spares
// reading those again for each. Versions of different times may contradict each other (a cycle, of which the half that
// is in force is old): those are compiled one by one, since each was found good when it was accepted.
func (c *Catalog) compileAll(configs []store.Config) map[pipeline.ID]compiled {
	groups := map[string][]store.Config{}
	for _, config := range configs {
		with := digest(append(config.Calendars[:len(config.Calendars):len(config.Calendars)], config.Archetypes...)...)
		groups[with] = append(groups[with], config)
	}
	all := make(map[pipeline.ID]compiled, len(configs))
	for _, group := range groups {
		files := make([]pipeline.Source, len(group))
		for i, config := range group {
			files[i] = config.File
		}
		set := pipeline.Load(files, c.options(group[0]))
		for _, config := range group {
			if d := set.Find(config.Pipeline); d != nil {
				all[config.Pipeline] = compiled{definition: d}
				continue
			}
			d, problem := c.compile(config)
			all[config.Pipeline] = compiled{d, problem}
		}
	}
	return all
}

func (c *Catalog) options(config store.Config) pipeline.Options {
	return pipeline.Options{Jobs: c.kinds, Calendars: config.Calendars, Archetypes: config.Archetypes}
}

// compile makes a definition of a stored version, or says what is wrong with it.
func (c *Catalog) compile(config store.Config) (*pipeline.Definition, string) {
	set := pipeline.Load([]pipeline.Source{config.File}, c.options(config))
	if d := set.Find(config.Pipeline); d != nil {
		return d, ""
	}
	return nil, strings.Join(errorTexts(set.Problems, nil), "\n")
}

// errorTexts lists the errors in those files (in all, if files is nil), each at its place.
func errorTexts(problems []document.Problem, files map[string]bool) []string {
	var texts []string
	for _, p := range problems {
		if p.Severity == document.Error && (files == nil || files[p.File]) {
			texts = append(texts, p.String())
		}
	}
	return texts
}
