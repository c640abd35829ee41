package awstest

import (
	"net/http"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/jobtest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Kind makes a job type for a test, and its configuration.
type Kind struct {
	Type    func(*awsapi.Cloud) job.Type
	Config  func() pipeline.JobConfig
	Service string // for which requests are signed
}

// New returns the type, with the AWS of a test at that URL and these hosts allowed.
func (k Kind) New(t *testing.T, url string, allow ...string) job.Type {
	t.Helper()
	return k.Type(Cloud(t, url, allow...))
}

// Target is a fake service and the job type that is tested against it. The test of a type embeds it
// beside what its service knows, which the lock guards.
type Target struct {
	*Server
	sync.Mutex
	T      *testing.T
	Kind   Kind
	losing bool
}

// Serve starts the server, which runs until the test ends.
func (s *Target) Serve(t *testing.T, k Kind, operations Operations) {
	t.Helper()
	s.Server, s.T, s.Kind = NewServer(t, operations), t, k
}

// MayLose loses the answer to a start if the bench asked for it. The caller holds the lock.
func (s *Target) MayLose() {
	if s.losing {
		s.losing = false
		panic(http.ErrAbortHandler)
	}
}

// New returns the type that calls the target.
func (s *Target) New(t *testing.T) job.Type {
	t.Helper()
	return s.Kind.New(t, s.URL)
}

// Bench adds to a bench what all targets have in common.
func (s *Target) Bench(b jobtest.Bench) jobtest.Bench {
	b.New, b.NewConfig, b.Wire = s.New, s.Kind.Config, &s.Wire
	if b.Authorised == nil {
		b.Authorised = func(c jobtest.Call) bool { return Signed(c, s.Kind.Service) }
	}
	b.Lose = func(*testing.T) {
		s.Lock()
		defer s.Unlock()
		s.losing = true
	}
	return b
}

// attempt is the attempt of most tests.
const attempt run.AttemptID = "orders/cron/2026-03-03/1"

// Expand returns an attempt with a configuration of the type.
func (s *Target) Expand(t *testing.T, config string) job.Attempt {
	t.Helper()
	return jobtest.Expand(t, jobtest.AttemptOf(t, attempt), config, s.Kind.Config())
}

// Begin starts a job on the target.
func (s *Target) Begin(t *testing.T, id run.AttemptID, config string) (job.Type, job.Attempt, job.Started) {
	t.Helper()
	return jobtest.Begin(t, s.New(t), id, config, s.Kind.Config())
}
