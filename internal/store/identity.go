package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// identityKey is the key of the only IdentityNote.
const identityKey = "id"

// Identity returns the store's name, which it gets at random when it is first asked for. A backup
// has the name of the store it was made of.
func Identity(ctx context.Context, s interface {
	Committer
	Note(ctx context.Context, kind NoteKind, key string) (Note, error)
}, now time.Time,
) (string, error) {
	var id string
	err := Again(func() error {
		note, err := s.Note(ctx, IdentityNote, identityKey)
		if err == nil {
			id = string(note.Data)
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("read the name of the store: %w", err)
		}
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		id = hex.EncodeToString(random[:])
		b := Batch{ID: "store/" + id}
		b.SwapNote(Note{}, Note{Kind: IdentityNote, Key: identityKey, Data: []byte(id)})
		if err := s.Commit(ctx, b, now); err != nil {
			return fmt.Errorf("name the store: %w", err)
		}
		return nil
	})
	return id, err
}
