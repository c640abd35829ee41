package archive

import (
	"context"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// slack is how far clocks may disagree about when something was written.
const slack = time.Hour

// Retain is keep, longer where something is not archived yet. Events need no more than the archive's cursor; readings and
// job logs are kept from the oldest entry of the backlog on, and job logs since the last look at all runs. As long as
// nothing is known of the archive, since Postgres has not answered since the start, both are kept for ever.
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

// longer is the longer one of two times to keep something; 0 is for ever.
func longer(a, b time.Duration) time.Duration {
	if a == 0 {
		return 0
	}
	return max(a, b)
}
