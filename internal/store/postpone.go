package store

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
)

// The first and the longest retry delay of a failing task. A change has already been retried for a
// while before it is set aside, and many changes of its pipeline may follow, so it waits longer.
var (
	retries       = backoff.Doubling{First: 250 * time.Millisecond, Most: time.Minute}
	changeRetries = backoff.Doubling{First: time.Minute, Most: 15 * time.Minute}
)

// reportedFailures is how often a task fails before an event reports it: after about eight seconds.
const reportedFailures = 5

// Failed returns the task to store after one more failure. The delay doubles each time, up to a
// minute, less a jitter derived from its id, so that tasks that failed together are not retried
// together. A change that was set aside waits a minute at first, and up to 15.
func (t Task) Failed(now time.Time) Task {
	waits := retries
	if t.Kind == HandleChange {
		waits = changeRetries
	}
	t.Failures++
	t.RetryAt = now.Add(waits.Spread(t.Failures, t.ID)).Round(0).UTC()
	return t
}

// Postpone returns the Batch that gives back a claimed task after a failure, to be retried later:
// see Task.Failed. A task that keeps failing is reported once, as INFRA_FAILURE.
func Postpone(c Claim, cause error, now time.Time) Batch {
	next := c.Task.Failed(now)
	b := Batch{ID: fmt.Sprintf("postpone/%s/%d", next.ID, c.Lease.Token), Lease: &c.Lease}
	b.Schedule(next)
	if next.Failures == reportedFailures {
		b.Emit(keepsFailing(next, cause, now))
	}
	return b
}

// SetAside returns the Batch that stores changes of a pipeline as tasks after they have failed that
// often. A change that is set aside already keeps its task: see Batch.Tasks. Continued failures of a
// pipeline's changes are reported once a day, as INFRA_FAILURE.
func SetAside(changes []Change, failures int, cause error, now time.Time) Batch {
	var b Batch
	stored := map[string]bool{}
	for _, c := range changes {
		t := Task{
			ID: aside(c), Kind: HandleChange, Pipeline: c.Pipeline, Key: c.Run, Due: now.Round(0).UTC(), Change: c,
		}.Failed(now)
		t.Failures = failures
		if !stored[t.ID] { // a change may be delivered twice
			stored[t.ID] = true
			b.Schedule(t)
		}
	}
	b.ID = asideID(b.Tasks, now)
	if failures >= reportedFailures {
		b.Emit(keepsFailing(b.Tasks[0], cause, now))
	}
	return b
}

// asideID names all changes that are set aside, by a digest that keeps it short. A replica may have
// set some of them aside before it died, and the next one receives them again with others.
func asideID(tasks []Task, now time.Time) string {
	all := sha256.New()
	for _, t := range tasks {
		fmt.Fprintf(all, "%q %d\n", t.ID, t.Failures)
	}
	return fmt.Sprintf("set aside/%s/%d/%x", tasks[0].ID, now.UnixNano(), all.Sum(nil)[:12])
}

// aside returns the task id of a change that was set aside. It does not use the position: a store
// that lost its latest commits reuses positions.
func aside(c Change) string {
	subject := string(c.Pipeline)
	if c.Kind == RunMoved {
		subject = c.Run.String()
	}
	return fmt.Sprintf("change/%s/%s/v%d", c.Kind, subject, c.Version)
}

// keepsFailing returns the event for a task that keeps failing.
func keepsFailing(t Task, cause error, now time.Time) event.Event {
	about := event.About{
		Pipeline: t.Pipeline, Schedule: t.Key.Schedule, Date: t.Key.Period, At: now, CausedBy: t.ID,
		Which: fmt.Sprintf("task %s of %s", t.ID, period.Exact(t.Due)),
	}
	if t.Kind == HandleChange {
		about = event.About{Pipeline: t.Pipeline, At: now, CausedBy: t.ID, Which: "changes on " + now.UTC().Format(time.DateOnly)}
	}
	why := fmt.Sprintf("%.2000s", cause.Error())
	message := fmt.Sprintf("task %s has failed %d times in a row and will be tried again: %s", t.ID, t.Failures, why)
	return event.New(event.InfraFailure, about, message, event.Infra{Error: why})
}
