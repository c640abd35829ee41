package run

import (
	"fmt"
	"time"
)

// Category says whose fault a failure is, which decides what it may cost. Empty means nobody can say; it is
// budgeted as transient.
type Category string

// The failure categories.
const (
	Permanent Category = "PERMANENT" // their code or our request is wrong: the same again will fail again
	Transient Category = "TRANSIENT" // the world: the same again may succeed
	Timeout   Category = "TIMEOUT"   // it took too long
	Unknown   Category = ""
)

// Valid says whether c is one of the four.
func (c Category) Valid() bool {
	return c == Permanent || c == Transient || c == Timeout || c == Unknown
}

// Cause is what a retry after such a failure is opened for.
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

// Result is how a job ended.
type Result string

// The results a job can have.
const (
	ResultSuccess Result = "success"
	ResultFail    Result = "fail"
	ResultTimeout Result = "timeout"
)

// Valid says whether r is one of them.
func (r Result) Valid() bool { return r == ResultSuccess || r == ResultFail || r == ResultTimeout }

// Report is what is known of a job's end. The zero Report means that it has not ended.
type Report struct {
	Result   Result    `json:"result"`
	Category Category  `json:"category,omitempty"`
	Message  string    `json:"message,omitempty"`
	Exited   bool      `json:"exited,omitempty"` // there is an exit code
	ExitCode int       `json:"exitCode,omitempty"`
	By       string    `json:"by,omitempty"` // who reported it, where that was not the controller itself
	At       time.Time `json:"at,omitzero"`
}

// Outcome is a report on one attempt of one run. It has no say over any other attempt.
type Outcome struct {
	Key     Key `json:"key"`
	Attempt int `json:"attempt"`
	Report
	Output string `json:"-"` // the end of what the job printed; the run does not keep it
}

// check refuses a report that no job can give, and fills in what its result implies.
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
