package memory_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

func TestStore(t *testing.T) {
	open := func(*testing.T) store.Store { return memory.New() }
	reopen := func(t *testing.T, s store.Store) store.Store {
		next := s.(*memory.Store).Open()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return next
	}
	storetest.Run(t, open, storetest.Options{Reopen: reopen})
}
