package awslambda_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/period/periodtest"
	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// ask writes a request as the console does, and returns the answer.
func (w *world) ask(t *testing.T, id string, o awslambda.Operation) awslambda.Outcome {
	t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	db := w.Streams().(awslambda.Tables)
	if err := db.Request(t.Context(), o.Pipeline, id, body, w.Now()); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	note, err := w.Store().Note(t.Context(), store.AnswerNote, awslambda.AnswerKey(id))
	if err != nil {
		t.Fatalf("%s: %v", o.Action, err)
	}
	var a router.Answer
	var out awslambda.Outcome
	if err := json.Unmarshal(note.Data, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// An operator's request is a row, which the stream-router carries out and answers.
func TestOperatorRequestsAreRows(t *testing.T) {
	w, tables := onTables(t, daily)
	yesterday := periodtest.Parse(t, "2026-03-02")
	asked := func(o awslambda.Operation) awslambda.Operation {
		o.By, o.Reason = "ann", "late file"
		return o
	}
	out := w.ask(t, "t1", asked(awslambda.Operation{Action: awslambda.Trigger, Pipeline: "orders", Period: yesterday}))
	if out.Run == nil || out.Run.Key.String() != "orders/cron/2026-03-02" || out.Run.Attempt != 1 {
		t.Fatalf("trigger: %+v", out)
	}
	w.wantStarts(t, "orders/cron/2026-03-02/1")

	again := w.ask(t, "t2", asked(awslambda.Operation{Action: awslambda.Trigger, Pipeline: "orders", Period: yesterday}))
	if again.Refusal == nil || again.Refusal.Kind != router.Conflict {
		t.Errorf("a second trigger: %+v", again)
	}
	key := out.Run.Key
	done := w.ask(t, "r1", awslambda.Operation{Action: awslambda.Report, Pipeline: "orders", Outcome: run.Outcome{
		Key: key, Attempt: 1, Report: run.Report{Result: run.ResultFail, Category: run.Permanent, Message: "disk full", By: "ann", At: w.Now()},
	}})
	if done.Reported == nil || done.Reported.Late {
		t.Errorf("report: %+v", done)
	}
	w.AdvanceTo(w.Now().Add(2 * time.Minute))
	paused := w.ask(t, "p1", awslambda.Operation{Action: awslambda.Pause, Pipeline: "orders", Pause: store.Pause{By: "ann", Why: "storm"}})
	if paused.Pause == nil || !paused.Pause.Active() {
		t.Errorf("pause: %+v", paused)
	}
	if row, err := w.Store().Pipeline(t.Context(), "orders"); err != nil || !row.Paused() {
		t.Errorf("orders is not paused: %v", err)
	}
	if out := w.ask(t, "p2", asked(awslambda.Operation{Action: awslambda.Resume, Pipeline: "orders"})); out.Refusal != nil {
		t.Errorf("resume: %s", out.Refusal.Reason)
	}
	if out := w.ask(t, "p3", asked(awslambda.Operation{Action: awslambda.PauseAll, Pause: store.Pause{By: "ann", Why: "storm"}})); len(out.Pipelines) != 1 {
		t.Errorf("pause all: %+v", out)
	}
	if out := w.ask(t, "p4", asked(awslambda.Operation{Action: awslambda.ResumeAll})); len(out.Pipelines) != 1 {
		t.Errorf("resume all: %+v", out)
	}
	filled := w.ask(t, "b1", asked(awslambda.Operation{Action: awslambda.Backfill, Pipeline: "orders", From: periodtest.Parse(t, "2026-02-27"), To: periodtest.Parse(t, "2026-02-28")}))
	if len(filled.Backfilled) != 2 || filled.Backfilled[0].Action != router.BackfillOpen {
		t.Errorf("backfill: %+v", filled)
	}
	k, err := run.ParseKey("orders/cron/2026-02-28")
	if err != nil {
		t.Fatal(err)
	}
	ended := w.ask(t, "c1", asked(awslambda.Operation{Action: awslambda.Cancel, Pipeline: "orders", Key: k}))
	if ended.Run == nil || ended.Run.Status != run.Cancelled {
		t.Errorf("cancel: %+v", ended)
	}
	tables.Put(dynamo.Control, `{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "REQUEST#x"}, "request": {"S": "cancel it"}}`)
	w.Settle()
	if n := len(w.all(t, "SENSOR_REJECTED")); n != 1 {
		t.Errorf("an invalid request row is reported %d times", n)
	}
}

// A request whose record is redelivered is carried out once.
func TestARepeatedRequestIsCarriedOutOnce(t *testing.T) {
	w, local := onTables(t, daily)
	o := awslambda.Operation{Action: awslambda.Trigger, Pipeline: "orders", Period: periodtest.Parse(t, "2026-03-02"), By: "ann", Reason: "late file"}
	w.ask(t, "t1", o)
	body, _ := json.Marshal(o)
	local.Put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": "PIPELINE#orders"}, "SK": {"S": "REQUEST#t1"}, "request": {"S": %q}, "again": {"BOOL": true}}`, body))
	w.Settle()
	if out := w.ask(t, "t1", o); out.Refusal != nil || out.Run == nil {
		t.Errorf("the repeat is answered %+v", out)
	}
	w.wantStarts(t, "orders/cron/2026-03-02/1")
}
