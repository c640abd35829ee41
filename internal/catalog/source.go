package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// sourceFiles is the catalog's state of source files. Each replica reads its own: unlike a
// pipeline, a source has no state that replicas must agree on.
type sourceFiles struct {
	stored   map[source.ID]storedSource // nil until read
	stale    bool                       // another replica has stored a change since
	reported map[string]store.Note      // reported rejections, by file
	loaded   *source.Loaded
}

// storedSource is the last good version of a source, with its note.
type storedSource struct {
	note store.Note
	file pipeline.Source
	at   time.Time // when it was accepted; zero if that is not recorded
}

// keptSource is the stored form of a version.
type keptSource struct {
	pipeline.Source
	At time.Time `json:",omitzero"`
}

// sourceKey is the key prefix of the notes that hold the last good version of a source.
const sourceKey = "file/"

// Sources returns the active sources. The set never changes; call Sources again for a later one.
func (c *Catalog) Sources() *source.Set { return c.sources.Load() }

// applySources activates sources: those from files without errors, and the last good version of the
// others. That version is stored, so that it survives a restart. Unknown pipelines are only
// warnings: they may be added later.
//
// A stored source whose file is listed in Files.Gone stays active.
func (c *Catalog) applySources(ctx context.Context, all Files, now time.Time) error {
	s, files := &c.sourceFiles, all.Sources
	if len(files) == 0 && s.loaded == nil {
		return nil
	}
	if err := c.readStoredSources(ctx); err != nil {
		return err
	}
	loaded := source.Load(files, source.Options{
		Pipelines: func(id pipeline.ID) bool { return c.Current().Get(id) != nil }, Names: c.names, Unknown: document.Warning,
	})
	active, refused := map[source.ID]*source.Definition{}, []RefusedSource{}
	texts := map[string]pipeline.Source{}
	for _, src := range files {
		texts[src.File] = src
	}
	var errs []error
	for _, d := range loaded.Definitions {
		active[d.ID] = d
		errs = append(errs, c.storeSource(ctx, d.ID, texts[d.File], now))
	}
	for _, r := range loaded.Refused {
		id := s.ownerOf(r)
		if old := s.stored[id].compile(); old != nil && active[id] == nil {
			active[id] = old
		}
		stays := RefusedSource{File: r.File, ID: id, Stays: active[id] != nil, problems: errorTexts(loaded.Problems, r.File)}
		refused = append(refused, stays)
		errs = append(errs, c.refuseSource(ctx, stays, now))
	}
	errs = append(errs, c.forgetRefusals(ctx, refused, now))
	for id, stored := range s.stored {
		if slices.Contains(all.Gone, stored.file.File) && active[id] == nil {
			if old := stored.compile(); old != nil {
				active[id] = old
			}
		} else if active[id] == nil {
			errs = append(errs, c.dropSource(ctx, id, now))
		}
	}
	s.loaded = loaded
	c.refusedSources.Store(&refused)
	c.sources.Store(source.NewSet(slices.Collect(maps.Values(active))))
	return errors.Join(errs...)
}

// LoadSources loads the stored sources, for a process that reads no files of its own.
func (c *Catalog) LoadSources(ctx context.Context) error {
	c.lock()
	defer c.change.Unlock()
	s := &c.sourceFiles
	s.stale = true
	if err := c.readStoredSources(ctx); err != nil {
		return err
	}
	if s.loaded == nil {
		s.loaded = &source.Loaded{}
	}
	var all []*source.Definition
	for _, stored := range s.stored {
		if d := stored.compile(); d != nil {
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

// ownerOf returns the source that a rejected file names, or that was last read from it; "" if there
// is none.
func (s *sourceFiles) ownerOf(r source.Refused) source.ID {
	if r.ID != "" {
		return r.ID
	}
	for id, stored := range s.stored {
		if stored.file.File == r.File {
			return id
		}
	}
	return ""
}

// compile compiles a stored version; nil if there is none.
func (s storedSource) compile() *source.Definition {
	if s.file.File == "" {
		return nil
	}
	loaded := source.Load([]pipeline.Source{s.file}, source.Options{})
	if len(loaded.Definitions) != 1 {
		return nil
	}
	return loaded.Definitions[0]
}

func (c *Catalog) readStoredSources(ctx context.Context) error {
	s := &c.sourceFiles
	if s.stored != nil && !s.stale {
		return nil
	}
	notes, err := c.store.Notes(ctx, store.SourceNote)
	if err != nil {
		return fmt.Errorf("read the stored sources: %w", err)
	}
	stored, reported := map[source.ID]storedSource{}, map[string]store.Note{}
	for _, n := range notes {
		if file, isRefusal := strings.CutPrefix(n.Key, refusalKey); isRefusal {
			reported[file] = n
		}
		id, isFile := strings.CutPrefix(n.Key, sourceKey)
		if !isFile {
			continue
		}
		var kept keptSource
		if err := json.Unmarshal(n.Data, &kept); err != nil {
			return fmt.Errorf("read the stored source %s: %w", id, err)
		}
		stored[source.ID(id)] = storedSource{n, kept.Source, kept.At}
	}
	s.stored, s.reported, s.stale = stored, reported, false
	return nil
}

// storeSource stores a version if it differs from the stored one.
func (c *Catalog) storeSource(ctx context.Context, id source.ID, file pipeline.Source, now time.Time) error {
	s := &c.sourceFiles
	old := s.stored[id]
	if old.file.File == file.File && string(old.file.Data) == string(file.Data) {
		return nil
	}
	data, err := json.Marshal(keptSource{pipeline.Source{File: file.File, Data: file.Data}, now.UTC()})
	if err != nil {
		return fmt.Errorf("store source %s: %w", id, err)
	}
	next := store.Note{Kind: store.SourceNote, Key: sourceKey + string(id), Data: data}
	if err := c.swapSource(ctx, "accept", old.note, next, now); err != nil {
		return fmt.Errorf("store source %s: %w", id, err)
	}
	next.Version = old.note.Version + 1
	s.stored[id] = storedSource{next, file, now.UTC()}
	return nil
}

// dropSource deletes a source whose file is gone.
func (c *Catalog) dropSource(ctx context.Context, id source.ID, now time.Time) error {
	s := &c.sourceFiles
	old := s.stored[id]
	if old.file.File == "" {
		return nil
	}
	next := old.note
	next.Data, next.Until = []byte("{}"), now
	if err := c.swapSource(ctx, "remove", old.note, next, now); err != nil {
		return fmt.Errorf("remove source %s: %w", id, err)
	}
	next.Version++
	s.stored[id] = storedSource{note: next}
	return nil
}

// swapSource swaps a note. If another replica was faster, its version stays: both have the same
// files, or soon will.
func (c *Catalog) swapSource(ctx context.Context, what string, old, next store.Note, now time.Time) error {
	b := store.Batch{ID: fmt.Sprintf("source/%s/%s/%s/v%d", what, next.Key, hash(string(next.Data)), old.Version)}
	b.SwapNote(old, next)
	err := c.store.Commit(ctx, b, now)
	if errors.Is(err, store.ErrConflict) {
		c.sourceFiles.stale = true
		return nil
	}
	return err
}
