package explain

import (
	"cmp"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Attempt is one try to bring a run to COMPLETED, reconstructed from the records. The latest is
// known in full; for earlier ones, what events and job log still contain.
type Attempt struct {
	Number       int
	Cause        run.Cause
	By           string
	Reason       string
	Forced       bool
	GateBypassed bool
	OpenedAt     time.Time
	StartedAt    time.Time
	EndedAt      time.Time
	Snapshot     run.SnapshotID
	Handle       run.Handle
	Result       run.Result // "" while there is none
	Category     run.Category
	Message      string
	ExitCode     *int
	Output       string
}

// Attempts lists the attempts of r, oldest first.
func Attempts(r run.Run, log []store.JobEntry, events []event.Event) []Attempt {
	attempts := make([]Attempt, r.Attempt)
	for i := range attempts {
		attempts[i].Number = i + 1
	}
	at := func(n int) *Attempt {
		if n < 1 || n > len(attempts) {
			return &Attempt{} // discard records of an attempt that does not exist
		}
		return &attempts[n-1]
	}
	for _, e := range events {
		at(e.Detail.Attempt).apply(e)
	}
	last := map[int]store.JobEntry{}
	for _, entry := range log {
		at(entry.Attempt).logged(entry)
		last[entry.Attempt] = entry
	}
	for n, entry := range last {
		if n < r.Attempt && entry.Event == store.JobRefused {
			at(n).refused(entry)
		}
	}
	at(r.Attempt).latest(r)
	for i := range attempts[:max(0, len(attempts)-1)] {
		attempts[i].replaced(attempts[i+1])
	}
	return attempts
}

// replaced sets the end of an attempt that never started its job, if nothing else records it: the
// next attempt replaced it.
func (a *Attempt) replaced(next Attempt) {
	if a.StartedAt.IsZero() {
		a.end(next.OpenedAt)
	}
}

// refused ends an earlier attempt whose job was never started: its last job log entry is the
// refusal.
func (a *Attempt) refused(e store.JobEntry) {
	a.EndedAt, a.Result, a.Category = e.At, run.ResultFail, e.Category
}

// apply fills in the data of an event.
func (a *Attempt) apply(e event.Event) {
	switch x := e.Detail.Extra.(type) {
	case event.Opening:
		if e.Type == event.TriggerStarted {
			a.Cause, a.By, a.Reason = x.Cause, x.RequestedBy, x.Reason
			a.Forced, a.GateBypassed, a.OpenedAt = x.Forced, x.GateBypassed, e.Time
		}
	case event.Started:
		a.Snapshot, a.Handle, a.StartedAt = x.Snapshot, x.Handle, e.Time
	case event.Finished:
		a.ExitCode, a.Category = x.ExitCode, x.Category
	case event.Left:
		a.end(e.Time)
	case event.Gate:
		if e.Type == event.ValidationExhausted {
			a.end(e.Time)
		}
	}
}

// end sets when the attempt ended, unless that is known.
func (a *Attempt) end(at time.Time) {
	if a.EndedAt.IsZero() {
		a.EndedAt = at
	}
}

// logged fills in the data of a job log entry.
func (a *Attempt) logged(e store.JobEntry) {
	switch e.Event {
	case store.JobStarted:
		a.StartedAt, a.Handle = e.At, e.Handle
	case store.JobSuccess, store.JobFail, store.JobTimeout:
		a.EndedAt, a.Result, a.Category, a.Message = e.At, run.Result(e.Event), e.Category, e.Message
	case store.JobRefused, store.JobHeld, store.JobStopping, store.JobStopped, store.JobLate:
		if a.Result == "" {
			a.Message = e.Message
		}
	}
	a.Output = cmp.Or(e.Output, a.Output)
}

// latest fills in what the run itself records about its last attempt.
func (a *Attempt) latest(r run.Run) {
	p := r.Progress
	o := p.Opening
	a.Cause, a.By, a.Reason, a.Forced, a.GateBypassed, a.OpenedAt = o.Cause, o.By, o.Reason, o.Forced, o.GateBypassed, o.At
	if !p.StartedAt.IsZero() {
		a.StartedAt = p.StartedAt
	}
	a.Snapshot, a.Handle = cmp.Or(p.Snapshot, a.Snapshot), cmp.Or(p.Handle, a.Handle)
	if p.Report.Result != "" {
		a.Result, a.Category, a.Message = p.Report.Result, p.Report.Category, p.Report.Message
		a.end(p.Report.At)
	}
	if p.Report.Exited {
		a.ExitCode = new(p.Report.ExitCode)
	}
	a.end(r.EndedAt)
}
