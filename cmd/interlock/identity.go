package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/store"
)

// identity is a controller's name and its signing key. Both are created once and kept in the data
// directory, so that after a restart the controller recognises its own jobs and the tokens it
// issued to them.
type identity struct {
	replica  string
	callback ed25519.PrivateKey
}

func loadIdentity(dir string) (identity, error) {
	replica, err := keptSecret(filepath.Join(dir, "replica"))
	if err != nil {
		return identity{}, err
	}
	callback, err := keptSecret(filepath.Join(dir, "callback.key"))
	if err != nil {
		return identity{}, err
	}
	seed := sha256.Sum256([]byte(callback))
	return identity{replica: replica[:16], callback: ed25519.NewKeyFromSeed(seed[:])}, nil
}

// callbacks returns how this replica's jobs report their results. A job may report to any replica
// on the same store, because the replicas publish their public keys there.
func (c *controller) callbacks(ctx context.Context, who identity) (api.Callbacks, error) {
	base := c.file.CallbackURL
	if _, onSocket := c.file.Socket(); base == "" && !onSocket { // jobs cannot call back to a socket
		base = c.address()
	}
	signed := api.Callbacks{Base: base, Replica: who.replica, Key: who.callback}
	if !c.store.shared {
		return signed, nil
	}
	signed.KeyOf = func(ctx context.Context, replica string) (ed25519.PublicKey, error) {
		note, err := c.store.Note(ctx, store.KeyNote, replica)
		return note.Data, err
	}
	return signed, publishKey(ctx, c.store, who)
}

// publishKey stores the replica's public key for the other replicas, unless it is stored already.
func publishKey(ctx context.Context, to store.Store, who identity) error {
	public := who.callback.Public().(ed25519.PublicKey)
	return store.Again(func() error {
		before, err := to.Note(ctx, store.KeyNote, who.replica)
		switch {
		case err == nil && public.Equal(ed25519.PublicKey(before.Data)):
			return nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("read the key of this replica: %w", err)
		}
		b := store.Batch{ID: fmt.Sprintf("key/%s/v%d/%x", who.replica, before.Version, public)}
		b.SwapNote(before, store.Note{Kind: store.KeyNote, Key: who.replica, Data: public})
		if err := to.Commit(ctx, b, time.Now()); err != nil {
			return fmt.Errorf("store the public key of this replica: %w", err)
		}
		return nil
	})
}

// cursorNote names the note that holds the encryption key of list cursors.
const cursorNote = "cursors"

// cursorKey reads the key that encrypts list cursors, or creates and stores it. All replicas share
// it, and it survives restarts.
func cursorKey(ctx context.Context, in store.Store) ([]byte, error) {
	for {
		note, err := in.Note(ctx, store.KeyNote, cursorNote)
		if err == nil {
			return note.Data, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("read the key of cursors: %w", err)
		}
		key := randomBytes()
		b := store.Batch{ID: "key/" + cursorNote + "/" + rand.Text()}
		b.SwapNote(store.Note{}, store.Note{Kind: store.KeyNote, Key: cursorNote, Data: key})
		if err := in.Commit(ctx, b, time.Now()); err == nil {
			return key, nil
		} else if !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("store the key of cursors: %w", err)
		}
	}
}

// keptSecret reads a random secret from a file. If the file does not exist, it creates one.
func keptSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	switch {
	case err == nil && len(text) >= 32:
		return text, datadir.Private(path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	text = hex.EncodeToString(randomBytes())
	// The write is atomic: a controller killed halfway must not change its identity again at the
	// next start.
	return text, writeWhole(path, []byte(text+"\n"))
}

// writeWhole replaces a file atomically.
func writeWhole(path string, data []byte) error {
	half := path + ".new"
	if err := os.WriteFile(half, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(half, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func randomBytes() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand crashes the program instead
	return b
}
