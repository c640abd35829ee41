package store

import "errors"

// FaultKind is the reason why a reachable store stores no changes.
type FaultKind string

// The kinds of faults.
const (
	Full     FaultKind = "full"      // there is no space left
	ReadOnly FaultKind = "read-only" // records can be read but not changed
	Damaged  FaultKind = "damaged"   // records cannot be read, or cannot be trusted
	Failing  FaultKind = "failing"   // the disk returns errors
)

// Fault is the error of a store that is reachable but stores no changes. The failed change was not
// stored. Each adapter maps its technology's errors to faults, so that no code above it parses
// errors.
//
// Every fault except Damaged is ErrAway: it passes once the remedy has been applied.
type Fault struct {
	Kind   FaultKind
	Remedy string // what is wrong and what to do; it is sent to clients, so it contains no path
	Err    error  // may be nil
}

// Error returns the remedy and the cause.
func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Remedy
	}
	return f.Remedy + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Is reports whether target is ErrAway and the fault is temporary.
func (f *Fault) Is(target error) bool { return target == ErrAway && f.Kind != Damaged }

// FaultOf returns the fault in err's chain, or nil if there is none.
func FaultOf(err error) *Fault {
	f, _ := errors.AsType[*Fault](err)
	return f
}
