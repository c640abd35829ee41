// Package jobtest is the conformance suite of job types: what Start, Find, Status, Stop, Wait and
// Check promise, whatever the target does. A job type's tests describe a target that can be
// inspected and made to misbehave (Bench); Run then checks the promises one by one. Types that use
// HTTP also run RunHTTP, against a server that gives all kinds of answers.
//
// Each claim is a subtest. Claims that need a role that the type does not have (Finder, Stopper, …)
// are skipped.
package jobtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

const (
	// SecretName is an environment variable that the configs of a bench may read as
	// ${env:JOBTEST_TOKEN}.
	SecretName = "JOBTEST_TOKEN"
	// Secret is its value. No error, message or output may show it, so targets print it wherever
	// they can.
	Secret = `Zq9"Xv8&Jw7/Kp6`
	// CallbackToken is a secret of every attempt.
	CallbackToken = "Tb4-Mn2-Rk5-Wd3"

	// patience bounds every wait. A passing test never waits that long.
	patience = 2 * time.Minute
	// Flood is the size of an excessive output or answer.
	Flood = 100 << 20
)

// Bench is a job type and a target to test it on.
type Bench struct {
	// New returns the type. Each call is like a restarted controller: the instances share only the
	// target.
	New func(t *testing.T) job.Type
	// NewConfig returns the type's config struct.
	NewConfig func() pipeline.JobConfig

	// The configs, as YAML, of jobs that succeed, that run until they are stopped or abandoned,
	// that print Flood bytes and succeed, and that fail with the secret and the callback's token in
	// all of their output. "" skips the claims about such a job.
	Good, Endless, Flooding, Leaking string

	// Ends are jobs and how they end: one for each state that the target documents as final.
	Ends []End
	// Busy are the configs of jobs that have not ended, by the state that their target reports.
	Busy map[string]string
	// Undocumented are the configs of jobs whose target reports a state that it does not document.
	Undocumented map[string]string
	// Refused are starts that certainly do not happen.
	Refused []Refusal
	// Unfit are jobs that Check must refuse.
	Unfit []Refusal

	// Wire records the requests to an HTTP target, and Authorised reports whether a call carries
	// the right credentials. Both are nil for other targets.
	Wire       *Wire
	Authorised func(Call) bool

	// Starts returns how often the target really started a job of this attempt.
	Starts func(t *testing.T, id run.AttemptID) int
	// Lose makes the answers to start calls get lost after the target has accepted the job; nil if
	// they cannot.
	Lose func(t *testing.T)
}

// End is a job and its outcome.
type End struct {
	Name   string
	Config string
	Want   job.Status // Message and Output need only be contained
}

// Refusal is a job that the type or its target refuses.
type Refusal struct {
	Name   string
	Config string
	Want   job.Refusal // Reason need only be contained
}

// attempts numbers the attempts of a test binary, so that no two tests share one.
var attempts atomic.Int64

// bed is a bench in one test.
type bed struct {
	Bench
	*testing.T
	job.Type
}

func (b Bench) in(t *testing.T) bed { return bed{b, t, b.New(t)} }

// attempt returns a new attempt with that config.
func (b bed) attempt(config string) job.Attempt {
	b.Helper()
	day, err := period.Parse("2026-03-03T07")
	if err != nil {
		b.Fatal(err)
	}
	key := run.Key{Pipeline: pipeline.ID(fmt.Sprintf("bench-%d", attempts.Add(1))), Schedule: pipeline.ByCron, Period: day}
	a := job.Attempt{
		ID: key.Attempt(2), Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Number: 2,
		Callback: job.Callback{URL: "https://interlock.example/api/v1/runs", Token: CallbackToken},
	}
	return Expand(b.T, a, config, b.NewConfig())
}

// AttemptOf returns the attempt with that id.
func AttemptOf(t *testing.T, id run.AttemptID) job.Attempt {
	t.Helper()
	key, number, err := run.ParseAttemptID(string(id))
	if err != nil {
		t.Fatal(err)
	}
	return job.Attempt{ID: id, Pipeline: key.Pipeline, Schedule: key.Schedule, Period: key.Period, Number: number}
}

// Expand sets the attempt's config, with Secret allowed.
func Expand(t *testing.T, a job.Attempt, config string, into pipeline.JobConfig) job.Attempt {
	t.Helper()
	secrets, err := job.NewSecrets([]string{SecretName}, nil, func(string) (string, bool) { return Secret, true })
	if err != nil {
		t.Fatal(err)
	}
	d, problems := document.Parse("config", []byte(config))
	if d == nil {
		t.Fatal(problems)
	}
	expanded, err := job.Expand(a, d.Root(), into, secrets)
	if err != nil {
		t.Fatalf("%s: %v", config, err)
	}
	return expanded
}

// Begin starts a job of the attempt with that id and config.
func Begin(t *testing.T, kind job.Type, id run.AttemptID, config string, into pipeline.JobConfig) (job.Type, job.Attempt, job.Started) {
	t.Helper()
	a := Expand(t, AttemptOf(t, id), config, into)
	started, err := kind.Start(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return kind, a, started
}

// Guard is an egress guard that allows these hosts.
func Guard(t *testing.T, allow ...string) *egress.Guard {
	t.Helper()
	g, err := egress.New(allow)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ctx returns a context with patience as its timeout.
func (b bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	b.Cleanup(cancel)
	return ctx
}

// start starts an attempt, and fails the test if it cannot.
func (b bed) start(a job.Attempt) job.Started {
	b.Helper()
	started, err := b.Start(b.ctx(), a)
	b.clean(err)
	if err != nil {
		b.Fatalf("start: %v", err)
	}
	if started.Handle == "" {
		b.Errorf("a started job has no handle")
	}
	return started
}

// end waits until a started job has ended.
func (b bed) end(a job.Attempt, started job.Started) job.Status {
	b.Helper()
	if started.Result != nil {
		b.cleanStatus(*started.Result)
		return *started.Result
	}
	ctx := b.ctx()
	if w, ok := b.Type.(job.Waiter); ok {
		if err := w.Wait(ctx, a, started.Handle); err != nil {
			b.Fatalf("wait: %v", err)
		}
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		status, err := b.Status(ctx, a, started.Handle)
		b.clean(err)
		if err != nil {
			b.Fatalf("status: %v", err)
		}
		b.cleanStatus(status)
		if status.Done {
			return status
		}
		if _, ok := b.Type.(job.Waiter); ok {
			b.Fatalf("Wait returned before the job had ended")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.Fatal("the job did not end")
		}
	}
}

// starts checks how often the target started the attempt's job.
func (b bed) starts(a job.Attempt, want int) {
	b.Helper()
	if got := b.Starts(b.T, a.ID); got != want {
		b.Errorf("the target started %d jobs of this attempt, want %d", got, want)
	}
}

// clean checks that an error shows no secret.
func (b bed) clean(err error) {
	b.Helper()
	if err != nil && shows(err.Error()) {
		b.Errorf("an error shows a secret: %v", err)
	}
}

// cleanStatus checks the rules for every status.
func (b bed) cleanStatus(s job.Status) {
	b.Helper()
	if shows(s.Message) || shows(s.Output) {
		b.Errorf("a status shows a secret: %.200q %.200q", s.Message, s.Output)
	}
	if len(s.Output) > job.MaxOutput || !utf8.ValidString(s.Output) || !utf8.ValidString(s.Message) || strings.Contains(s.Message, "\n") {
		b.Errorf("output of %d bytes, message %.200q: want at most %d, valid text and one line", len(s.Output), s.Message, job.MaxOutput)
	}
	valid := s.Result == run.ResultSuccess || s.Result == run.ResultFail || s.Result == run.ResultTimeout
	if s.Done != valid || !s.Category.Valid() || s.Result == run.ResultSuccess && s.Category != run.Unknown {
		b.Errorf("a job cannot be done %v with result %q and category %q", s.Done, s.Result, s.Category)
	}
	if s.Done && s.Result != run.ResultSuccess && s.Message == "" {
		b.Errorf("a failure has no message")
	}
}

// shows reports whether a text contains a secret or a large part of one.
func shows(text string) bool {
	for _, secret := range []string{Secret, CallbackToken} {
		for i := 0; i+8 <= len(secret); i++ {
			if strings.Contains(text, secret[i:i+8]) {
				return true
			}
		}
	}
	return false
}

// refusal returns err as a *job.Refusal, or nil.
func refusal(err error) *job.Refusal {
	r, _ := errors.AsType[*job.Refusal](err)
	return r
}
