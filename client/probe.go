package client

import "time"

// Probe is an evaluator of a pipeline, and how it has done of late.
type Probe struct {
	Pipeline string        `json:"pipeline"`
	Key      string        `json:"key"`      // the sensor that it writes
	Kind     string        `json:"kind"`     // command, url or builtin
	Builtin  *string       `json:"builtin"`  // which of those that Interlock brings along
	Interval *string       `json:"interval"` // nil: asked when its answer has expired and a gate needs it
	TTL      string        `json:"ttl"`
	Timeout  string        `json:"timeout"`
	State    string        `json:"state"` // new, ok, failing or open
	Answer   ProbeAnswer   `json:"answer"`
	Failures ProbeFailures `json:"failures"` // since its last answer
}

// ProbeAnswer is what a probe said last; all nil if it never did.
type ProbeAnswer struct {
	At           *time.Time `json:"at"`
	Date         *string    `json:"date"`   // the period that it was asked about
	Status       *string    `json:"status"` // PASS or FAIL
	Reason       *string    `json:"reason"`
	ExpiresAt    *time.Time `json:"expiresAt"`
	Milliseconds *int64     `json:"milliseconds"`
}

// ProbeFailures are the times that a probe broke since its last answer.
type ProbeFailures struct {
	Count    int        `json:"count"`
	Since    *time.Time `json:"since"`
	At       *time.Time `json:"at"`
	Reason   *string    `json:"reason"`
	Category *string    `json:"category"`
	NextTry  *time.Time `json:"nextTry"` // it is not asked before
}
