package client

import "time"

// Probe is an evaluator of a pipeline, and how it has done of late.
type Probe struct {
	Pipeline string        `json:"pipeline" doc:"Whose probe it is."`
	Key      string        `json:"key" doc:"The sensor that it writes."`
	Kind     string        `json:"kind" enum:"command,url,builtin"`
	Builtin  *string       `json:"builtin" doc:"The built-in check; null for other probes."`
	Interval *string       `json:"interval" doc:"How often it is asked; null: when its answer has expired and a gate needs it."`
	TTL      string        `json:"ttl" doc:"How long an answer is valid."`
	Timeout  string        `json:"timeout"`
	State    string        `json:"state" enum:"new,ok,failing,open" doc:"new: it was not asked yet; failing: it broke; open: it broke so often that it is asked rarely."`
	Answer   ProbeAnswer   `json:"answer" doc:"Its last answer; all null if there is none."`
	Failures ProbeFailures `json:"failures" doc:"What went wrong since."`
}

// ProbeAnswer is what a probe said last; all nil if it never did.
type ProbeAnswer struct {
	At           *time.Time `json:"at"`
	Date         *string    `json:"date" doc:"The period that it was asked about."`
	Status       *string    `json:"status" enum:"PASS,FAIL"`
	Reason       *string    `json:"reason"`
	ExpiresAt    *time.Time `json:"expiresAt" doc:"When it expires."`
	Milliseconds *int64     `json:"milliseconds" doc:"How long it took."`
}

// ProbeFailures are the times that a probe broke since its last answer.
type ProbeFailures struct {
	Count    int        `json:"count"`
	Since    *time.Time `json:"since"`
	At       *time.Time `json:"at" doc:"The last."`
	Reason   *string    `json:"reason" doc:"Of the last."`
	Category *string    `json:"category" enum:"PERMANENT,TRANSIENT,TIMEOUT"`
	NextTry  *time.Time `json:"nextTry" doc:"It is not asked before."`
}
