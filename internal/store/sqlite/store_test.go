package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

// opened opens a directory and fails the test if that fails.
func opened(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// template is an empty database, made once: creating the tables anew for every test takes longer than most of the tests.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "interlock")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, fileName))
})

// empty gives a data directory with an empty database.
func empty(t testing.TB) string {
	t.Helper()
	text, err := template()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func reopened(t *testing.T, s store.Store, o Options) store.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return opened(t, filepath.Dir(s.(*Store).conn.path), o)
}

func TestStore(t *testing.T) {
	// Folding after every third row mixes what is in memory with what is in the tables; otherwise all of it stays in memory.
	for name, o := range map[string]Options{"Plain": {}, "Folding": {foldAfter: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return opened(t, empty(t), o) }, storetest.Options{
				Reopen: func(t *testing.T, s store.Store) store.Store { return reopened(t, s, o) },
			})
		})
	}
}
