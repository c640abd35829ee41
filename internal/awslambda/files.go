package awslambda

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// Files keeps what a function knows of the pipelines in step with what is stored. Another one may have accepted a file: a
// note that changes with every look at the files tells, at the price of one read.
type Files struct {
	loaded  bool
	version int64             // of the note
	own     int64             // of the note, too: nobody else has looked at the files up to it since looked was made
	looked  map[string]string // hashes of the files that were looked at last, by name; nil if that is not known
}

// filesNote is the note's key.
const filesNote = "files"

// refresh loads what is in force, if that may have changed.
func (f *Files) refresh(ctx context.Context, h *Host) error {
	note, err := h.Store.Note(ctx, store.CatalogNote, filesNote)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read whether files have changed: %w", err)
	}
	if f.loaded && note.Version == f.version {
		return nil
	}
	if err := errors.Join(h.Catalog.Load(ctx), h.Catalog.LoadSources(ctx)); err != nil {
		return err
	}
	if note.Version != f.own {
		f.looked, f.own = nil, note.Version // what somebody else saw last is not known here
	}
	f.loaded, f.version = true, note.Version
	return nil
}

// changed looks at all files because of one, unless that one was looked at as it is: where very many are deployed at once, a
// look sees far more of them than its record tells of.
func (f *Files) changed(ctx context.Context, r *Router, one pipeline.Source, put time.Time) error {
	if f.looked[one.File] == digest(one) {
		return nil
	}
	return f.apply(ctx, r, one, "", put)
}

// gone looks at all files because one was taken away.
func (f *Files) gone(ctx context.Context, r *Router, name string) error {
	if _, there := f.looked[name]; f.looked != nil && !there {
		return nil
	}
	return f.apply(ctx, r, pipeline.Source{}, name, time.Time{})
}

func digest(s pipeline.Source) string { return hash(32, s.File, string(s.Data)) }

// apply looks at all files, and tells the other functions that it has. A file with errors is the catalog's to tell; it keeps no
// other from being accepted.
//
// The list of files may follow a moment later: the one that was just written counts although it is not listed yet, and a file
// that is missing is gone only if its removal was told. The one that was written was put at that instant, and others that
// are new not before it.
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
	r.Logger.Info("looked at the files", slog.Int("accepted", len(report.Accepted)), slog.Int("rejected", len(report.Rejected)), slog.Int("removed", len(report.Removed)))
	if err := f.tell(ctx, r.Host); err != nil {
		return err
	}
	f.looked = map[string]string{}
	for _, one := range slices.Concat(all.Pipelines, all.Calendars, all.Archetypes, all.Sources) {
		f.looked[one.File] = digest(one)
	}
	for _, name := range all.Gone {
		f.looked[name] = "" // it is in force, however it looks
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

// unlisted are the files of pipelines and sources in force that are not listed, but for one that was taken away.
func unlisted(known *catalog.Catalog, files catalog.Files, removed string) []string {
	there := map[string]bool{removed: true}
	for _, s := range slices.Concat(files.Pipelines, files.Sources) {
		there[s.File] = true
	}
	var names []string
	for _, e := range known.Current().All() {
		if !there[e.File] {
			names = append(names, e.File)
		}
	}
	for _, d := range known.Sources().All() {
		if !there[d.File] {
			names = append(names, d.File)
		}
	}
	return names
}

// tellings is how often the note is moved on before it is an error that others always do so at the same moment.
const tellings = 10

// tell moves the note on. It does so also where somebody else has at the same moment: he would take that for his own doing.
func (f *Files) tell(ctx context.Context, h *Host) (err error) {
	for range tellings {
		if err = f.move(ctx, h); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

func (f *Files) move(ctx context.Context, h *Host) error {
	read, err := h.Store.Note(ctx, store.CatalogNote, filesNote)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read whether files have changed: %w", err)
	}
	b := store.Batch{ID: "files/" + rand.Text()}
	b.SwapNote(read, store.Note{Kind: store.CatalogNote, Key: filesNote, Data: []byte("{}")})
	if err := h.Store.Commit(ctx, b, h.Now()); err != nil {
		return fmt.Errorf("tell that files have changed: %w", err)
	}
	if read.Version == f.own {
		f.own = b.Notes[0].Next.Version
	}
	return nil
}
