package command

import (
	"fmt"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Exit codes with a special meaning.
const (
	exitPermanent = 2  // wrong usage, by the convention of shells and most programs
	exitTransient = 75 // EX_TEMPFAIL of sysexits.h
)

// exit is how a command ended, as its keeper records it.
type exit struct {
	Code     int           `json:"code"`
	Signal   int           `json:"signal,omitempty"` // the signal that killed it; 0 if it exited
	TimedOut time.Duration `json:"timedOut,omitempty"`
	Stopped  bool          `json:"stopped,omitempty"` // by request

	Exceeded  string `json:"exceeded,omitempty"`  // a limit, in words
	Suspended bool   `json:"suspended,omitempty"` // its keeper was, so the controller ended both

	// Refused says why the command could not be started.
	Refused  string       `json:"refused,omitempty"`
	Category run.Category `json:"category,omitempty"`
	Own      bool         `json:"own,omitempty"` // as in job.Refusal

	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
}

// status converts the exit to a job status.
func (e exit) status(secrets job.Redactor, output string) job.Status {
	s := job.Status{Done: true, Result: run.ResultFail, Output: output}
	switch {
	case e.Refused != "":
		s.Category, s.Message = e.Category, secrets.Text(e.Refused)
	case e.Exceeded != "":
		s.Category, s.Message = run.Permanent, e.Exceeded+", and was ended"
	case e.Suspended:
		s.Category = run.Transient
		s.Message = "its keeper process was suspended (SIGSTOP or a debugger), so its timeout and its end went unnoticed; the controller killed it"
	case e.TimedOut != 0:
		s.Result, s.Category = run.ResultTimeout, run.Timeout
		s.Message = fmt.Sprintf("did not end within its timeout of %s, and was ended", document.Duration(e.TimedOut))
	case e.Stopped:
		s.Category, s.Message = run.Transient, "was stopped"
	case e.Signal != 0:
		s.Category, s.Message = run.Transient, fmt.Sprintf("was killed by signal %d (%s)", e.Signal, syscall.Signal(e.Signal))
	case e.Code == 0:
		s.Result, s.Exited = run.ResultSuccess, true
		s.Message = "exit code 0"
	default:
		s.Exited, s.ExitCode, s.Category = true, e.Code, categoryOf(e.Code)
		s.Message = fmt.Sprintf("exit code %d", e.Code)
		if line := excerpt.LastLine(output, maxLine); line != "" {
			s.Message += ", " + line
		}
	}
	return s
}

func categoryOf(code int) run.Category {
	switch code {
	case exitPermanent:
		return run.Permanent
	case exitTransient:
		return run.Transient
	default:
		return run.Unknown
	}
}

// lostStatus is the status of a job whose keeper is gone without a recorded exit.
func lostStatus(output string) job.Status {
	return job.Status{
		Done: true, Result: run.ResultFail, Category: run.Transient, Output: output,
		Message: "lost: its keeper process ended without recording an exit code; it may have been killed, or the machine restarted",
	}
}

// maxLine is how much of a line of output goes into a message.
const maxLine = 300
