package router_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// backfill asks for periods, and gives what became of each, such as "2026-03-03 open".
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

func TestBackfillOpensEveryPeriodFromOneToAnother(t *testing.T) {
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

func TestBackfillOfWhatIsMissingLeavesTheRestAlone(t *testing.T) {
	w := newWorld(t, plain)
	for _, day := range []string{"01", "02"} {
		w.Write("plain", "arrival#2026-03-"+day, "status=ready")
	}
	w.succeed("plain/stream/2026-03-01")
	want := []string{"2026-02-28 open", "2026-03-01 skip", "2026-03-02 skip"}
	same(t, "only missing", want, w.backfill(router.BackfillRequest{Pipeline: "plain", OnlyMissing: true}, "2026-02-28", "2026-03-02"))
	w.expect("plain/stream/2026-03-01", "COMPLETED 1")
}

func TestBackfillRunsAgainByTheRulesOfARerun(t *testing.T) {
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

func TestBackfillOfWhatIsMissingLeavesFailedRunsAloneToo(t *testing.T) {
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

func TestBackfillListsExcludedPeriodsAsLeftAlone(t *testing.T) {
	w := newWorld(t, weekdays)
	want := []string{"2026-02-27 open", "2026-02-28 skip", "2026-03-01 skip", "2026-03-02 open"}
	same(t, "listed", want, w.backfill(router.BackfillRequest{Pipeline: "weekdays", DryRun: true}, "2026-02-27", "2026-03-02"))
}
