package promise_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
)

// S3: budgets hold, each cause on its own counter, under concurrency.
func TestS3BudgetsHold(t *testing.T) {
	t.Run("EachCauseItsOwn", func(t *testing.T) { onStores(t, eachCauseItsOwn) })
	t.Run("ManyAskAtOnce", func(t *testing.T) { onStores(t, manyAskAtOnce) })
	t.Run("LateDataWriteByWrite", func(t *testing.T) { onStores(t, lateDataWriteByWrite) })
	t.Run("RestartGivesNothingBack", func(t *testing.T) { onStores(t, restartGivesNothingBack) })
	t.Run("UnderFaults", func(t *testing.T) {
		storms(t, []uint64{21}, usual, func(w *world) {
			allowed := budgets{run.Retries: 2, run.CodeRetries: 1, run.DriftReruns: 1, run.ManualReruns: 2, run.Reopenings: 5}
			for id := range stormFiles {
				w.checkBudgets(id, allowed)
			}
		})
	})
}

const budgeted = `schedule: {trigger: {key: landed, check: exists}}
job: {type: glue, config: {jobName: x}, pollInterval: 5s, retryBackoff: 5s, maxRetries: 2, maxCodeRetries: 1, maxDriftReruns: 1, maxManualReruns: 1}
`

var allowed = budgets{run.Retries: 2, run.CodeRetries: 1, run.DriftReruns: 1, run.ManualReruns: 1}

// eachCauseItsOwn makes every attempt fail in a different way: no cause uses another's budget.
func eachCauseItsOwn(w *world) {
	ends := []run.Category{run.Transient, run.Permanent, "none", "", run.Timeout}
	w.target.set(func(a job.Attempt, _ int) play {
		return play{fails: ends[min(a.Number, len(ends))-1], runs: 10 * time.Second}
	})
	w.file("orders", budgeted)
	w.until("01 09:00")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "COMPLETED 4") // two transient retries, one of code
	w.write("orders", "landed#2000-01-01", "n=2")
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 5") // late data; its timeout finds the retries spent
	answer, err := p.Router.Rerun(w.Context(), rerunOf(w, "first"), time.Now())
	w.check(err)
	if !answer.Accepted {
		w.Errorf("a manual rerun was refused: %s", answer.Why)
	}
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 6")
	if answer, err = p.Router.Rerun(w.Context(), rerunOf(w, "second"), time.Now()); err != nil || answer.Accepted {
		w.Errorf("a second manual rerun: %+v, %v", answer, err)
	}
	w.checkBudgets("orders", allowed)
	if n := len(w.events(event.RetryExhausted)); n != 2 {
		w.Errorf("RETRY_EXHAUSTED was emitted %d times\n%s", n, w.eventLog())
	}
}

func rerunOf(w *world, id string) router.RerunRequest {
	return router.RerunRequest{ID: id, Pipeline: "orders", Period: w.period("2000-01-01"), By: "ada", Reason: "tested"}
}

// manyAskAtOnce has many people request the one remaining rerun.
func manyAskAtOnce(w *world) {
	w.target.set(func(job.Attempt, int) play { return play{fails: run.Permanent, runs: 10 * time.Second} })
	w.file("orders", budgeted)
	w.until("01 09:00")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 2")
	for round := range 3 {
		var all sync.WaitGroup
		for n := range 20 {
			q := rerunOf(w, fmt.Sprintf("wish %d of round %d", n, round))
			all.Go(func() {
				if _, err := p.Router.Rerun(w.Context(), q, time.Now()); err != nil {
					w.Errorf("%s: %v", q.ID, err)
				}
			})
		}
		all.Wait()
		w.pass(5 * time.Minute)
	}
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 3")
	accepted, rejected := len(w.events(event.RerunAccepted)), len(w.events(event.RerunRejected))
	if accepted != 1 || rejected != 59 {
		w.Errorf("60 requests: %d accepted, %d rejected", accepted, rejected)
	}
	w.checkBudgets("orders", allowed)
}

// lateDataWriteByWrite writes new data again and again, also while its rerun runs.
func lateDataWriteByWrite(w *world) {
	w.file("orders", budgeted)
	w.until("01 09:00")
	w.start("a")
	for n := range 30 {
		w.put("orders", "landed#2000-01-01", fmt.Sprintf("n=%d", n))
		time.Sleep(20 * time.Second)
	}
	synctest.Wait()
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "COMPLETED 2")
	w.checkBudgets("orders", allowed)
	spent := 0
	for _, e := range w.events(event.LateDataArrival) {
		if e.Detail.Extra.(event.Late).Reason == "budget spent" {
			spent++
		}
	}
	if spent != 1 {
		w.Errorf("the spent budget was reported %d times\n%s", spent, w.eventLog())
	}
}

// restartGivesNothingBack restarts the controller after every failure, and edits the file: neither
// resets a budget.
func restartGivesNothingBack(w *world) {
	w.target.set(func(job.Attempt, int) play { return play{fails: run.Transient, runs: 10 * time.Second} })
	w.file("orders", budgeted)
	w.until("01 09:00")
	p := w.start("a")
	w.write("orders", "landed#2000-01-01", "n=1")
	for n := range 10 {
		w.pass(12 * time.Second)
		p.kill()
		p = w.start("a")
		w.file("orders", budgeted+fmt.Sprintf("# edit %d\n", n))
	}
	w.pass(5 * time.Minute)
	w.expect("orders/stream/2000-01-01", "FAILED_FINAL 3")
	w.checkBudgets("orders", allowed)
}
