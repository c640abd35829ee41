package record

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Receive waits for changes.
func (s *Store) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	got, err := s.engine.Receive(ctx, group, consumer, store.PageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, err)
	}
	changes := make([]store.Change, len(got))
	for i, c := range got {
		if changes[i], err = DecodeChange(c.Body); err != nil {
			return nil, fmt.Errorf("receive change %d: %w", c.Position, err)
		}
		changes[i].Position = store.Position(c.Position)
	}
	return changes, nil
}

// Done acknowledges changes.
func (s *Store) Done(ctx context.Context, group string, changes []store.Change) error {
	handled := make([]row.Change, len(changes))
	for i, c := range changes {
		handled[i] = row.Change{Position: int64(c.Position), At: c.At}
	}
	return wrap(s.engine.Ack(ctx, group, handled), "finish changes of %s", group)
}

// Backlog counts the changes that a group has not handled.
func (s *Store) Backlog(ctx context.Context, group string) (int, time.Time, error) {
	n, oldest, err := s.engine.Backlog(ctx, group)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count backlog of %s: %w", group, err)
	}
	if oldest == nil {
		return n, time.Time{}, nil
	}
	return n, oldest.At, nil
}
