package dynamo_test

import (
	"flag"
	"os"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/row"
	"github.com/interlock-go/interlock/internal/store/rowtest"
	"github.com/interlock-go/interlock/internal/store/storetest"
)

// thorough runs the suites with all their repetitions, as on every other engine. By default they
// are reduced: the repeated logic is above the engines, and a call of DynamoDB Local takes
// milliseconds.
var thorough = flag.Bool("thorough", false, "repeat as often as on other engines")

func TestMain(m *testing.M) { os.Exit(dynamotest.Main(m)) }

func TestEngine(t *testing.T) {
	urls := map[row.Engine]string{}
	open := func(t *testing.T, url string) row.Engine {
		e, err := dynamo.OpenEngine(t.Context(), url, dynamo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := dynamotest.Follow(e, url)
		urls[f] = url
		return f
	}
	rowtest.Run(t, func(t *testing.T) row.Engine { return open(t, dynamotest.Shared(t)) }, rowtest.Options{
		MaxOps: store.MaxRows, Slow: !*thorough,
		Reopen: func(t *testing.T, e row.Engine) row.Engine {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, urls[e])
		},
	})
}

func TestStore(t *testing.T) {
	urls := map[store.Store]string{}
	open := func(t *testing.T, url string) store.Store {
		s, err := dynamotest.Open(t.Context(), url, dynamo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		urls[s] = url
		return s
	}
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, dynamotest.Shared(t)) }, storetest.Options{
		MaxWrites: dynamo.MaxWrites, Slow: !*thorough,
		Reopen: func(t *testing.T, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, urls[s])
		},
	})
}
