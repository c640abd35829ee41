// Package awstest is a fake AWS server: it checks method, path, target, content type and signature
// of each request, and leaves the answers to the test. The AWS job types are tested against it with
// the SDK's own clients.
package awstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// Region is the server's region.
const Region = "eu-west-1"

// Server stands in for one or more AWS services.
type Server struct {
	*httptest.Server
	Wire       jobtest.Wire
	Operations Operations
	t          *testing.T

	mu      sync.Mutex
	failing map[string]http.HandlerFunc
}

// failWith overrides the answer of an operation; nil removes the override.
func (s *Server) failWith(operation string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing == nil {
		s.failing = map[string]http.HandlerFunc{}
	}
	s.failing[operation] = answer
}

func (s *Server) failureOf(operation string) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing[operation]
}

// Operations are the handlers of a server: by target, such as AWSGlue.StartJobRun, for services
// that name the operation in a header, and by method and path, such as POST
// /applications/{id}/jobruns, for the others.
type Operations map[string]http.HandlerFunc

// NewServer returns a server that runs until the test ends.
func NewServer(t *testing.T, operations Operations) *Server {
	t.Helper()
	s := &Server{Operations: operations, t: t}
	paths := http.NewServeMux()
	for name, operation := range operations {
		if strings.Contains(name, "/") {
			paths.HandleFunc(name, operation)
		}
	}
	s.Server = httptest.NewServer(s.Wire.Record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target := r.Header.Get("X-Amz-Target")
		operation, ok := operations[target]
		_, pattern := paths.Handler(r)
		if fail := s.failureOf(cmp.Or(target, pattern)); fail != nil {
			fail(w, r)
			return
		}
		switch {
		case ok:
			s.checkTarget(r)
			operation(w, r)
		case target == "" && pattern != "":
			paths.ServeHTTP(w, r)
		default:
			t.Errorf("unknown operation: %s %s %s", r.Method, r.URL, target)
			Fail(w, http.StatusNotFound, "UnknownOperationException", "")
		}
	})))
	t.Cleanup(s.Close)
	return s
}

// checkTarget checks the form of requests in the JSON protocols.
func (s *Server) checkTarget(r *http.Request) {
	kind := "application/x-amz-json-1.1"
	if target := r.Header.Get("X-Amz-Target"); strings.HasPrefix(target, "AWSStepFunctions.") || strings.HasPrefix(target, "AmazonSQS.") {
		kind = "application/x-amz-json-1.0"
	}
	if r.Method != http.MethodPost || r.RequestURI != "/" || r.Header.Get("Content-Type") != kind {
		s.t.Errorf("got %s %s %s, want POST / %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), kind)
	}
}

// Cloud returns AWS configured for a test: at that URL, with these hosts allowed.
func Cloud(t *testing.T, url string, allow ...string) *awsapi.Cloud {
	t.Helper()
	Setenv(t)
	t.Setenv("AWS_ENDPOINT_URL", url)
	return awsapi.New(jobtest.Guard(t, allow...))
}

// Setenv sets credentials and a region for a test, and hides those of the machine.
func Setenv(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": SessionToken, "AWS_REGION": Region,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
}

// Read decodes a request's body strictly: only the fields of T are allowed.
func Read[T any](t *testing.T, r *http.Request) T {
	var in T
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if len(body) == 0 {
		return in
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		t.Errorf("%s %s: %v in %s", r.URL, r.Header.Get("X-Amz-Target"), err, body)
	}
	return in
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, out any) {
	w.Header().Set("X-Amzn-Requestid", "6f1c0a39-7b4e-4f0a-9b8e-0d6f2a1c5e77")
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	json.NewEncoder(w).Encode(out)
}

// Fail answers with an AWS error, with its code in both places that services use.
func Fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-Requestid", "6f1c0a39-7b4e-4f0a-9b8e-0d6f2a1c5e77")
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}

// Refusals are the errors with which a service answers requests that name such a thing.
type Refusals map[string]struct {
	Status        int
	Code, Message string
}

// Answer reports whether it has answered a request that names this.
func (r Refusals) Answer(w http.ResponseWriter, name string) bool {
	refusal, is := r[name]
	if is {
		Fail(w, refusal.Status, refusal.Code, refusal.Message)
	}
	return is
}
