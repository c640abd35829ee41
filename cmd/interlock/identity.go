package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// identity is what a controller is known by and signs with. Both are made once and kept in its data directory, so that a
// restart finds its own jobs and knows the tokens it gave them.
type identity struct {
	replica  string
	callback []byte
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
	return identity{replica: replica[:16], callback: []byte(callback)}, nil
}

// keptSecret reads a random text from a file, which it makes if it is not there.
func keptSecret(path string) (string, error) {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	switch {
	case err == nil && len(text) >= 32:
		return text, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	text = hex.EncodeToString(randomBytes())
	// A controller that was killed here must not come back as somebody else twice.
	return text, writeWhole(path, []byte(text+"\n"))
}

// writeWhole writes a file as a whole or not at all.
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
	_, _ = rand.Read(b) // it never fails: crypto/rand ends the program instead
	return b
}
