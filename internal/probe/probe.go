// Package probe decides about probes: the question that an evaluator gets, what its answer means as
// a reading, and the backoff after a failure. It runs nothing and stores nothing: package evaluator
// runs probes, package prober decides when and for which period, and rules use the readings.
package probe

import (
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Protocol is the version of the question format.
const Protocol = 1

// Question is the input of an evaluator, as JSON.
type Question struct {
	Protocol  int            `json:"protocol"`
	Pipeline  string         `json:"pipelineId"`
	TraitType string         `json:"traitType"` // the probe's key
	Period    string         `json:"period"`
	Config    map[string]any `json:"config"`
	Attempt   int            `json:"attempt"`  // 1, plus the failures in a row
	Deadline  time.Time      `json:"deadline"` // when the evaluator is killed
}

// Request is one run of one probe.
type Request struct {
	Pipeline pipeline.ID
	Version  string // of the pipeline file that defines the probe
	File     string // the pipeline file
	Probe    pipeline.Probe
	Period   period.Period
	Attempt  int
}

// Failure is a run of a probe that gave no answer. Its reason contains no secret.
type Failure struct {
	Category run.Category
	Reason   string
}

func (f *Failure) Error() string { return f.Reason }

// State is the recent results of a probe. After failures the probe is run less and less often, even
// if a gate needs it:
//
//	closed ──failed──> closed, backing off 10s, 20s, 40s, 80s ──5 failures in a row──> open, backing off up to 15m
//	   ^                                                                                  │
//	   └─────────────────────────────── answered ─────────────────────────────────────────┘
//
// When the backoff is over, the probe runs once. A single answer closes the breaker and resets the
// backoff.
type State struct {
	Config string `json:"config"` // the version of the pipeline file; a new version resets the failures

	Answered  time.Time     `json:"answered,omitzero"` // when it last answered
	Took      time.Duration `json:"took,omitempty"`
	Period    string        `json:"date,omitempty"` // the period of that answer
	Status    Status        `json:"status,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"` // when that answer stops counting

	Failures int          `json:"failures,omitempty"` // in a row, since the last answer
	Since    time.Time    `json:"since,omitzero"`     // the first of these failures
	Failed   time.Time    `json:"failed,omitzero"`    // the last of them
	Failure  string       `json:"failure,omitempty"`
	Category run.Category `json:"category,omitempty"`
	Rest     time.Time    `json:"rest,omitzero"` // when the backoff ends
}

// The breaker.
const (
	trips     = 5 // failures in a row that open it
	firstRest = 10 * time.Second
	maxRest   = 15 * time.Minute
)

// For returns the state under a version of the file. A new version may have fixed the failures, so
// they do not count.
func (s State) For(config string) State {
	if s.Config == config {
		return s
	}
	s.Config, s.Failures, s.Since, s.Rest = config, 0, time.Time{}, time.Time{}
	s.Failed, s.Failure, s.Category = time.Time{}, "", ""
	return s
}

// Open reports whether the breaker is open: the next run is expected to fail, too.
func (s State) Open() bool { return s.Failures >= trips }

// Resting reports whether the probe is backing off.
func (s State) Resting(now time.Time) bool { return now.Before(s.Rest) }

// Unsure returns until when the probe does not run again for a period, because it has just answered
// that it knows nothing about it; zero if its last answer was another. Such an answer leaves no
// reading, so without this pause a gate that is evaluated often would run the probe as often.
func (s State) Unsure(about string, interval time.Duration) time.Time {
	if s.Status != Unknown || s.Period != about {
		return time.Time{}
	}
	wait := firstRest
	if interval > 0 {
		wait = min(wait, interval/2)
	}
	return s.Answered.Add(wait)
}

// Answer returns the state after an answer for a period.
func (s State) Answer(a Answer, about string, began, now, expires time.Time) State {
	return State{
		Config: s.Config, Answered: period.Instant(now), Took: now.Sub(began), Period: about, Status: a.Status, Reason: a.Reason, ExpiresAt: period.Instant(expires),
	}
}

// Break returns the state after a failure. The last answer still counts until it expires.
func (s State) Break(f *Failure, now time.Time) State {
	if s.Failures == 0 {
		s.Since = period.Instant(now)
	}
	s.Failures++
	s.Failed, s.Failure, s.Category = period.Instant(now), excerpt.Bytes(f.Reason, maxReason), f.Category
	s.Rest = period.Instant(now.Add(backoff.Doubling{First: firstRest, Most: maxRest}.After(s.Failures)))
	return s
}
