package awscall_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/awslambda/awsconfig"
)

// scheduler keeps entries. As the service does, it answers a request whose token it knows as it did the first time.
type scheduler struct {
	mu      sync.Mutex
	entries map[string]bool
	tokens  map[string]bool
}

func (s *scheduler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, token := r.URL.Path, r.URL.Query().Get("clientToken")
	var in struct{ ClientToken string }
	if r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&in) == nil {
		token = in.ClientToken
	}
	switch known := s.tokens[r.Method+token]; {
	case known:
	case r.Method == http.MethodPost && s.entries[name]:
		refuse(w, http.StatusConflict, "ConflictException")
		return
	case r.Method == http.MethodDelete && !s.entries[name]:
		refuse(w, http.StatusNotFound, "ResourceNotFoundException")
		return
	default:
		s.entries[name], s.tokens[r.Method+token] = r.Method == http.MethodPost, true
	}
	_, _ = w.Write([]byte(`{"ScheduleArn": "arn"}`))
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Amzn-Errortype", code)
	http.Error(w, `{"Message": "no"}`, status)
}

func TestEntryThatWasTakenBackCanBeMadeAgain(t *testing.T) {
	service := &scheduler{entries: map[string]bool{}, tokens: map[string]bool{}}
	server := httptest.NewServer(service)
	defer server.Close()
	env := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": server.URL}
	entries := awscall.NewEntries(awsconfig.New(func(name string) string { return env[name] }), "group", "role")
	put := func() error {
		return entries.Put(t.Context(), "one", time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC), "arn:function", "{}")
	}
	drop := func() error { return entries.Delete(t.Context(), "one") }
	for i, step := range []struct {
		do    func() error
		there bool
	}{{put, true}, {put, true}, {drop, false}, {drop, false}, {put, true}, {drop, false}} {
		if err := step.do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if service.entries["/schedules/one"] != step.there {
			t.Errorf("after step %d the entry is there: %t", i, !step.there)
		}
	}
}
