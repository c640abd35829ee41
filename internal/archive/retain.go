package archive

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// slack is the clock skew allowed between replicas.
const slack = time.Hour

// Retain returns keep, extended for data that is not archived yet. Events need no extension: the archive's cursor
// protects them. Readings and job logs are kept from the oldest entry of the backlog on, and job logs also since the
// last sweep. If Postgres has not answered since the process started, both are kept forever.
func (a *Archiver) Retain(ctx context.Context, keep store.Retention, now time.Time) (store.Retention, error) {
	a.mu.Lock()
	c := a.covered
	a.mu.Unlock()
	if !c.filled {
		keep.History, keep.JobLog = 0, 0
		return keep, nil
	}
	b, err := a.Backlog(ctx)
	if err != nil {
		return keep, err
	}
	if !b.Oldest.IsZero() {
		keep.History = longer(keep.History, now.Sub(b.Oldest)+slack)
		keep.JobLog = longer(keep.JobLog, now.Sub(b.Oldest)+slack)
	}
	keep.JobLog = longer(keep.JobLog, now.Sub(c.swept)+slack)
	return keep, nil
}

// longer returns the longer of two retention times; 0 means forever.
func longer(a, b time.Duration) time.Duration {
	if a == 0 {
		return 0
	}
	return max(a, b)
}
