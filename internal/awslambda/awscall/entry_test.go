package awscall_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awscall"
)

// scheduler is a fake EventBridge Scheduler. Like the service, it repeats its answer to a request
// whose client token it has seen, and keeps the name of a deleted schedule reserved for some
// requests.
type scheduler struct {
	mu       sync.Mutex
	entries  map[string]bool
	tokens   map[string]bool
	deleting int // number of requests after a deletion for which the name stays reserved
	taken    int
}

func (s *scheduler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, token := r.URL.Path, r.URL.Query().Get("clientToken")
	var in struct{ ClientToken string }
	if r.Method != http.MethodDelete && json.NewDecoder(r.Body).Decode(&in) == nil {
		token = in.ClientToken
	}
	s.taken--
	switch known := s.tokens[r.Method+token]; {
	case known:
	case r.Method == http.MethodPost && (s.entries[name] || s.taken >= 0):
		refuse(w, http.StatusConflict, "ConflictException")
		return
	case r.Method != http.MethodPost && !s.entries[name]:
		refuse(w, http.StatusNotFound, "ResourceNotFoundException")
		return
	default:
		if s.entries[name] = r.Method != http.MethodDelete; !s.entries[name] {
			s.taken = s.deleting
		}
		s.tokens[r.Method+token] = true
	}
	_, _ = w.Write([]byte(`{"ScheduleArn": "arn"}`))
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Amzn-Errortype", code)
	http.Error(w, `{"Message": "no"}`, status)
}

// entry returns functions that create and delete one schedule.
func entry(t *testing.T, service *scheduler) (put, drop func() error) {
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	env := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": server.URL}
	entries := awscall.NewEntries(awscall.Config(func(name string) string { return env[name] }), "group", "role", "arn:queue")
	put = func() error {
		return entries.Put(t.Context(), "one", time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC), "arn:function", "{}")
	}
	return put, func() error { return entries.Delete(t.Context(), "one") }
}

// While Scheduler still reserves the name of a deleted schedule, Put must not report success:
// nothing would fire.
func TestPutFailsWhileThePreviousEntryIsBeingDeleted(t *testing.T) {
	for deleting := range 6 {
		service := &scheduler{entries: map[string]bool{}, tokens: map[string]bool{}, deleting: deleting}
		put, drop := entry(t, service)
		if err := errors.Join(put(), drop()); err != nil {
			t.Fatal(err)
		}
		made := false
		for range 10 { // a stream also redelivers its record
			if made = put() == nil; made != service.entries["/schedules/one"] {
				t.Fatalf("%d requests after the deletion: Put succeeded: %t, schedule exists: %t", deleting, made, !made)
			}
			if made {
				break
			}
		}
		if !made {
			t.Errorf("not created while the name is reserved for %d requests", deleting)
		}
	}
}

func TestDeletedEntryCanBeCreatedAgain(t *testing.T) {
	service := &scheduler{entries: map[string]bool{}, tokens: map[string]bool{}}
	put, drop := entry(t, service)
	for i, step := range []struct {
		do    func() error
		there bool
	}{{put, true}, {put, true}, {drop, false}, {drop, false}, {put, true}, {drop, false}} {
		if err := step.do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if service.entries["/schedules/one"] != step.there {
			t.Errorf("after step %d the entry exists: %t", i, !step.there)
		}
	}
}
