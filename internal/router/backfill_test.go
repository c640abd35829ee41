package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// backfill requests periods, and returns the action for each, such as "2026-03-03 open".
func (w *world) backfill(q router.BackfillRequest, from, to string) []string {
	w.Helper()
	q.ID, q.By, q.Reason = "backfill", "ada", "tested"
	q.From, q.To = w.Period(from), w.Period(to)
	done, err := w.Router.Backfill(ctx, q, w.Now())
	w.Check(err)
	w.Settle()
	lines := []string{}
	for _, d := range done {
		lines = append(lines, fmt.Sprintf("%s %s", d.Period, d.Action))
	}
	return lines
}

func TestBackfillOpensEveryPeriodInRange(t *testing.T) {
	w := newWorld(t, plain)
	want := []string{"2026-02-27 open", "2026-02-28 open", "2026-03-01 open"}
	same(t, "listed", want, w.backfill(router.BackfillRequest{Pipeline: "plain", DryRun: true}, "2026-02-27", "2026-03-01"))
	w.expect("plain/stream/2026-02-28", "none")
	same(t, "opened", want, w.backfill(router.BackfillRequest{Pipeline: "plain"}, "2026-02-27", "2026-03-01"))
	w.expect("plain/stream/2026-02-28", "RUNNING 1")
}

func TestBackfillOfDaysOpensTheirFires(t *testing.T) {
	w := newWorld(t, `
pipeline: {id: twice, owner: data}
schedule: {cron: "0 6,18 * * *", exclude: {dates: [2026-03-01]}}
job: {type: command, config: {command: "true"}}
`)
	got := w.backfill(router.BackfillRequest{Pipeline: "twice"}, "2026-02-28", "2026-03-02T06")
	var opened []string
	for _, line := range got {
		if line[len(line)-4:] == "open" {
			opened = append(opened, line)
		}
	}
	same(t, "opened", []string{"2026-02-28T06 open", "2026-02-28T18 open", "2026-03-02T06 open"}, opened)
	same(t, "excluded ones are listed", 24+3, len(got))
}

func TestBackfillOfMissingPeriodsSkipsTheRest(t *testing.T) {
	w := newWorld(t, plain)
	for _, day := range []string{"01", "02"} {
		w.Write("plain", "arrival#2026-03-"+day, "status=ready")
	}
	w.succeed("plain/stream/2026-03-01")
	want := []string{"2026-02-28 open", "2026-03-01 skip", "2026-03-02 skip"}
	same(t, "only missing", want, w.backfill(router.BackfillRequest{Pipeline: "plain", OnlyMissing: true}, "2026-02-28", "2026-03-02"))
	w.expect("plain/stream/2026-03-01", "COMPLETED 1")
}

func TestBackfillFollowsTheRulesOfARerun(t *testing.T) {
	w := newWorld(t, plain)
	for _, day := range []string{"01", "02"} {
		w.Write("plain", "arrival#2026-03-"+day, "status=ready")
		w.succeed("plain/stream/2026-03-" + day)
	}
	w.Write("plain", "arrival#2026-03-02", "status=stopped")
	want := []string{"2026-03-01 skip", "2026-03-02 rerun"}
	same(t, "all", want, w.backfill(router.BackfillRequest{Pipeline: "plain"}, "2026-03-01", "2026-03-02"))
	same(t, "answers", 2, w.count(event.RerunAccepted)+w.count(event.RerunRejected))
}

func TestBackfillRespectsMaxActive(t *testing.T) {
	w := newWorld(t, narrow)
	w.backfill(router.BackfillRequest{Pipeline: "narrow"}, "2026-02-26", "2026-03-01")
	for _, day := range []string{"02-26", "02-27", "02-28", "03-01"} {
		running := 0
		for _, started := range w.jobs.started {
			if w.jobs.running[started] {
				running++
			}
		}
		same(t, "at once", 1, running)
		w.sleep(time.Minute)
		w.succeed("narrow/stream/2026-" + day)
	}
}

func TestBackfillRefusals(t *testing.T) {
	w := newWorld(t, plain, hourly(""))
	whole := router.BackfillRequest{ID: "1", By: "ada", Reason: "tested", Pipeline: "plain", From: w.Period("2026-03-01"), To: w.Period("2026-03-02")}
	try := func(kind router.RefusalKind, change func(*router.BackfillRequest)) {
		t.Helper()
		q := whole
		change(&q)
		_, err := w.Router.Backfill(ctx, q, w.Now())
		refused(t, err, kind)
	}
	try(router.Invalid, func(q *router.BackfillRequest) { q.From, q.To = q.To, q.From })
	try(router.Invalid, func(q *router.BackfillRequest) { q.Reason = "" })
	try(router.NotFound, func(q *router.BackfillRequest) { q.Pipeline = "nobody" })
	try(router.Invalid, func(q *router.BackfillRequest) { q.Pipeline, q.From = "hourly", w.Period("2020-01-01") })
	_, err := w.Router.Pause(ctx, pipeline.ID("plain"), store.Pause{By: "ada", Why: "tested"}, w.Now())
	w.Check(err)
	try(router.Conflict, func(*router.BackfillRequest) {})
}

func TestBackfillOfMissingPeriodsSkipsFailedRuns(t *testing.T) {
	w := newWorld(t, plain)
	w.Write("plain", "arrival#2026-03-01", "status=ready")
	w.finish("plain/stream/2026-03-01", run.ResultFail, run.Transient)
	w.expect("plain/stream/2026-03-01", "FAILED_FINAL 1")
	missing := router.BackfillRequest{Pipeline: "plain", OnlyMissing: true}
	same(t, "only missing", []string{"2026-03-01 skip"}, w.backfill(missing, "2026-03-01", "2026-03-01"))
	w.expect("plain/stream/2026-03-01", "FAILED_FINAL 1")
	same(t, "listed", []string{"2026-03-01 rerun"}, w.backfill(router.BackfillRequest{Pipeline: "plain", DryRun: true}, "2026-03-01", "2026-03-01"))
	same(t, "all", []string{"2026-03-01 rerun"}, w.backfill(router.BackfillRequest{Pipeline: "plain"}, "2026-03-01", "2026-03-01"))
	w.expect("plain/stream/2026-03-01", "RUNNING 2")
}

func TestBackfillListsExcludedPeriodsAsSkipped(t *testing.T) {
	w := newWorld(t, weekdays)
	want := []string{"2026-02-27 open", "2026-02-28 skip", "2026-03-01 skip", "2026-03-02 open"}
	same(t, "listed", want, w.backfill(router.BackfillRequest{Pipeline: "weekdays", DryRun: true}, "2026-02-27", "2026-03-02"))
}

// broken is a store that accepts that many commits and then fails.
type broken struct {
	store.Store
	commits int
}

var errBroken = errors.New("the disk is full")

func (b *broken) Commit(ctx context.Context, batch store.Batch, now time.Time) error {
	if b.commits--; b.commits < 0 {
		return errBroken
	}
	return b.Store.Commit(ctx, batch, now)
}

// once returns a request with a key; its answer is a description of the result.
func once(key string) router.Once[[]router.Backfilled] {
	return router.Once[[]router.Backfilled]{Key: key, Request: "r", Answer: func(done []router.Backfilled) ([]byte, error) {
		return fmt.Append(nil, done), nil
	}}
}

func TestBackfillRepeatedAfterAnErrorOpensNothingTwice(t *testing.T) {
	const first, last = "plain/stream/2026-02-27", "plain/stream/2026-03-01"
	for commits := range 4 {
		w := newWorld(t, plain)
		q := router.BackfillRequest{
			ID: "1", Once: once("k"), By: "ada", Reason: "tested", Pipeline: "plain", From: w.Period("2026-02-27"), To: w.Period("2026-03-01"),
		}
		breaks := router.New(router.Deps{
			Store: &broken{w.Store, commits}, Catalog: w.Catalog, Deadlines: w.Monitor, Jobs: w.Steps,
			Limits: router.Limits{RunTimeout: 4 * time.Hour, StartTries: 3, StartBackoff: 30 * time.Second},
		})
		if _, err := breaks.Backfill(ctx, q, w.Now()); !errors.Is(err, errBroken) {
			t.Fatalf("after %d commits: %v", commits, err)
		}
		if _, answered, err := w.Router.Answered(ctx, "k", w.Now()); answered || err != nil {
			t.Errorf("after %d commits: answered is %t, %v", commits, answered, err)
		}
		if commits > 0 {
			_, err := w.Router.Cancel(ctx, w.Key(first), "ada", "wrong", w.Now())
			w.Check(err)
		}
		done, err := w.Router.Backfill(ctx, q, w.Now())
		w.Check(err)
		same(t, "done", 3, len(done))
		for _, item := range done {
			same(t, item.Period.String(), router.BackfillOpen, item.Action)
		}
		if r := w.run(first); r.Attempt != 1 || commits > 0 && r.Status != run.Cancelled {
			t.Errorf("after %d commits %s is %s in attempt %d", commits, first, r.Status, r.Attempt)
		}
		same(t, last, 1, w.run(last).Attempt)
		a, answered, err := w.Router.Answered(ctx, "k", w.Now())
		if err != nil || !answered || string(a.Data) != fmt.Sprint(done) {
			t.Errorf("answered %t with %s, %v", answered, a.Data, err)
		}
	}
}
