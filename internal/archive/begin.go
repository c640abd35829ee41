package archive

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// followed is the mark of a store that was archived from: the feed keeps what the archive has not taken, also when there
// is no archive any more.
const followed = "archive/followed"

// Begin makes the store keep what is not archived yet. It needs no Postgres, and comes before the first Trim.
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

// Leave lets a store that has no archive any more forget again: its events, and the changes in the feed. Should there be
// one again later, everything is copied anew.
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
