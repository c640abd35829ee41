package dynamo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// told marks rows of the engine that are relevant to functions that follow the streams. The filters
// of the event source mappings pass these, and rows that others write.
const told = "told"

// Notice is the meaning of a row's new image to functions that follow the streams. Most set one
// field, and many none: a claimed task, a deadline, a mark.
type Notice struct {
	Pipeline pipeline.ID // owner of the row; "" if none
	At       time.Time   // when the row was written

	Change *store.Change    // without a position
	Task   string           // the id of a task that was stored
	Outbox *Outbox          // of a transaction
	File   *pipeline.Source // of a pipeline, calendar, archetype or source, which a deployment wrote

	// Rows that others write.
	Sensor *record.Produced
	Result *run.Outcome  // result of a job; attempt 0 if the row names none
	Rerun  *RerunRequest // request for another attempt
	// Request is what an operator asks for, as JSON, and RequestID the id of the row.
	Request   []byte
	RequestID string

	// Refused is why a row that others wrote is invalid; "" if it is valid.
	Refused string
}

// RerunRequest is a row that requests another attempt.
type RerunRequest struct {
	ID         string // id of the row, or else of the record, so that two requests get two answers
	Key        run.Key
	Reason, By string
	Force      bool
	BypassGate bool
}

// Record is a stream record with the new image of a row. Removal records have no image, and are
// ignored.
type Record struct {
	Image    Row
	Sequence string    // grows with every change of a row
	At       time.Time // when it was written
}

// Read interprets a record. An invalid row written by others is not an error: it is Refused.
func (r Record) Read() (n Notice, err error) {
	pk, sk := r.Image.text("PK"), r.Image.text("SK")
	n.At = r.At
	id, owned := strings.CutPrefix(pk, pipelinePrefix)
	if owned {
		n.Pipeline = pipeline.ID(id)
	}
	var wrong error
	switch {
	case owned && strings.HasPrefix(sk, sensorPrefix):
		n.Sensor, wrong = r.produced(n.Pipeline)
	case owned && strings.HasPrefix(sk, jobPrefix) && r.Image["json"] == nil:
		n.Result, wrong = r.result(n.Pipeline)
	case owned && strings.HasPrefix(sk, rerunRequest):
		n.Rerun, wrong = r.rerun(n.Pipeline)
	case strings.HasPrefix(sk, request):
		n.RequestID, n.Request = strings.TrimPrefix(sk, request), []byte(r.Image.text("request"))
	case sk == "CONFIG":
		file := r.Image.file()
		n.File = &file
	case strings.HasPrefix(pk, taskPrefix) && r.Image.truth("stored"):
		n.Pipeline, n.Task = pipeline.ID(r.Image.text("tag")), r.Image.ref(row.Tasks).Key
	case strings.HasPrefix(pk, commitPrefix) && r.Image["events"] != nil:
		if n.Outbox, err = r.Image.outbox(); err == nil {
			n.Pipeline = pipeline.ID(n.Outbox.Events[0].Part)
		}
	case r.Image["change"] != nil:
		var c store.Change
		if c, err = decode[store.Change](r.Image, "change"); err == nil {
			n.Pipeline, n.Change = c.Pipeline, &c
		}
	}
	if wrong != nil {
		n.Refused = wrong.Error()
	}
	return n, err
}

// result parses JOB#{schedule}#{date}#{timestamp}.
func (r Record) result(id pipeline.ID) (*run.Outcome, error) {
	parts := strings.SplitN(strings.TrimPrefix(r.Image.text("SK"), jobPrefix), "#", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("SK is %q, want JOB#SCHEDULE#DATE#TIMESTAMP", r.Image.text("SK"))
	}
	key, err := run.ParseKey(string(id) + "/" + parts[0] + "/" + parts[1])
	if err != nil {
		return nil, err
	}
	o := &run.Outcome{Key: key, Report: run.Report{
		Result:   run.Result(r.Image.text("event")),
		Category: run.Category(strings.ToUpper(r.Image.text("category"))),
		Message:  r.Image.text("error"), By: "job log", At: r.At,
	}}
	switch o.Result {
	case run.ResultSuccess, run.ResultFail, run.ResultTimeout:
	default:
		return nil, fmt.Errorf("event is %q, want success, fail or timeout", o.Result)
	}
	if !o.Category.Valid() {
		return nil, fmt.Errorf("category is %q, want PERMANENT, TRANSIENT or TIMEOUT", o.Category)
	}
	if o.Attempt, err = r.whole("attempt"); err != nil {
		return nil, err
	}
	return o, nil
}

// whole parses a positive integer that may be a string; 0 if there is none.
func (r Record) whole(name string) (int, error) {
	said := r.Image.text(name)
	if v, is := r.Image[name].(*types.AttributeValueMemberN); is {
		said = v.Value
	}
	if r.Image[name] == nil {
		return 0, nil
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q, want a whole number from 1 up", name, said)
	}
	return n, nil
}

// rerun parses RERUN_REQUEST#{schedule}#{date}.
func (r Record) rerun(id pipeline.ID) (*RerunRequest, error) {
	schedule, date, is := strings.Cut(strings.TrimPrefix(r.Image.text("SK"), rerunRequest), "#")
	if !is {
		return nil, fmt.Errorf("SK is %q, want RERUN_REQUEST#SCHEDULE#DATE", r.Image.text("SK"))
	}
	key, err := run.ParseKey(string(id) + "/" + schedule + "/" + date)
	if err != nil {
		return nil, err
	}
	return &RerunRequest{
		ID: cmp.Or(r.Image.text("id"), "stream/"+r.Sequence), By: cmp.Or(r.Image.text("requestedBy"), "control table"),
		Key: key, Reason: cmp.Or(r.Image.text("reason"), "no reason given"),
		Force: r.Image.truth("force"), BypassGate: r.Image.truth("bypassGate"),
	}, nil
}
