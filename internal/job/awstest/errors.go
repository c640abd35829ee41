package awstest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/run"
)

// ErrorBench is a job type and the errors of its service.
type ErrorBench struct {
	Service    string        // the SDK's package, such as glue
	Operations []string      // that the type calls; the first one starts jobs
	Errors     awsapi.Errors // the type's verdicts
	Adopted    []string      // the errors that mean that the job exists already

	Begins string // the server's key of the operation that starts jobs
	Config string // of the job

	server  *Server
	kind    job.Type
	attempt job.Attempt
}

// CheckErrors checks that the type has a verdict on every error that the SDK models for its
// operations: an error that a new SDK version adds fails the test until it gets a verdict. It also
// checks that a start ends as the verdict says, whatever the HTTP status, and that a start request
// is sent once.
func (s *Target) CheckErrors(t *testing.T, b ErrorBench) {
	b.server, b.kind, b.attempt = s.Server, s.New(t), s.Expand(t, b.Config)
	for _, operation := range b.Operations {
		for _, code := range modelled(t, b.Service, operation) {
			if _, ok := b.Errors[code]; !ok {
				t.Errorf("%s of %s may return %s: decide whether the request can have been carried out", operation, b.Service, code)
			}
		}
	}
	for _, code := range append(modelled(t, b.Service, b.Operations[0]), "ErrorOfTomorrowException") {
		want := awsapi.Open
		if v, ok := b.Errors[code]; ok {
			want = v
		}
		for _, status := range []int{http.StatusBadRequest, http.StatusConflict, http.StatusInternalServerError, http.StatusBadGateway} {
			t.Run(fmt.Sprint(code, " with ", status), func(t *testing.T) { b.check(t, code, status, want) })
		}
	}
}

func (b ErrorBench) check(t *testing.T, code string, status int, want awsapi.Verdict) {
	sent := 0
	b.server.failWith(b.Begins, func(w http.ResponseWriter, _ *http.Request) {
		sent++
		Fail(w, status, code, "because")
	})
	defer b.server.failWith(b.Begins, nil)
	_, err := b.kind.Start(t.Context(), b.attempt)
	refusal, refused := errors.AsType[*job.Refusal](err)
	got := awsapi.Open
	switch {
	case err == nil:
		if !slices.Contains(b.Adopted, code) {
			t.Error("the start succeeded")
		}
		return
	case refused && refusal.Category == run.Permanent:
		got = awsapi.RefusedPermanent
	case refused:
		got = awsapi.RefusedTransient
	}
	if got != want || sent != 1 {
		t.Errorf("got %q after %d requests, want %q after one: %v", got, sent, want, err)
	}
}

var errorCode = regexp.MustCompile(`strings\.EqualFold\("(\w+)", errorCode\)`)

// modelled returns the errors of an operation that the SDK has types for.
func modelled(t *testing.T, service, operation string) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/"+service).Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "deserializers.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(source), "_deserializeOpError"+operation+"(response *smithyhttp.Response, metadata")
	function, _, _ = strings.Cut(function, "\n}\n")
	var codes []string
	for _, match := range errorCode.FindAllStringSubmatch(function, -1) {
		codes = append(codes, match[1])
	}
	if len(codes) == 0 {
		t.Fatalf("no errors of %s in %s: the layout of the SDK has changed", operation, dir)
	}
	return codes
}

// RefusedBefore returns the verdict on a start for each of jobtest's answers, if the type reads
// before it starts: a failed read has started nothing.
func RefusedBefore() map[string]jobtest.Verdict {
	want := Verdicts()
	for name, verdict := range want {
		if verdict == jobtest.Unknown {
			want[name] = jobtest.RefusedTransient
		}
	}
	return want
}

// Verdicts returns the verdict on a start for each of jobtest's answers: if the answer is not
// AWS's, or the service broke, the start may have happened. The operator sets the endpoint, so that
// a private address is no mistake.
func Verdicts() map[string]jobtest.Verdict {
	want := jobtest.OfAPI()
	delete(want, "a private address")
	return want
}

// Busy returns a job for each state that the SDK lists and that is not an end: each state's config
// by its name. It includes a state that a new SDK version adds, which fails the test until it gets
// a meaning.
func Busy[S ~string](states []S, ends []jobtest.End, config func(state string) string) map[string]string {
	busy := map[string]string{}
	for _, state := range states {
		if !slices.ContainsFunc(ends, func(e jobtest.End) bool { return e.Name == string(state) }) {
			busy[string(state)] = config(string(state))
		}
	}
	return busy
}
