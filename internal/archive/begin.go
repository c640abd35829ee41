package archive

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// followed marks a store that has been archived. The feed keeps changes for the archive's group even after the
// archive is removed, until Leave.
const followed = "archive/followed"

// Begin makes the store keep everything that is not archived yet. It does not need Postgres, and runs before the
// first Trim.
func (a *Archiver) Begin(ctx context.Context, now time.Time) error {
	if err := mark(ctx, a.store, now); err != nil {
		return err
	}
	at, err := a.store.Cursor(ctx, Name)
	if err != nil {
		return err
	}
	if err := a.store.SetCursor(ctx, Name, at); err != nil {
		return err
	}
	return a.store.Done(ctx, Name, nil)
}

func mark(ctx context.Context, s source, now time.Time) error {
	set, err := s.Marked(ctx, []string{followed})
	if err != nil || set[followed] {
		return err
	}
	b := store.Batch{ID: followed}
	b.SetMark(followed, time.Time{})
	if err := s.Commit(ctx, b, now); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil
}

// Leave tells a store whose archive was removed to stop keeping events and changes for it. If an archive is added
// again later, everything is copied anew.
func Leave(ctx context.Context, s source, consumer string) error {
	set, err := s.Marked(ctx, []string{followed})
	if err != nil || !set[followed] {
		return err
	}
	if err := s.DropCursor(ctx, Name); err != nil {
		return err
	}
	for {
		changes, err := receive(ctx, s, consumer, 0)
		if err != nil || len(changes) == 0 {
			return err
		}
		if err := s.Done(ctx, Name, changes); err != nil {
			return err
		}
	}
}
