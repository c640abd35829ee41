package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// ordersFile starts when its data arrives, and has a rule on the amount.
const ordersFile = `
pipeline: {id: orders, owner: data, description: The day's orders, tags: {team: sales}}
schedule:
  trigger: {key: landed, check: equals, field: complete, value: true}
  evaluation: {window: 1h, interval: 1m}
  exclude: {dates: [2026-03-07]}
sla: {maxDuration: 2h}
validation:
  rules: [{key: landed, check: gte, field: count, value: 1000}]
job:
  type: command
  config: {command: [sh, -c, 'echo "working on $INTERLOCK_DATE"'], timeout: 1m}
  pollInterval: 1s
`

// watchedFile has no job: its result is reported from outside.
const watchedFile = "pipeline: {id: watched, owner: data}\n"

// slowFile has a job that ends only when it is stopped.
const slowFile = `
pipeline: {id: slow, owner: data}
job: {type: command, config: {command: [sleep, "600"], timeout: 15m}}
`

func TestTriggerOpensTheRunOfAPeriod(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	if got := s.must(0, "trigger", "orders", "--date", "2026-03-03", "--reason", "late file"); got.stdout != "orders/stream/2026-03-03 is PENDING, attempt 1\n" {
		t.Errorf("got %+v", got)
	}
	if got := s.must(1, "trigger", "orders", "--date", "2026-03-03"); got.stdout != "" || !in(got.stderr, "PENDING", "interlock explain orders") {
		t.Errorf("trigger of an open run: %+v", got)
	}
	if got := s.must(1, "trigger", "orders", "--date", "2026-03-07"); !in(got.stderr, "excludes", "--force") {
		t.Errorf("trigger of an excluded period: %+v", got)
	}
	forced := parsed(t, s.must(0, "trigger", "orders", "--date", "2026-03-07", "--force", "--bypass-gate", "--reason", "audit", "--format", "json").stdout).(map[string]any)
	if forced["forced"] != true || forced["gateBypassed"] != true || forced["requestedBy"] != "ann" || forced["requestReason"] != "audit" {
		t.Errorf("got %v", forced)
	}
	s.reaches("orders/stream/2026-03-07", client.Completed)
	if got := s.must(0, "run", "show", "orders", "--date", "2026-03-07").stdout; !in(got, "COMPLETED", "requested by", "ann: audit (forced) (gate bypassed)", "(bypassed by an operator)", "| working on 2026-03-07") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(1, "trigger", "gone"); !strings.Contains(got.stderr, "gone") {
		t.Errorf("got %+v", got)
	}
	if got := s.must(2, "trigger", "orders", "--date", "someday"); !strings.Contains(got.stderr, "someday") {
		t.Errorf("got %+v", got)
	}
}

func TestAShownRunMarksWhatKeepsItsGateClosed(t *testing.T) {
	calm := watchedFile + "validation: {rules: [{not: {key: hold, check: exists}}, {key: landed, check: exists}]}\n"
	s := serve(t, site{pipelines: map[string]string{"watched.yaml": calm}})
	s.must(0, "sensor", "set", "watched", "hold", "on=true")
	s.must(0, "trigger", "watched", "--date", "2026-03-03")
	if got := s.must(0, "run", "show", "watched", "--date", "2026-03-03").stdout; !in(got, "✗  hold", "✗  landed") {
		t.Errorf("got\n%s", got)
	}
}

func TestDeletedSensorOpensAGateThatWaitsForItsAbsence(t *testing.T) {
	calm := watchedFile + "validation: {rules: [{not: {key: hold, check: exists}}]}\n"
	s := serve(t, site{pipelines: map[string]string{"watched.yaml": calm}})
	s.must(0, "sensor", "set", "watched", "hold#2026-03-03", "on=true")
	s.must(0, "trigger", "watched", "--date", "2026-03-03")
	if got := s.must(0, "explain", "watched", "--date", "2026-03-03").stdout; !in(got, "\n      interlock sensor delete watched hold --date 2026-03-03\n") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(1, "sensor", "delete", "watched", "hold").stderr; !in(got, "no undated reading of hold; there is one for 2026-03-03") {
		t.Errorf("got\n%s", got)
	}
	got := s.must(0, "sensor", "delete", "watched", "hold", "--date", "2026-03-03").stdout
	if !in(got, "the reading for 2026-03-03 of watched hold is deleted, version") {
		t.Errorf("got\n%s", got)
	}
	s.reaches("watched/manual/2026-03-03", client.Running)
	if got := s.must(0, "sensor", "history", "watched", "hold").stdout; !in(got, "ann", "deleted", `{"on":true}`) {
		t.Errorf("got\n%s", got)
	}
	s.must(1, "sensor", "get", "watched", "hold")
	answer := parsed(t, s.must(0, "sensor", "history", "watched", "hold", "--limit", "1", "--format", "json").stdout).(map[string]any)
	if first := answer["items"].([]any)[0].(map[string]any); first["deleted"] != true {
		t.Errorf("got %v", answer)
	}
}

func TestRunOfARemovedPipelineIsFoundByItsPeriod(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"slow.yaml": slowFile}})
	s.must(0, "trigger", "slow", "--date", "2026-03-03")
	s.reaches("slow/manual/2026-03-03", client.Running)
	if err := os.Remove(filepath.Join(s.pipelines, "slow.yaml")); err != nil {
		t.Fatal(err)
	}
	s.until("the pipeline is removed", func() bool { return in(s.must(0, "status", "slow").stdout, "removed") })
	if got := s.must(0, "explain", "slow", "--date", "2026-03-03").stdout; !in(got, "slow/manual/2026-03-03  RUNNING", "nothing new opens") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "run", "show", "slow", "--date", "2026-03-03").stdout; !in(got, "RUNNING") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(2, "cancel", "slow", "--date", "2026-03-04").stderr; !in(got, "slow is not active and has no run for 2026-03-04") {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "cancel", "slow", "--date", "2026-03-03").stdout; !in(got, "slow/manual/2026-03-03 is CANCELLED") {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "explain", "slow", "--date", "2026-03-03").stdout; !in(got, "slow/manual/2026-03-03  CANCELLED", "nothing new opens") {
		t.Errorf("got\n%s", got)
	}
}

func TestRerunAsksForAnotherAttempt(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	rerun := []string{"rerun", "orders", "--date", "2026-03-03", "--reason", "source was corrected"}
	if got := s.must(1, rerun...); got.stdout != "" || !strings.Contains(got.stderr, "no such run") && !strings.Contains(got.stderr, "no run") {
		t.Errorf("rerun without a run: %+v", got)
	}
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	if got := s.must(1, rerun...); !strings.Contains(got.stderr, "changed") {
		t.Errorf("rerun without new data: %+v", got)
	}
	if got := s.must(0, append(rerun, "--force")...); got.stdout != "orders/stream/2026-03-03: accepted as attempt 2\n" {
		t.Errorf("got %+v", got)
	}
	s.until("attempt 2 completes", func() bool {
		r := s.reaches("orders/stream/2026-03-03", client.Completed)
		return r.Attempt == 2
	})
	answer := parsed(t, s.must(0, append(rerun, "--schedule", "stream", "--force", "--bypass-gate", "--format", "json")...).stdout).(map[string]any)
	if answer["accepted"] != true || answer["force"] != true || answer["bypassGate"] != true || answer["requestedBy"] != "ann" {
		t.Errorf("got %v", answer)
	}
	s.settled()
	if got := s.must(0, "run", "show", "orders/stream/2026-03-03").stdout; !in(got, "Rerun requests", "rejected", "accepted", "source was corrected") {
		t.Errorf("got\n%s", got)
	}
}

func TestCancelEndsAnOpenRunAndItsJob(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"slow.yaml": slowFile, "orders.yaml": ordersFile}})
	s.must(0, "trigger", "slow", "--date", "2026-03-03")
	s.reaches("slow/manual/2026-03-03", client.Running)
	if got := s.must(0, "cancel", "slow/manual/2026-03-03", "--reason", "wrong input"); !strings.HasPrefix(got.stdout, "slow/manual/2026-03-03 is CANCELLED\n") {
		t.Errorf("got %+v", got)
	}
	if got := s.must(1, "cancel", "slow", "--date", "2026-03-03"); !strings.Contains(got.stderr, "has ended") {
		t.Errorf("got %+v", got)
	}
	if got := s.must(1, "cancel", "slow/cron/2026-03-03"); !strings.Contains(got.stderr, "no run") {
		t.Errorf("got %+v", got)
	}
	s.must(0, "trigger", "orders", "--date", "2026-03-04")
	ended := parsed(t, s.must(0, "cancel", "orders", "--date", "2026-03-04", "--schedule", "stream", "--format", "json").stdout).(map[string]any)
	if ended["status"] != "CANCELLED" || ended["jobMayRun"] != false {
		t.Errorf("got %v", ended)
	}
	for _, run := range []string{"slow/manual/2026-03-03", "orders/stream/2026-03-04"} {
		s.until("the job of "+run+" has ended", func() bool { return !s.reaches(run, client.Cancelled).JobStopping })
	}
	if got := s.must(0, "run", "show", "slow/manual/2026-03-03").stdout; !in(got, "stopped", "wrong input", "ann") {
		t.Errorf("got\n%s", got)
	}
}

// stubborn is a command that ignores requests to stop until a file appears.
func stubborn(until string) string {
	return fmt.Sprintf(`
pipeline: {id: stubborn, owner: data}
schedule: {maxActive: 1, evaluation: {window: 1h, interval: 5m}}
job:
  type: command
  config:
    shell: true
    timeout: 15m
    command: |
      trap 'while [ ! -e %s ]; do sleep 0.01; done; exit 3' TERM
      while :; do sleep 0.01; done
`, until)
}

func TestJobThatIsStoppingKeepsItsSlotAndRejectsAnotherAttempt(t *testing.T) {
	end := filepath.Join(t.TempDir(), "end")
	s := serve(t, site{pipelines: map[string]string{"stubborn.yaml": stubborn(end)}})
	s.must(0, "trigger", "stubborn", "--date", "2026-03-03")
	s.reaches("stubborn/manual/2026-03-03", client.Running)
	s.must(0, "trigger", "stubborn", "--date", "2026-03-04")
	s.until("the other waits for the slot", func() bool {
		return s.reaches("stubborn/manual/2026-03-04", client.Pending).WaitingForSlot
	})
	if got := s.must(0, "cancel", "stubborn/manual/2026-03-03", "--reason", "wrong input").stdout; !in(got, "is CANCELLED", "Its job has been stopping since ") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "runs", "--pipeline", "stubborn").stdout; !in(got, "CANCELLED (job stopping)") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "explain", "stubborn", "--date", "2026-03-03").stdout; !in(got, "the job of attempt 1 has been stopping since") {
		t.Errorf("got\n%s", got)
	}
	again := []string{"rerun", "stubborn", "--date", "2026-03-03", "--reason", "right input"}
	if got := s.must(1, again...); !in(got.stdout+got.stderr, "still run") {
		t.Errorf("got %+v", got)
	}
	if r := s.reaches("stubborn/manual/2026-03-04", client.Pending); !r.WaitingForSlot {
		t.Error("another run got the slot of a job that is still stopping")
	}
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.reaches("stubborn/manual/2026-03-04", client.Running)
	if r := s.reaches("stubborn/manual/2026-03-03", client.Cancelled); r.JobStopping {
		t.Error("the job has ended, but the run says that it is stopping")
	}
	s.must(0, again...)
	for _, date := range []string{"2026-03-03", "2026-03-04"} { // they end at once now
		s.must(0, "cancel", "stubborn/manual/"+date, "--reason", "the test is over")
		s.until("its job has ended", func() bool { return !s.reaches("stubborn/manual/"+date, client.Cancelled).JobStopping })
	}
}

func TestStartWithoutAnAnswerIsShownAsHeld(t *testing.T) {
	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(over) })
	file := fmt.Sprintf("pipeline: {id: silent, owner: data}\njob: {type: http, config: {url: %q, timeout: 1s}}\n", silent.URL)
	s := serve(t, site{pipelines: map[string]string{"silent.yaml": file}, config: "egress: {allow: [127.0.0.1]}\n"})
	s.must(0, "trigger", "silent", "--date", "2026-03-03")
	s.until("its start is held", func() bool { return s.reaches("silent/manual/2026-03-03", client.Triggering).Held != nil })
	const why = "the start call was not answered within the timeout of 1s"
	for _, args := range [][]string{{"explain", "silent"}, {"runs", "--pipeline", "silent"}, {"status"}} {
		if got := s.must(0, append(args, "-o", "wide")...).stdout; !in(got, "eld", why) {
			t.Errorf("%s:\n%s", args, got)
		}
	}
	s.must(0, "cancel", "silent/manual/2026-03-03", "--reason", "the test is over")
}

func TestJobCompleteReportsAResult(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"watched.yaml": watchedFile}})
	s.must(0, "trigger", "watched", "--date", "2026-03-03")
	s.reaches("watched/manual/2026-03-03", client.Running)
	if got := s.must(0, "job", "complete", "watched/manual/2026-03-03", "success", "--message", "120 rows"); got.stdout != "watched/manual/2026-03-03: success is recorded for attempt 1\n" {
		t.Errorf("got %+v", got)
	}
	s.reaches("watched/manual/2026-03-03", client.Completed)
	late := s.must(1, "job", "complete", "watched", "--date", "2026-03-03", "fail")
	if late.stderr != "" || !in(late.stdout, "COMPLETED", "stays as it is") {
		t.Errorf("got %+v", late)
	}
	answer := parsed(t, s.must(1, "job", "complete", "watched", "--date", "2026-03-03", "fail", "--format", "json").stdout).(map[string]any)
	if answer["late"] != true {
		t.Errorf("got %v", answer)
	}
	s.must(0, "trigger", "watched", "--date", "2026-03-04")
	s.reaches("watched/manual/2026-03-04", client.Running)
	s.must(0, "job", "complete", "watched/manual/2026-03-04/1", "fail", "--message", "no such table", "--category", "TRANSIENT")
	r := s.reaches("watched/manual/2026-03-04", client.FailedFinal)
	if *r.Attempts[0].Category != "TRANSIENT" || *r.Attempts[0].Message != "no such table" {
		t.Errorf("got %+v", r.Attempts[0])
	}
	s.must(0, "rerun", "watched", "--date", "2026-03-04", "--reason", "again")
	s.reaches("watched/manual/2026-03-04", client.Running)
	s.must(1, "job", "complete", "watched/manual/2026-03-04/1", "success") // of the attempt that has ended
	if r := s.reaches("watched/manual/2026-03-04", client.Running); r.Attempt != 2 {
		t.Errorf("a late result of attempt 1 changed attempt 2: %+v", r)
	}
	s.must(0, "job", "complete", "watched/manual/2026-03-04/2", "success")
	s.reaches("watched/manual/2026-03-04", client.Completed)
	if got := s.must(2, "job", "complete", "watched/manual/2026-03-04", "fail", "--category", "WEATHER"); !strings.Contains(got.stderr, "category") {
		t.Errorf("got %+v", got)
	}
	if got := s.must(1, "job", "complete", "watched/manual/2026-03-09", "success"); !strings.Contains(got.stderr, "no run") {
		t.Errorf("got %+v", got)
	}
}

func TestBackfillOpensARangeOfPeriods(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "trigger", "orders", "--date", "2026-03-06")
	s.settled()
	args := []string{"backfill", "orders", "--from", "2026-03-05", "--to", "2026-03-08", "--only-missing", "--reason", "new source"}
	const plan = `PERIOD      ACTION  WHY
2026-03-05  open    –
2026-03-06  skip    attempt 1 is PENDING
2026-03-07  skip    the calendar excludes it: listed date
2026-03-08  open    –

`
	if diff := cmp.Diff(plan+"2 of 4 periods would run\n", s.must(0, append(args, "--dry-run")...).stdout); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if got, _ := items(t, s.must(0, "runs", "--format", "json").stdout); len(got) != 1 {
		t.Errorf("a dry run opened runs: %v", got)
	}
	if diff := cmp.Diff(plan+"2 of 4 periods will run\n", s.must(0, args...).stdout); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if got := s.must(0, "runs", "--from", "2026-03-05", "--to", "2026-03-08").stdout; !in(got, "orders/stream/2026-03-05", "orders/stream/2026-03-06", "orders/stream/2026-03-08") || strings.Contains(got, "2026-03-07") {
		t.Errorf("got\n%s", got)
	}
	s.settled()
	again, _ := items(t, s.must(0, append(args, "--format", "json")...).stdout)
	for _, item := range again {
		if item.(map[string]any)["action"] != "skip" {
			t.Errorf("opened twice: %v", item)
		}
	}
	if got := s.must(2, "backfill", "orders", "--from", "2026-03-08", "--to", "2026-03-05"); !strings.Contains(got.stderr, "must not be after") {
		t.Errorf("got %+v", got)
	}
}

func TestPauseAndResume(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile, "shelf.yaml": shelfFile}})
	if got := s.must(0, "pause", "orders", "--for", "2h", "--hold-sla", "--reason", "source is down").stdout; !in(got, "orders is paused by ann since", "until", "deadlines cancelled", "source is down") {
		t.Errorf("got %s", got)
	}
	if got := s.must(1, "trigger", "orders").stderr; !in(got, "orders is paused", "the pause by ann", "interlock resume orders") {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "status", "orders").stdout; !in(got, "orders  paused\nThe day's orders\n", "team=sales", "paused by ann", "source is down") {
		t.Errorf("got\n%s", got)
	}
	paused := parsed(t, s.must(0, "pause", "orders", "--until", "2126-03-03T10:00:00+01:00", "--format", "json").stdout).(map[string]any)
	if paused["paused"] != true || paused["until"] != "2126-03-03T09:00:00Z" || paused["by"] != "ann" {
		t.Errorf("got %v", paused)
	}
	if got := s.must(0, "resume", "orders").stdout; got != "orders is resumed\n" {
		t.Errorf("got %s", got)
	}
	if got := s.must(1, "resume", "orders").stderr; !strings.Contains(got, "not paused") {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "pause", "--all", "--reason", "migration").stdout; got != "2 pipelines paused: orders, shelf\n" {
		t.Errorf("got %s", got)
	}
	resumed, _ := items(t, s.must(0, "resume", "--all", "--reason", "over", "--format", "json").stdout)
	if diff := cmp.Diff([]any{"orders", "shelf"}, resumed); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	if got := s.must(1, "resume", "--all").stderr; !strings.Contains(got, "no pause of all pipelines") {
		t.Errorf("got %s", got)
	}
	if got := s.must(2, "pause", "orders", "--until", "2020-03-03T10:00:00Z").stderr; !strings.Contains(got, "past") {
		t.Errorf("got %s", got)
	}
}

func TestPauseOfAllPipelinesLeavesTheirOwnPauses(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "pause", "orders", "--reason", "source is down")
	s.must(0, "pause", "--all", "--until", "2126-03-03T10:00:00Z", "--reason", "maintenance")
	s.write("shelf.yaml", shelfFile)
	s.until("the new file is accepted", func() bool { return strings.Contains(s.must(0, "status").stdout, "shelf") })
	const all, own = "all pipelines are paused by ann since", "orders is paused by ann since"
	if got := s.must(0, "status").stdout; strings.Count(got, all) != 1 || !in(got, "2 paused", own, "maintenance", "until 2126-03-03", "source is down") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "status", "shelf").stdout; !in(got, "shelf  paused", all, "maintenance") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "resume", "orders").stdout; !in(got, "orders is no longer paused individually", all) {
		t.Errorf("got %s", got)
	}
	s.must(0, "pause", "orders", "--reason", "source is down")
	if got := s.must(0, "resume", "--all").stdout; got != "1 pipeline resumed: shelf\n" {
		t.Errorf("got %s", got)
	}
	if got := s.must(0, "status").stdout; strings.Contains(got, all) || !in(got, "1 ok, 1 paused", own) {
		t.Errorf("got\n%s", got)
	}
}

func TestStatusSaysWhyAFileIsNotActive(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.write("orders.yaml", strings.Replace(ordersFile, "check: gte", "check: gtee", 1)+"colour: red\n")
	s.until("the bad file is noticed", func() bool { return strings.Contains(s.must(0, "status").stdout, "degraded") })
	for _, args := range [][]string{{"status"}, {"status", "orders"}} {
		if got := s.must(0, args...).stdout; !in(got, "degraded:\n  - ", "gtee", "\n  - ", "colour") || strings.Contains(got, "�") || strings.Count(got, "\n  - ") != 2 {
			t.Errorf("want a line for each problem, got\n%s", got)
		}
	}
}

const codeFile = `
pipeline: {id: broken, owner: data}
job: {type: command, config: {command: [/bin/sh, -c, "echo no such table; exit 2"]}, maxCodeRetries: 0}
`

const trialFile = `
pipeline: {id: trial, owner: data}
schedule: {trigger: {key: landed, check: exists}}
dryRun: true
job: {type: command, config: {command: [/bin/true]}}
`

func TestStatusCountsWhatNeedsAttention(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"broken.yaml": codeFile, "orders.yaml": ordersFile, "trial.yaml": trialFile}})
	if got := s.must(0, "status").stdout; !in(got, "3 pipelines: 2 ok, 1 dry run\n") || strings.Contains(got, "ATTENTION") {
		t.Errorf("got\n%s", got)
	}
	s.must(0, "trigger", "broken", "--date", "2026-03-03")
	s.reaches("broken/manual/2026-03-03", client.FailedFinal)
	const reason = "failed after 1 attempt: exit code 2, no such table (maxCodeRetries: 0)"
	if got := s.must(0, "status", "-o", "wide").stdout; !in(got, "3 pipelines: 1 ok, 1 dry run, 1 needs attention\n", "NEEDS ATTENTION", "broken/manual/2026-03-03  failed", reason) ||
		!strings.HasSuffix(got, "\n1 thing needs attention: `interlock attention` shows it.\n") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "attention").stdout; !in(got, "failed  broken/manual/2026-03-03  since ", "\n  "+reason+"\n  → interlock rerun broken --date 2026-03-03 --reason TEXT\n") {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "attention", "--format", "json").stdout; !in(got, `"code": "failed"`, `"severity": "critical"`, `"name": "exitCode"`) {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "status", "broken").stdout; !in(got, "broken  failed\n", "broken/manual/2026-03-03: FAILED_FINAL, attempt 1: "+reason) {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "runs", "--pipeline", "broken", "-o", "wide").stdout; !in(got, reason) {
		t.Errorf("got\n%s", got)
	}
	if got := s.must(0, "explain", "broken", "--date", "2026-03-03").stdout; !in(got, "broken/manual/2026-03-03  FAILED\n"+reason+"\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestTriggerOfADryRunSaysWhereItsResultIs(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"trial.yaml": trialFile}})
	if got := s.must(0, "trigger", "trial", "--date", "2026-03-03").stdout; !in(got, "dry run trial/stream/2026-03-03", "no job will start", "`interlock explain trial --date 2026-03-03`") {
		t.Errorf("got %s", got)
	}
	s.until("its gate is evaluated", func() bool {
		return in(s.must(0, "explain", "trial", "--date", "2026-03-03").stdout, "WOULD START (dry run: no job starts)")
	})
	if got := s.must(0, "runs", "--pipeline", "trial").stdout; !in(got, "trial is a dry run, so no runs are stored", "`interlock explain trial`") {
		t.Errorf("got %s", got)
	}
	if got := s.must(1, "trigger", "trial", "--date", "2026-03-03").stderr; !in(got, "has ended", "`interlock explain trial --date 2026-03-03`") {
		t.Errorf("got %s", got)
	}
}

// If a run's status does not tell an operator enough, the list shows more.
func TestRunsSayWhatAnOpenRunWaitsFor(t *testing.T) {
	at := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	why := "no answer within 2s"
	for want, r := range map[string]client.Run{
		"TRIGGERING (held) | no answer within 2s": {Status: client.Triggering, Phase: "held", Held: &why, HeldSince: &at},
		"RUNNING (status-unread) | the job's status has been unreadable since 2026-03-03 06:00:00Z: no answer within 2s": {Status: client.Running, Phase: "status-unread", Unread: &why, UnreadSince: &at},
		"PENDING (backoff) | retry at 2026-03-03 06:00:00Z":                                                              {Status: client.Pending, Phase: "backoff", WindowStart: &at},
		"PENDING (not-due) | starts at 2026-03-03 06:00:00Z":                                                             {Status: client.Pending, Phase: "not-due", WindowStart: &at},
		"PENDING (max-active) | waiting for a running job to end (maxActive)":                                            {Status: client.Pending, Phase: "max-active"},
		"PENDING | waiting for its gate until 2026-03-03 06:00:00Z":                                                      {Status: client.Pending, Phase: "waiting", WindowEnd: &at},
		"FAILED_FINAL | no answer within 2s":                                                                             {Status: client.FailedFinal, Phase: "failed", Reason: &why},
	} {
		if got := statusText(r) + " | " + reasonText(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
