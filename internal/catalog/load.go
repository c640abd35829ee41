package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Load loads the active versions from the store. A stored version that cannot be compiled is listed
// as broken and does not stop the others.
func (c *Catalog) Load(ctx context.Context) error {
	return c.LoadFirst(ctx, func(int) {})
}

// LoadFirst is Load for a process that is starting. It calls before with the number of pipelines it
// is about to compile.
func (c *Catalog) LoadFirst(ctx context.Context, before func(pipelines int)) error {
	c.lock()
	defer c.change.Unlock()
	rows, err := c.rows(ctx)
	if err != nil {
		return err
	}
	before(len(rows))
	entries, broken, err := c.entriesOf(ctx, rows, nil, c.progress.begin(len(rows), "stored pipelines loaded"))
	if err != nil {
		return err
	}
	return c.replaceAll(ctx, entries, broken)
}

func (c *Catalog) rows(ctx context.Context) ([]store.Pipeline, error) {
	rows, err := c.store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("list pipelines: %w", err)
	}
	return rows, nil
}

// load builds a new Snapshot of the active versions of rows. It reuses definitions compiled
// already, in the current snapshot or in fresh. A pipeline that was loaded alone since rows were
// read keeps that version until it has been compared with the store again.
func (c *Catalog) load(ctx context.Context, rows []store.Pipeline, fresh map[shelved]*pipeline.Definition) error {
	entries, broken, err := c.entriesOf(ctx, rows, fresh, nil)
	if err != nil {
		return err
	}
	return c.replaceAll(ctx, entries, broken)
}

// replaceAll installs the entries, and compares those with the store that were loaded alone
// meanwhile.
func (c *Catalog) replaceAll(ctx context.Context, entries []*Entry, broken []Broken) error {
	var errs []error
	for _, id := range c.installAll(entries, broken) {
		errs = append(errs, c.Refresh(ctx, id))
	}
	return errors.Join(errs...)
}

// entriesOf returns the active versions of rows, and those that cannot be compiled. It counts them in
// first, unless that is nil.
func (c *Catalog) entriesOf(ctx context.Context, rows []store.Pipeline, fresh map[shelved]*pipeline.Definition, first *step) ([]*Entry, []Broken, error) {
	entries := make([]*Entry, 0, len(rows))
	var broken []Broken
	missing := make([]store.Pipeline, 0, min(atATime, len(rows)))
	compile := func() error {
		all, err := c.compileAll(ctx, missing)
		for i, found := range all {
			if found.definition != nil {
				entries = append(entries, newEntry(found.definition, missing[i]))
			} else {
				broken = append(broken, Broken{ID: missing[i].ID, Version: missing[i].Config, Problem: found.problem})
			}
		}
		if first != nil {
			first.done.Add(int64(len(missing)))
		}
		missing = missing[:0]
		return err
	}
	for _, row := range rows {
		if row.Config == "" {
			continue
		}
		if e := c.known(row, fresh); e != nil {
			entries = append(entries, e)
			continue
		}
		if missing = append(missing, row); len(missing) == atATime {
			if err := compile(); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := compile(); err != nil {
		return nil, nil, err
	}
	return entries, broken, c.noteOlder(ctx, rows)
}

// configs reads the active versions of rows, in order.
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

// known returns the entry for row if it is compiled already.
func (c *Catalog) known(row store.Pipeline, fresh map[shelved]*pipeline.Definition) *Entry {
	if d := fresh[shelved{row.ID, row.Config}]; d != nil {
		return newEntry(d, row)
	}
	old := c.Current().Get(row.ID)
	switch {
	case old == nil || old.Version != row.Config:
		return nil
	case old.Horizon.Equal(row.Horizon):
		return old
	}
	return newEntry(old.Definition, row)
}

// compiled is the result of compiling a stored version.
type compiled struct {
	definition *pipeline.Definition
	problem    string
}

// atATime is how many stored versions are read and compiled together. There may be very many: the
// limit keeps the temporary data of reading from fragmenting the heap between definitions that
// stay.
const atATime = 256

// compileAll compiles the active versions of rows, in order. Versions with the same calendars and
// archetypes are compiled together, which saves reading those for each. Stored versions date from
// different times and may contradict each other (a dependency cycle through an old version, for
// example), so each is checked on its own: it was valid when it was accepted.
func (c *Catalog) compileAll(ctx context.Context, rows []store.Pipeline) ([]compiled, error) {
	configs, err := c.configs(ctx, rows)
	if err != nil {
		return nil, err
	}
	groups := map[string][]int{}
	for i, config := range configs {
		with := digest(append(config.Calendars[:len(config.Calendars):len(config.Calendars)], config.Archetypes...)...)
		groups[with] = append(groups[with], i)
	}
	all := make([]compiled, len(configs))
	for _, group := range groups {
		files := make([]pipeline.Source, len(group))
		for n, i := range group {
			files[n] = configs[i].File
		}
		set := pipeline.Load(files, c.options(configs[group[0]]))
		for _, i := range group {
			all[i] = found(set, configs[i])
		}
	}
	return all, nil
}

// found returns the result for one stored version of a loaded set.
func found(set *pipeline.Set, config store.Config) compiled {
	if d := set.Find(config.Pipeline); d != nil {
		return compiled{definition: d}
	}
	return compiled{problem: strings.Join(errorTexts(set.Problems, config.File.File), "\n")}
}

func (c *Catalog) options(config store.Config) pipeline.Options {
	return pipeline.Options{Jobs: c.kinds, Calendars: config.Calendars, Archetypes: config.Archetypes, Apart: true}
}

// errorTexts lists the errors in a file, each with its position.
func errorTexts(problems []document.Problem, file string) []string {
	var texts []string
	for _, p := range problems {
		if p.Severity == document.Error && p.File == file {
			texts = append(texts, p.String())
		}
	}
	return texts
}

// maxOlder is how many versions that are no longer active stay compiled: those of attempts that
// were open when their file changed.
const maxOlder = 256

// ErrBroken means that this release cannot compile a stored version.
var ErrBroken = errors.New("this release cannot compile it")

// IsGone reports whether Definition failed because the version is not available, rather than because
// the store could not be read.
func IsGone(err error) bool { return errors.Is(err, store.ErrNotFound) || errors.Is(err, ErrBroken) }

// Definition returns a version of a pipeline, even one no longer active: an attempt finishes on the
// version it opened with. If the version was never stored, the error is store.ErrNotFound; if it
// cannot be compiled, ErrBroken.
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
		return nil, fmt.Errorf("version %s of pipeline %s: %w: %s", version, id, ErrBroken, got.problem)
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
