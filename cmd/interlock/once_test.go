package main

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// trigger opens a run with an idempotency key, and returns the answer as sent.
func (s *service) trigger(key string) string {
	s.t.Helper()
	c, err := client.New(s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	var raw json.RawMessage
	q := client.TriggerRequest{Pipeline: "watched", Date: "2026-03-03"}
	if _, err := c.Trigger(s.t.Context(), q, client.IdempotencyKey(key), client.Raw(&raw)); err != nil {
		s.t.Errorf("trigger: %v", err)
	}
	return string(raw)
}

func TestRequestIsRepeatedAfterARestart(t *testing.T) {
	p := site{pipelines: map[string]string{"watched.yaml": watchedFile}}
	s := serve(t, p)
	first := s.trigger("one")
	s.must(0, "cancel", "watched", "--date", "2026-03-03", "--reason", "wrong")
	s.stop()
	p.data = s.data
	s = serve(t, p)
	if second := s.trigger("one"); second != first {
		t.Errorf("after a restart:\n%s\nfirst:\n%s", second, first)
	}
}

func TestRequestIsAnsweredAlikeByTwoReplicas(t *testing.T) {
	p := site{pipelines: map[string]string{"watched.yaml": watchedFile}, config: "store: redis://" + redistest.Start(t).Address() + "/0\n"}
	replicas := []*service{serve(t, p), serve(t, p)}
	answers := make([]string, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = replicas[i%2].trigger("one") })
	}
	all.Wait()
	for _, a := range answers {
		if a != answers[0] || a == "" {
			t.Fatalf("answers differ:\n%s\n%s", answers[0], a)
		}
	}
}
