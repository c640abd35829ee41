package awslambda

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/store"
)

// Files keeps what a function knows of the pipelines in step with what is stored. Another one may have accepted a file: a
// note that changes with every look at the files tells, at the price of one read.
type Files struct {
	loaded  bool
	version int64 // of the note
	applied bool  // in this call: all files were looked at, those of later records among them
}

// filesNote is the note's key.
const filesNote = "files"

// refresh loads what is in force, if that may have changed.
func (f *Files) refresh(ctx context.Context, h *Host) error {
	f.applied = false
	note, err := h.Store.Note(ctx, store.CatalogNote, filesNote)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read whether files have changed: %w", err)
	}
	if f.loaded && note.Version == f.version {
		return nil
	}
	if err := h.Catalog.Load(ctx); err != nil {
		return err
	}
	f.loaded, f.version = true, note.Version
	return nil
}

// apply looks at all files, and tells the other functions that it has. A file with errors is the catalog's to tell; it keeps no
// other from being accepted.
func (f *Files) apply(ctx context.Context, r *Router) error {
	if f.applied {
		return nil
	}
	all, err := r.Streams.Files(ctx)
	if err != nil {
		return err
	}
	report, err := r.Catalog.Apply(ctx, catalog.Files{Pipelines: all.Pipelines, Calendars: all.Calendars, Archetypes: all.Archetypes}, r.Now())
	if err != nil {
		return err
	}
	r.Logger.Info("looked at the files", slog.Int("accepted", len(report.Accepted)), slog.Int("rejected", len(report.Rejected)), slog.Int("removed", len(report.Removed)))
	f.applied = true
	return f.tell(ctx, r.Host)
}

// tell moves the note on. If somebody else does so at the same moment, that does.
func (f *Files) tell(ctx context.Context, h *Host) error {
	read, err := h.Store.Note(ctx, store.CatalogNote, filesNote)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read whether files have changed: %w", err)
	}
	b := store.Batch{ID: "files/" + rand.Text()}
	b.SwapNote(read, store.Note{Kind: store.CatalogNote, Key: filesNote, Data: []byte("{}")})
	if err := h.Store.Commit(ctx, b, h.Now()); err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("tell that files have changed: %w", err)
	}
	return nil
}
