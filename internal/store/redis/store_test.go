package redis

import (
	"os"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

func TestStore(t *testing.T) {
	urls := map[store.Store]string{}
	open := func(t *testing.T, url string) store.Store {
		s, err := Open(t.Context(), url, Options{CallersClock: true})
		if err != nil {
			t.Fatal(err)
		}
		urls[s] = url
		return s
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, redistest.Shared(t)) }, storetest.Options{
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, urls[s])
		},
	})
}
