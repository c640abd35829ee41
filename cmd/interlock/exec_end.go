package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/excerpt"
)

// The exit codes with which a command states the category of its failure, as in jobs of type
// command.
const (
	codePermanent = 2
	codeTransient = 75
)

// childEnd describes how a command ended.
type childEnd struct {
	exit   int
	signal syscall.Signal // the signal that killed it, or 0
	output string         // the end of its output
	lost   string         // why part of its output could not be passed on, with the stream; "" if all was

	stopped error // why exec stopped it; nil if it did not
}

// silenced reports whether exec stopped the command because the server was silent. Then even exit
// code 0 does not mean that the command has done all its work.
func (e childEnd) silenced() bool {
	_, is := errors.AsType[*client.SilenceError](e.stopped)
	return is
}

// failedItself reports whether the command failed, other than by the SIGPIPE that it gets if its
// output is lost.
func (e childEnd) failedItself() bool {
	return e.exit != 0 && (e.lost == "" || e.signal != syscall.SIGPIPE)
}

// code returns the exit code of exec itself as an error; nil for 0.
func (e childEnd) code() error {
	switch {
	case e.lost != "" && !e.failedItself():
		return codeError(exitOutputLost)
	case e.signal != 0:
		return codeError(exitBySignal + int(e.signal))
	case e.exit != 0:
		return codeError(e.exit)
	case e.silenced():
		return codeError(exitBySignal + int(syscall.SIGTERM))
	}
	return nil
}

// report returns the result in the API's form.
func (e childEnd) report() client.JobReport {
	r := client.JobReport{Result: "success", Message: "exit code 0", Output: e.output, ExitCode: &e.exit}
	switch {
	case e.silenced():
		r.Result, r.Category, r.ExitCode = "fail", "TRANSIENT", nil
		r.Message = fmt.Sprintf("was stopped: %v", e.stopped)
	case e.lost != "" && !e.failedItself():
		r.Result, r.Category, r.ExitCode = "fail", "TRANSIENT", nil
		r.Message = e.lost
	case e.signal != 0:
		r.Result, r.Category, r.ExitCode = "fail", "TRANSIENT", nil
		r.Message = fmt.Sprintf("was killed by signal %d (%s)", int(e.signal), e.signal)
	case e.exit != 0:
		r.Result, r.Message = "fail", fmt.Sprintf("exit code %d", e.exit)
		if line := excerpt.LastLine(e.output, maxLine); line != "" {
			r.Message += ": " + line
		}
		switch e.exit {
		case codePermanent:
			r.Category = "PERMANENT"
		case codeTransient:
			r.Category = "TRANSIENT"
		}
	}
	if e.lost != "" && e.failedItself() {
		r.Message += "; " + e.lost
	}
	return r
}
