// Package awstest is a server that takes requests in the form in which AWS does: it checks method, path, target, content
// type and signature of each, and leaves the answers to a test. The job types on AWS are tried on it with the SDK's own
// clients.
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

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// Region is where the server says to be.
const Region = "eu-west-1"

// Server stands for one or more services of AWS.
type Server struct {
	*httptest.Server
	Wire       jobtest.Wire
	Operations Operations
	t          *testing.T

	mu      sync.Mutex
	failing map[string]http.HandlerFunc
}

// failWith answers an operation with something else; nil takes that back.
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

// Operations are what a server can do: by target, such as AWSGlue.StartJobRun, for services that are told what to do in a
// header, and by method and path, such as POST /applications/{id}/jobruns, for the others.
type Operations map[string]http.HandlerFunc

// NewServer is a server for the time of a test.
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

// checkTarget checks the form of requests of the JSON protocols.
func (s *Server) checkTarget(r *http.Request) {
	kind := "application/x-amz-json-1.1"
	if target := r.Header.Get("X-Amz-Target"); strings.HasPrefix(target, "AWSStepFunctions.") || strings.HasPrefix(target, "AmazonSQS.") {
		kind = "application/x-amz-json-1.0"
	}
	if r.Method != http.MethodPost || r.RequestURI != "/" || r.Header.Get("Content-Type") != kind {
		s.t.Errorf("got %s %s %s, want POST / %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), kind)
	}
}

// Cloud is AWS as it is configured for a test: at that URL, with these hosts allowed.
func Cloud(t *testing.T, url string, allow ...string) *awsapi.Cloud {
	t.Helper()
	Setenv(t)
	t.Setenv("AWS_ENDPOINT_URL", url)
	g, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return awsapi.New(g)
}

// Setenv gives a test credentials and a region, and hides those of the machine.
func Setenv(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": SessionToken, "AWS_REGION": Region,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
}

// Read reads a request's body, in which there may be nothing but the fields of T.
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

// Fail answers with an error of AWS, in both of the places where services put its name.
func Fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-Requestid", "6f1c0a39-7b4e-4f0a-9b8e-0d6f2a1c5e77")
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}
