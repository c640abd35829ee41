package promise_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Whenever an input changes around a completion, another attempt starts on it; whenever a post-run
// sensor is written, its reading is part of the baseline or has an outcome. Commits take time, so
// that writes can come in between.
func TestNothingWrittenAroundACompletionIsLost(t *testing.T) {
	onStores(t, writtenAroundACompletion)
}

func writtenAroundACompletion(w *world) {
	const (
		hours = 24
		lag   = 8 * time.Millisecond
	)
	w.faults.lag = lag
	w.target.set(func(job.Attempt, int) play { return play{runs: 2 * time.Second} })
	w.file("orders", stream+"job: {type: glue, config: {jobName: orders}, pollInterval: 1s}\n")
	w.file("audited", stream+"job: {type: glue, config: {jobName: orders}, pollInterval: 1s}\n"+
		"postRun: {rules: [{key: audit, check: exists}]}\n")
	w.until("02 00:00")
	w.start("a")
	for hour := range hours {
		date := fmt.Sprintf("2000-01-01T%02d", hour)
		offset := lag * time.Duration(hour-2) / (hours - 4) // from just before the completion is decided to after its commit
		w.put("orders", "landed#"+date, "n=1")
		w.completes("orders/stream/"+date, offset)
		w.put("orders", "landed#"+date, "n=2")
		w.put("audited", "landed#"+date, "n=1")
		w.completes("audited/stream/"+date, offset)
		w.put("audited", "audit#"+date, "n=1")
		w.pass(10 * time.Second)
		w.expect("orders/stream/"+date, "COMPLETED 2")
		w.expect("audited/stream/"+date, "COMPLETED 1")
		post, err := w.data().PostRun(w.Context(), w.key("audited/stream/"+date))
		w.check(err)
		if _, there := post.Baseline["audit"]; !there {
			w.Errorf("%s: the reading of the post-run sensor is neither in the baseline nor judged", date)
		}
	}
	if emitted := w.emitted("orders", event.LateDataArrival); len(emitted) != hours {
		w.Errorf("%d of %d changed inputs were reported as late data", len(emitted), hours)
	}
}

// completes waits for the poll that sees the end of a run's job, plus offset.
func (w *world) completes(text string, offset time.Duration) {
	w.Helper()
	for range 1000 {
		time.Sleep(10 * time.Millisecond) // the bubble's clock
		synctest.Wait()
		r, err := w.data().Run(w.Context(), w.key(text))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		w.check(err)
		if p := r.Progress; r.Status == run.Running && !p.NextPoll.Before(p.StartedAt.Add(2*time.Second)) {
			time.Sleep(time.Until(p.NextPoll) + offset)
			return
		}
	}
	w.Fatalf("%s is %s", text, w.stands(text))
}
