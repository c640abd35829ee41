package store

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/rerun"
)

const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
	// reportedFailures is how often a task fails before that is announced: after about eight seconds.
	reportedFailures = 5
)

// Failed returns the task as it is to be stored after one more failure. It waits twice as long as after the last one, up to
// a minute, less a share that depends on its id, so that tasks that failed together are not tried again together.
func (t Task) Failed(now time.Time) Task {
	t.RetryAt = now.Add(rerun.Backoff(firstRetry, lastRetry, t.Failures, t.ID)).Round(0).UTC()
	t.Failures++
	return t
}

// Postpone makes the Batch that gives a claimed task back after a failure, to be tried again later: see Task.Failed. A task
// that keeps failing is announced once, as INFRA_FAILURE.
func Postpone(c Claim, cause error, now time.Time) Batch {
	next := c.Task.Failed(now)
	b := Batch{ID: fmt.Sprintf("postpone/%s/%d", next.ID, c.Lease.Token), Lease: &c.Lease}
	b.Schedule(next)
	if next.Failures == reportedFailures {
		about := event.About{
			Pipeline: next.Pipeline, Schedule: next.Key.Schedule, Date: next.Key.Period, At: now, CausedBy: next.ID,
			Which: fmt.Sprintf("task %s of %s", next.ID, next.Due.UTC().Format(time.RFC3339Nano)),
		}
		why := fmt.Sprintf("%.2000s", cause.Error())
		message := fmt.Sprintf("task %s has failed %d times in a row and is tried again at least once a minute: %s", next.ID, next.Failures, why)
		b.Emit(event.New(event.InfraFailure, about, message, event.Infra{Error: why}))
	}
	return b
}
