package scenario_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/redis"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// beyond runs functions outside every synctest bubble: waiting for a server must not use a bubble's
// clock. A channel between the two sides has to be created outside, so the outside creates them
// all.
var beyond = struct {
	asks chan ask
	done chan chan struct{}
}{make(chan ask), make(chan chan struct{})}

type ask struct {
	do   func()
	done chan struct{}
}

func TestMain(m *testing.M) {
	go func() {
		for {
			beyond.done <- make(chan struct{})
		}
	}()
	go func() {
		for a := range beyond.asks {
			go func() {
				a.do()
				close(a.done)
			}()
		}
	}()
	os.Exit(dynamotest.Main(runs(func() int { return redistest.Main(m) })))
}

// runs is what runs the tests.
type runs func() int

func (r runs) Run() int { return r() }

// outside runs a function there and waits for it.
func outside(do func()) {
	a := ask{do, <-beyond.done}
	beyond.asks <- a
	<-a.done
}

// onRedis stores everything under a prefix in a real Redis.
func onRedis(t *testing.T, url string) *held {
	return &held{T: t, opens: func() store.Store {
		var s *redis.Store
		var err error
		outside(func() { s, err = redis.Open(context.Background(), url, redis.Options{CallersClock: true}) })
		if err != nil {
			t.Fatal(err)
		}
		return away{s}
	}}
}

// away is a store that waits for its server outside the bubble.
type away struct{ *redis.Store }

func (a away) Close() (err error) {
	outside(func() { err = a.Store.Close() })
	return err
}

func (a away) TasksChanged() (changed <-chan struct{}) {
	outside(func() { changed = a.Store.TasksChanged() })
	return changed
}

func (a away) EventsChanged() (changed <-chan struct{}) {
	outside(func() { changed = a.Store.EventsChanged() })
	return changed
}

// Receive is only called if there is something to receive, so it need not end with its context.
func (a away) Receive(_ context.Context, group, consumer string, limit int) (changes []store.Change, err error) {
	outside(func() { changes, err = a.Store.Receive(context.Background(), group, consumer, limit) })
	return changes, err
}

// onDynamo stores everything in tables of a real DynamoDB.
func onDynamo(t *testing.T, url string) *held {
	return &held{T: t, opens: func() store.Store {
		s, err := dynamotest.Open(t.Context(), url, dynamo.Options{Client: &courier{}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

// courier sends requests to their server outside the bubble, and caches the answers. Nobody else
// uses its tables, so an answer stays valid until one of its rows is written: that covers most
// reads of a watchdog pass.
type courier struct {
	mu    sync.Mutex
	known map[string]*answer
	lists map[string][]string // index lists that a row is in, or ever was
}

type answer struct {
	http.Response
	body []byte
	of   map[string]bool // the rows, partitions and lists that it depends on
}

func (a *answer) response() *http.Response {
	out := a.Response
	out.Body = io.NopCloser(bytes.NewReader(a.body))
	return &out
}

func (c *courier) Do(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var asked any
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	normal, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	_, call, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	name := call + string(normal)
	if known := c.known[name]; known != nil {
		return known.response(), nil
	}
	said, err := carry(req, body)
	if err != nil {
		return nil, err
	}
	if call == "GetItem" || call == "BatchGetItem" || call == "Query" {
		said.of = map[string]bool{}
		c.touched(asked, said.of, false)
		c.keep(name, said)
	} else {
		c.forget(asked)
	}
	return said.response(), nil
}

func (c *courier) keep(name string, said *answer) {
	if c.known == nil {
		c.known = map[string]*answer{}
	}
	if said.StatusCode == http.StatusOK {
		c.known[name] = said
	}
}

func (c *courier) forget(written any) {
	of := map[string]bool{}
	c.touched(written, of, true)
	for name, said := range c.known {
		for what := range of {
			if said.of[what] {
				delete(c.known, name)
				break
			}
		}
	}
}

// touched collects what a request depends on: rows by their keys and, for writes, the partitions
// and lists that they are or were in; for a query, the partition or list that it reads.
func (c *courier) touched(v any, of map[string]bool, writes bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.touched(item, of, writes)
		}
	case map[string]any:
		if hash := textOf(v[":h"]); hash != "" {
			of["part "+hash] = true
		}
		if pk, sk := textOf(v["PK"]), textOf(v["SK"]); pk != "" && sk != "" {
			of["row "+pk+" "+sk] = true
			if writes {
				of["part "+pk] = true
				c.listed(pk+" "+sk, v, of)
			}
		}
		for _, item := range v {
			c.touched(item, of, writes)
		}
	}
}

// listed adds the lists that a row is in, or ever was.
func (c *courier) listed(name string, row map[string]any, of map[string]bool) {
	if c.lists == nil {
		c.lists = map[string][]string{}
	}
	for _, attribute := range []string{"list", "pending", "aging"} {
		if list := textOf(row[attribute]); list != "" && !slices.Contains(c.lists[name], list) {
			c.lists[name] = append(c.lists[name], list)
		}
	}
	for _, list := range c.lists[name] {
		of["part "+list] = true
	}
}

func textOf(v any) string {
	attribute, _ := v.(map[string]any)
	text, _ := attribute["S"].(string)
	return text
}

// carry sends a request and waits for the whole answer.
func carry(req *http.Request, body []byte) (a *answer, err error) {
	a = &answer{}
	sent := req.Clone(context.Background())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	outside(func() {
		resp, failed := http.DefaultClient.Do(sent)
		if err = failed; err != nil {
			return
		}
		a.Response = *resp
		a.body, err = io.ReadAll(resp.Body)
		err = errors.Join(err, resp.Body.Close())
	})
	return a, err
}
