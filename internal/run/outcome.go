package run

import (
	"fmt"
	"time"
)

// Category classifies a failure, which decides the budget of a retry. Empty means unknown; it is
// budgeted as transient.
type Category string

// The failure categories.
const (
	Permanent Category = "PERMANENT" // the job's code or the request is wrong: a retry fails again
	Transient Category = "TRANSIENT" // a temporary failure: a retry may succeed
	Timeout   Category = "TIMEOUT"   // it took too long
	Unknown   Category = ""
)

// Valid reports whether c is one of the four categories.
func (c Category) Valid() bool {
	return c == Permanent || c == Transient || c == Timeout || c == Unknown
}

// Cause returns the cause of a retry after such a failure.
func (c Category) Cause() Cause {
	switch c {
	case Permanent:
		return CauseCode
	case Transient:
		return CauseTransient
	case Timeout:
		return CauseTimeout
	case Unknown:
		return CauseUnknown
	default:
		return CauseUnknown
	}
}

// Result is the result of a job.
type Result string

// The results a job can have.
const (
	ResultSuccess Result = "success"
	ResultFail    Result = "fail"
	ResultTimeout Result = "timeout"
)

// Valid reports whether r is one of the results.
func (r Result) Valid() bool { return r == ResultSuccess || r == ResultFail || r == ResultTimeout }

// Report describes the end of a job. The zero Report means that it has not ended.
type Report struct {
	Result   Result    `json:"result"`
	Category Category  `json:"category,omitempty"`
	Message  string    `json:"message,omitempty"`
	Exited   bool      `json:"exited,omitempty"` // ExitCode is set
	ExitCode int       `json:"exitCode,omitempty"`
	Refused  bool      `json:"refused,omitempty"` // the start was rejected: there was no job
	By       string    `json:"by,omitempty"`      // who reported it, if not the controller itself
	At       time.Time `json:"at,omitzero"`
}

// Outcome is the report of one attempt of one run. It does not affect any other attempt.
type Outcome struct {
	Key     Key `json:"key"`
	Attempt int `json:"attempt"`
	Report
	Output string `json:"-"` // the end of the job's output; not stored in the run
}

// check returns an error for an invalid report, and fills in the category that its result implies.
func (r Report) check() (Report, error) {
	switch r.Result {
	case ResultSuccess:
		r.Category = Unknown
	case ResultFail:
	case ResultTimeout:
		if r.Category == Unknown {
			r.Category = Timeout
		}
	default:
		return r, fmt.Errorf("job result %q is not success, fail or timeout", r.Result)
	}
	if !r.Category.Valid() {
		return r, fmt.Errorf("failure category %q is not PERMANENT, TRANSIENT, TIMEOUT or empty", r.Category)
	}
	return r, nil
}
