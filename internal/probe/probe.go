// Package probe decides about evaluators: what one is asked, what its answer means as a reading, and when one that broke is
// left alone. It runs none, and stores nothing: package evaluator runs them, package prober says for which period, and
// rules decide on what they find.
package probe

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Protocol is the version of what evaluators are sent.
const Protocol = 1

// Question is what an evaluator is sent, as JSON.
type Question struct {
	Protocol  int            `json:"protocol"`
	Pipeline  string         `json:"pipelineId"`
	TraitType string         `json:"traitType"` // the probe's key
	Period    string         `json:"period"`
	Config    map[string]any `json:"config"`
	Attempt   int            `json:"attempt"`  // 1, and one more for each time in a row that it broke
	Deadline  time.Time      `json:"deadline"` // when it is ended
}

// Request is one question to one probe, before it is put into words.
type Request struct {
	Pipeline pipeline.ID
	Version  string // of the pipeline, that the probe is from
	File     string // the pipeline's
	Probe    pipeline.Probe
	Period   period.Period
	Attempt  int
}

// Failure is an evaluator that broke: it gave no answer. Its reason holds no secret.
type Failure struct {
	Category run.Category
	Reason   string
}

func (f *Failure) Error() string { return f.Reason }

// State is how a probe has done of late. While it breaks it is asked less and less often, whoever needs it:
//
//	closed ──broke──> closed, resting 10s, 20s, 40s, 80s ──broke 5 times in a row──> open, resting up to 15m
//	   ^                                                                                │
//	   └──────────────────────────────── answered ──────────────────────────────────────┘
//
// At the end of a rest it is asked once, and a single answer ends all that.
type State struct {
	Config string `json:"config"` // the version of the pipeline's file; another one is a new beginning

	Answered  time.Time     `json:"answered,omitzero"` // its last answer
	Took      time.Duration `json:"took,omitempty"`
	Period    string        `json:"date,omitempty"` // that it was about
	Status    Status        `json:"status,omitempty"`
	Reason    string        `json:"reason,omitempty"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"` // from when on it no longer counts

	Failures int          `json:"failures,omitempty"` // in a row, since the last answer
	Since    time.Time    `json:"since,omitzero"`     // the first of them
	Failed   time.Time    `json:"failed,omitzero"`    // the last of them
	Failure  string       `json:"failure,omitempty"`
	Category run.Category `json:"category,omitempty"`
	Rest     time.Time    `json:"rest,omitzero"` // it is not asked before
}

// The breaker.
const (
	trips     = 5 // so many failures in a row open it
	firstRest = 10 * time.Second
	maxRest   = 15 * time.Minute
)

// For is s under a version of the file: what broke under another may be mended in this one.
func (s State) For(config string) State {
	if s.Config == config {
		return s
	}
	s.Config, s.Failures, s.Since, s.Rest = config, 0, time.Time{}, time.Time{}
	s.Failed, s.Failure, s.Category = time.Time{}, "", ""
	return s
}

// Open says that the breaker is open: nobody expects an answer of the next try.
func (s State) Open() bool { return s.Failures >= trips }

// Resting says that the probe is left alone.
func (s State) Resting(now time.Time) bool { return now.Before(s.Rest) }

// Answer is s after an answer about a period.
func (s State) Answer(a Answer, about string, began, now, expires time.Time) State {
	return State{
		Config: s.Config, Answered: period.Instant(now), Took: now.Sub(began), Period: about, Status: a.Status, Reason: a.Reason, ExpiresAt: period.Instant(expires),
	}
}

// Break is s after a failure. The last answer stays: it counts until it expires.
func (s State) Break(f *Failure, now time.Time) State {
	if s.Failures == 0 {
		s.Since = period.Instant(now)
	}
	s.Failures++
	s.Failed, s.Failure, s.Category = period.Instant(now), brief(f.Reason), f.Category
	s.Rest = period.Instant(now.Add(rest(s.Failures)))
	return s
}

// rest is how long a probe is left alone after so many failures in a row.
func rest(failures int) time.Duration {
	wait := firstRest
	for n := 1; n < failures && wait < maxRest; n++ {
		wait *= 2
	}
	return min(wait, maxRest)
}
