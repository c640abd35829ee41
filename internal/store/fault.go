package store

import "errors"

// FaultKind says why a store that can be reached stores no changes.
type FaultKind string

// The kinds of faults.
const (
	Full     FaultKind = "full"      // there is no space left
	ReadOnly FaultKind = "read-only" // records can be read but not changed
	Damaged  FaultKind = "damaged"   // records cannot be read, or cannot be trusted
	Failing  FaultKind = "failing"   // the disk returns errors
)

// Fault is the error of a store that can be reached but stores no changes. The change that failed with it was not stored.
// Each adapter decides which errors of its technology are which fault, so that nothing above it parses errors.
//
// Every fault but Damaged is ErrAway: it passes once somebody has followed the remedy.
type Fault struct {
	Kind   FaultKind
	Remedy string // what is wrong and what to do; clients see it, so it holds no path
	Err    error  // may be nil
}

// Error is the remedy with its cause.
func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Remedy
	}
	return f.Remedy + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Is reports whether target is ErrAway and the fault passes.
func (f *Fault) Is(target error) bool { return target == ErrAway && f.Kind != Damaged }

// FaultOf returns the fault in err's chain, or nil if there is none.
func FaultOf(err error) *Fault {
	f, _ := errors.AsType[*Fault](err)
	return f
}
