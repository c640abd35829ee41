package awslambda

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
	"github.com/interlock-go/interlock/internal/store"
)

// Files keeps a function's catalog in step with the stored files. Another function may have
// accepted a file: a note, whose version changes with every application of the files, shows that at
// the cost of one read.
type Files struct {
	loaded  bool
	version int64             // of the note
	own     int64             // version of the note when looked was set; with any other, another function has applied files
	looked  map[string]string // hashes of the files applied last, by name; nil if unknown
}

// filesNote is the note's key.
const filesNote = "files"

// refresh reloads the active pipelines if they may have changed.
func (f *Files) refresh(ctx context.Context, h *Host) error {
	note, err := store.IfFound(h.Store.Note(ctx, store.CatalogNote, filesNote))
	if err != nil {
		return fmt.Errorf("read whether files have changed: %w", err)
	}
	if f.loaded && note.Version == f.version {
		return nil
	}
	if err := errors.Join(h.Catalog.Load(ctx), h.Catalog.LoadSources(ctx)); err != nil {
		return err
	}
	if note.Version != f.own {
		f.looked, f.own = nil, note.Version // which files the other function applied is unknown here
	}
	f.loaded, f.version = true, note.Version
	return nil
}

// changed applies all files after one was written, unless this version of that file has been applied
// already: if many are deployed at once, the first application covers most of them.
func (f *Files) changed(ctx context.Context, r *Router, one pipeline.Source, put time.Time) error {
	if f.looked[one.File] == digest(one) {
		return nil
	}
	return f.apply(ctx, r, one, "", put)
}

// gone applies all files because one was removed.
func (f *Files) gone(ctx context.Context, r *Router, name string) error {
	if _, there := f.looked[name]; f.looked != nil && !there {
		return nil
	}
	return f.apply(ctx, r, pipeline.Source{}, name, time.Time{})
}

func digest(s pipeline.Source) string { return hash(32, s.File, string(s.Data)) }

// apply reads and applies all files, and notifies the other functions through the note. The catalog
// reports a file with errors; other files are still accepted.
//
// The list of files is eventually consistent: the file that was just written counts even if it is
// not listed yet, and a missing file is gone only if its removal was announced. The written file
// was put at the given instant; other new files were not put before it.
func (f *Files) apply(ctx context.Context, r *Router, written pipeline.Source, removed string, put time.Time) error {
	f.looked = nil
	listed, err := r.Streams.Files(ctx)
	if err != nil {
		return err
	}
	all := catalog.Files{Pipelines: listed.Pipelines, Calendars: listed.Calendars, Archetypes: listed.Archetypes, Sources: listed.Sources, Since: put}
	add(&all, written)
	all.Gone = unlisted(r.Catalog, all, removed)
	report, err := r.Catalog.Apply(ctx, all, r.Now())
	if err != nil {
		return err
	}
	r.Logger.Info("applied the files", slog.Int("accepted", len(report.Accepted)), slog.Int("rejected", len(report.Rejected)), slog.Int("removed", len(report.Removed)))
	if err := f.bumpVersion(ctx, r.Host); err != nil {
		return err
	}
	f.looked = map[string]string{}
	for _, one := range slices.Concat(all.Pipelines, all.Calendars, all.Archetypes, all.Sources) {
		f.looked[one.File] = digest(one)
	}
	for _, name := range all.Gone {
		f.looked[name] = "" // active, whatever its content
	}
	return nil
}

// add adds a file that is not listed yet.
func add(all *catalog.Files, one pipeline.Source) {
	kind, _, _ := strings.Cut(one.File, "/")
	to, known := map[string]*[]pipeline.Source{
		"pipeline": &all.Pipelines, "calendar": &all.Calendars, "archetype": &all.Archetypes, "source": &all.Sources,
	}[kind]
	if known && !lists(*to, one.File) {
		*to = append(*to, one)
	}
}

func lists(files []pipeline.Source, name string) bool {
	return slices.ContainsFunc(files, func(s pipeline.Source) bool { return s.File == name })
}

// unlisted returns the files of active pipelines, and the stored ones of other kinds, that are not
// listed, except the one that was removed.
func unlisted(known *catalog.Catalog, files catalog.Files, removed string) []string {
	there := map[string]bool{removed: true}
	for _, s := range slices.Concat(files.Pipelines, files.Calendars, files.Archetypes, files.Sources) {
		there[s.File] = true
	}
	var names []string
	for _, e := range known.Current().All() {
		if !there[e.File] {
			names = append(names, e.File)
		}
	}
	for _, name := range known.Stored() {
		if !there[name] {
			names = append(names, name)
		}
	}
	return names
}

// bumpVersion increments the note's version. After a conflict it does so again: otherwise the other
// function would take this change for its own.
func (f *Files) bumpVersion(ctx context.Context, h *Host) error {
	return store.Again(func() error {
		read, err := store.IfFound(h.Store.Note(ctx, store.CatalogNote, filesNote))
		if err != nil {
			return fmt.Errorf("read whether files have changed: %w", err)
		}
		b := store.Batch{ID: "files/" + rand.Text()}
		b.SwapNote(read, store.Note{Kind: store.CatalogNote, Key: filesNote, Data: []byte("{}")})
		if err := h.Store.Commit(ctx, b, h.Now()); err != nil {
			return fmt.Errorf("announce that files have changed: %w", err)
		}
		if read.Version == f.own {
			f.own = b.Notes[0].Next.Version
		}
		return nil
	})
}

// FileCheck is the files that a deployment is about to put, by name.
type FileCheck struct {
	Pipelines  map[string]string `json:"pipelines"`
	Calendars  map[string]string `json:"calendars"`
	Archetypes map[string]string `json:"archetypes"`
	Sources    map[string]string `json:"sources"`
}

// unpackFiles decodes a FileCheck that Terraform has compressed (base64gzip): a call holds 6 MB.
func unpackFiles(packed []byte) (c FileCheck, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(r).Decode(&c)
	}
	if err != nil {
		return c, fmt.Errorf("read the files to check: %w", err)
	}
	return c, nil
}

// FileReport is the errors and warnings of files as text; both are empty for valid files.
type FileReport struct {
	Problems string `json:"problems"`
	Warnings string `json:"warnings"`
}

// check validates files as when they are put, but stores nothing.
func (h *Host) check(c FileCheck) FileReport {
	set := pipeline.Load(sources(c.Pipelines), pipeline.Options{
		Jobs: all.Kinds(), Calendars: sources(c.Calendars), Archetypes: sources(c.Archetypes), Whole: true,
		Platform: pipeline.AWS, TimeLimit: h.TimeLimit, Offers: h.Settings.Offers(),
	})
	names := set.Names()
	loaded := source.Load(sources(c.Sources), source.Options{
		Pipelines: func(id pipeline.ID) bool { return slices.Contains(names, string(id)) }, Names: set.Names, Unknown: document.Error,
	})
	var problems, warnings []string
	for _, p := range slices.Concat(set.Problems, loaded.Problems) {
		if p.Severity == document.Warning {
			warnings = append(warnings, p.String())
		} else {
			problems = append(problems, p.String())
		}
	}
	return FileReport{Problems: strings.Join(problems, "\n"), Warnings: strings.Join(warnings, "\n")}
}

func sources(files map[string]string) (all []pipeline.Source) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, pipeline.Source{File: name, Data: []byte(files[name])})
	}
	return all
}
