package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Active returns a pipeline and its row. The entry is nil if the pipeline is not active; the row is
// zero if it never was. A version that is not in memory yet, because this or another replica has
// just accepted it, is loaded first.
func (c *Catalog) Active(ctx context.Context, id pipeline.ID) (*Entry, store.Pipeline, error) {
	row, err := c.store.Pipeline(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.Pipeline{}, nil
	}
	if err != nil {
		return nil, row, fmt.Errorf("read pipeline %s: %w", id, err)
	}
	e, err := c.EntryOf(ctx, row)
	return e, row, err
}

// EntryOf is Active for a row that was read. If the row is outdated, the entry may be of a newer
// version: a commit that rests on both must expect the row unchanged.
func (c *Catalog) EntryOf(ctx context.Context, row store.Pipeline) (*Entry, error) {
	if row.Config == "" {
		return nil, nil
	}
	if !c.has(row) {
		if err := c.Refresh(ctx, row.ID); err != nil {
			return nil, err
		}
	}
	return c.Current().Get(row.ID), nil
}

// has reports whether the catalog knows both the active version of row and what its older versions
// read.
func (c *Catalog) has(row store.Pipeline) bool {
	return c.Current().has(row) && c.olderReaders.has(row)
}

// Refresh reloads the catalog from the store if the store has another active version of this
// pipeline, or others that open attempts may have: another replica may have accepted or removed it. Handlers of store.PipelineMoved call
// it first. Usually many pipelines have changed together, so it reloads all of them. While Apply or
// another reload runs, it loads only this one: it never waits for what others do with the store.
func (c *Catalog) Refresh(ctx context.Context, id pipeline.ID) error {
	for {
		row, err := c.store.Pipeline(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read pipeline %s: %w", id, err)
		}
		if c.has(row) {
			return nil
		}
		if c.Current().has(row) {
			return c.noteOlder(ctx, []store.Pipeline{row})
		}
		if err := c.reload(ctx); err != nil {
			return err
		}
		if !c.Current().has(row) {
			if err := c.loadAlone(ctx, row); err != nil {
				return err
			}
		}
	}
}

// lock excludes other calls that read or store all definitions.
func (c *Catalog) lock() {
	c.change.Lock()
	c.locked()
}

// locked forgets what was installed alone before change was locked: what is read from now on is at
// least as new.
func (c *Catalog) locked() {
	c.install.Lock()
	defer c.install.Unlock()
	c.alone = map[pipeline.ID]bool{}
}

// reload loads the active versions of all pipelines, unless Apply or another reload runs.
func (c *Catalog) reload(ctx context.Context) error {
	if !c.change.TryLock() {
		return nil
	}
	defer c.change.Unlock()
	c.locked()
	rows, err := c.rows(ctx)
	if err != nil {
		return err
	}
	return c.load(ctx, rows, nil)
}

// loadAlone loads the active version of one pipeline.
func (c *Catalog) loadAlone(ctx context.Context, row store.Pipeline) error {
	entries, broken, err := c.entriesOf(ctx, []store.Pipeline{row}, nil, nil)
	if err != nil {
		return err
	}
	c.install.Lock()
	defer c.install.Unlock()
	c.alone[row.ID] = true
	isRow := func(id pipeline.ID) bool { return id == row.ID }
	c.current.Store(newSnapshot(c.Current().replaced(isRow, entries, broken)))
	return nil
}

// replaced returns the entries and the broken versions of a snapshot, with others for some
// pipelines.
func (s *Snapshot) replaced(some func(pipeline.ID) bool, entries []*Entry, broken []Broken) ([]*Entry, []Broken) {
	for _, e := range s.all {
		if !some(e.ID) {
			entries = append(entries, e)
		}
	}
	for _, b := range s.broken {
		if !some(b.ID) {
			broken = append(broken, b)
		}
	}
	return entries, broken
}

// installAll replaces the Snapshot, except for the pipelines that were loaded alone meanwhile, which
// it returns.
func (c *Catalog) installAll(entries []*Entry, broken []Broken) []pipeline.ID {
	c.install.Lock()
	defer c.install.Unlock()
	if len(c.alone) > 0 {
		read := &Snapshot{all: entries, broken: broken}
		wasRead := func(id pipeline.ID) bool { return !c.alone[id] }
		isAlone := func(id pipeline.ID) bool { return c.alone[id] }
		entries, broken = c.Current().replaced(wasRead, nil, nil)
		entries, broken = read.replaced(isAlone, entries, broken)
	}
	c.current.Store(newSnapshot(entries, broken))
	return slices.Sorted(maps.Keys(c.alone))
}

// has reports whether the snapshot has the active version of row, or lists it as broken.
func (s *Snapshot) has(row store.Pipeline) bool {
	e := s.byID[row.ID]
	if e == nil {
		return row.Config == "" || s.isBroken(row)
	}
	return e.Version == row.Config && e.Horizon.Equal(row.Horizon)
}

func (s *Snapshot) isBroken(row store.Pipeline) bool {
	return slices.ContainsFunc(s.broken, func(b Broken) bool { return b.ID == row.ID && b.Version == row.Config })
}
