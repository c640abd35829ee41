package store

import (
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/rerun"
)

// A task waits at first and at most so long. A change was tried for a while before it was set aside, and many of its pipeline
// may follow it.
const (
	firstRetry, lastRetry             = 250 * time.Millisecond, time.Minute
	firstChangeRetry, lastChangeRetry = time.Minute, 15 * time.Minute
	// reportedFailures is how often a task fails before that is announced: after about eight seconds.
	reportedFailures = 5
)

// Failed returns the task as it is to be stored after one more failure. It waits twice as long as after the last one, up to
// a minute, less a share that depends on its id, so that tasks that failed together are not tried again together. A change
// that was set aside waits a minute at first, and up to 15.
func (t Task) Failed(now time.Time) Task {
	first, last := firstRetry, lastRetry
	if t.Kind == HandleChange {
		first, last = firstChangeRetry, lastChangeRetry
	}
	t.RetryAt = now.Add(rerun.Backoff(first, last, t.Failures, t.ID)).Round(0).UTC()
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
		b.Emit(keepsFailing(next, cause, now))
	}
	return b
}

// SetAside makes the Batch that stores changes of a pipeline as tasks because they could not be handled. They have failed that
// often. That changes of a pipeline keep failing is announced once a day, as INFRA_FAILURE.
func SetAside(changes []Change, failures int, cause error, now time.Time) Batch {
	b := Batch{ID: "set aside/" + aside(changes[0])}
	stored := map[string]bool{}
	for _, c := range changes {
		t := Task{
			ID: aside(c), Kind: HandleChange, Pipeline: c.Pipeline, Key: c.Run, Due: now.Round(0).UTC(), Change: c,
		}.Failed(now)
		t.Failures = failures
		if !stored[t.ID] { // a change may have been given twice
			stored[t.ID] = true
			b.Schedule(t)
		}
	}
	if failures >= reportedFailures {
		b.Emit(keepsFailing(b.Tasks[0], cause, now))
	}
	return b
}

// aside names the task of a change that was set aside. Positions would not do: a store that lost its tail gives them again.
func aside(c Change) string {
	subject := string(c.Pipeline)
	if c.Kind == RunMoved {
		subject = c.Run.String()
	}
	return fmt.Sprintf("change/%s/%s/v%d", c.Kind, subject, c.Version)
}

// keepsFailing announces a task that keeps failing.
func keepsFailing(t Task, cause error, now time.Time) event.Event {
	about := event.About{
		Pipeline: t.Pipeline, Schedule: t.Key.Schedule, Date: t.Key.Period, At: now, CausedBy: t.ID,
		Which: fmt.Sprintf("task %s of %s", t.ID, t.Due.UTC().Format(time.RFC3339Nano)),
	}
	if t.Kind == HandleChange {
		about = event.About{Pipeline: t.Pipeline, At: now, CausedBy: t.ID, Which: "changes on " + now.UTC().Format(time.DateOnly)}
	}
	why := fmt.Sprintf("%.2000s", cause.Error())
	message := fmt.Sprintf("task %s has failed %d times in a row and will be tried again: %s", t.ID, t.Failures, why)
	return event.New(event.InfraFailure, about, message, event.Infra{Error: why})
}
