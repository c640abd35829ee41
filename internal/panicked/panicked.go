// Package panicked turns a panic into an error, so that one bad change, task or pipeline does not
// end the process. It neither logs nor retries: its callers do.
package panicked

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Error is a panic that Catch has recovered.
type Error struct {
	what string
	at   string // file and line
	// Stack is the stack of the goroutine that panicked: functions and lines. Arguments appear only
	// as hexadecimal words.
	Stack string
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %s at %s", e.what, e.at) }

// Catch calls do and returns its error or, if do panics, an *Error. The error quotes only runtime
// errors. Any other panic value may contain a secret, so the error names only its type.
func Catch(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{what: describe(value), at: origin(), Stack: string(debug.Stack())}
		}
	}()
	return do()
}

func describe(value any) string {
	if fault, ok := value.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("a value of type %T", value)
}

// origin returns the file and line that panicked. It is called while the panic is recovered.
func origin() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for panicking := false; ; {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, "runtime.")
		if panicking && !inside || !more {
			return fmt.Sprintf("%s:%d", frame.File[strings.LastIndex(frame.File, "/")+1:], frame.Line)
		}
		panicking = panicking || frame.Function == "runtime.gopanic"
	}
}

// Stack returns the stack of the panic that err is, or "".
func Stack(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Stack
	}
	return ""
}
