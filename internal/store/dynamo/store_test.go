package dynamo_test

import (
	"os"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Main(m)) }

func TestStore(t *testing.T) {
	urls := map[store.Store]string{}
	open := func(t *testing.T, url string) store.Store {
		s, err := dynamo.Open(t.Context(), url, dynamo.Options{Alone: true})
		if err != nil {
			t.Fatal(err)
		}
		urls[s] = url
		return s
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, dynamotest.Shared(t)) }, storetest.Options{
		MaxWrites: dynamo.MaxWrites, Slow: true,
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, urls[s])
		},
	})
}
