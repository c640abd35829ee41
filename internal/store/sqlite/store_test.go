package sqlite_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

func TestStore(t *testing.T) {
	dirs := map[store.Store]string{}
	open := func(t *testing.T, dir string) store.Store {
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[s] = dir
		return s
	}
	reopen := func(t *testing.T, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, dirs[s])
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) }, storetest.Options{Reopen: reopen})
}
