package dynamo

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Told is what the new image of a row says to whoever follows the streams. Most say one thing, many nothing: a task that was
// claimed, a deadline, what is remembered for later.
type Told struct {
	Pipeline pipeline.ID // whose row it is; "" if it is nobody's

	Change *store.Change // a run or a pipeline moved, a reading was written; without a position
	Task   string        // the id of a task that a Batch stored
	Outbox *Outbox       // the events of a Batch
	File   bool          // a pipeline, calendar or archetype file, which somebody else deploys

	// Rows that others write.
	Sensor *Produced
	Result *run.Outcome  // of a job; attempt 0 where the row names none
	Rerun  *RerunRequest // of somebody who asks for another attempt

	// Refused is why a row that others write makes no sense; "" if it does.
	Refused string
}

// RerunRequest is a row that asks for another attempt.
type RerunRequest struct {
	ID         string // of the row, or else the record's own: asked twice is answered twice
	Key        run.Key
	Reason, By string
	Force      bool
	BypassGate bool
}

// Record is a record of a stream: the image of a row as it became, and what the stream says of it. Records of removal have no
// image, and say nothing.
type Record struct {
	Image    Row
	Sequence string    // grows with every change of a row
	At       time.Time // when it was written
}

// Read says what a record tells. A row that others wrote wrongly is no error: it is Refused.
func (r Record) Read() (Told, error) {
	pk, sk := r.Image.text("PK"), r.Image.text("SK")
	switch {
	case strings.HasPrefix(pk, taskPrefix):
		return r.task()
	case strings.HasPrefix(pk, commitPrefix):
		return r.outbox()
	case sk == "CONFIG":
		id, _ := strings.CutPrefix(pk, pipelinePrefix)
		return Told{Pipeline: pipeline.ID(id), File: true}, nil
	}
	id, is := strings.CutPrefix(pk, pipelinePrefix)
	if !is {
		return Told{}, nil
	}
	t := Told{Pipeline: pipeline.ID(id)}
	var err error
	switch {
	case strings.HasPrefix(sk, sensorPrefix):
		t.Sensor, err = r.produced(t.Pipeline)
	case strings.HasPrefix(sk, jobPrefix) && r.Image["json"] == nil:
		t.Result, err = r.result(t.Pipeline)
	case strings.HasPrefix(sk, rerunRequest):
		t.Rerun, err = r.rerun(t.Pipeline)
	default:
		t.Change, err = r.change(t.Pipeline)
		return t, err
	}
	if err != nil {
		t.Refused = err.Error()
	}
	return t, nil
}

// task tells of a task that was stored, and not of leases on it.
func (r Record) task() (Told, error) {
	if !r.Image.truth("stored") {
		return Told{}, nil
	}
	t, err := decode[store.Task](r.Image)
	return Told{Pipeline: t.Pipeline, Task: t.ID}, err
}

func (r Record) outbox() (Told, error) {
	if r.Image["events"] == nil {
		return Told{}, nil
	}
	o, err := outboxOf(r.Image)
	if err != nil {
		return Told{}, err
	}
	return Told{Pipeline: o.Events[0].Detail.Pipeline, Outbox: &o}, nil
}

// change tells of a run whose status or attempt changed with this very version, of a pipeline, and of a reading, unless it was
// made of a producer's row: whoever made it knows.
func (r Record) change(id pipeline.ID) (*store.Change, error) {
	image, sk := r.Image, r.Image.text("SK")
	c := &store.Change{Pipeline: id, Version: image.number("version"), At: image.instant("movedAt")}
	switch {
	case strings.HasPrefix(sk, triggerPrefix) && image.number("moved") == c.Version:
		current, err := decode[run.Run](image)
		c.Kind, c.Run, c.Status, c.Attempt = store.RunMoved, current.Key, current.Status, current.Attempt
		return c, err
	case sk == "STATE":
		c.Kind = store.PipelineMoved
		return c, nil
	case strings.HasPrefix(sk, readingPrefix) && image["sequence"] == nil:
		written, err := readingOf(image)
		if err != nil {
			return nil, err
		}
		*c = written.change()
		return c, nil
	}
	return nil, nil
}

// result reads JOB#{schedule}#{date}#{timestamp}.
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
		Result: run.Result(r.Image.text("event")), Category: run.Category(strings.ToUpper(r.Image.text("category"))),
		Message: r.Image.text("error"), By: "job log", At: r.At,
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

// whole reads a number that may be written as text; 0 if it is not there.
func (r Record) whole(name string) (int, error) {
	var said string
	switch v := r.Image[name].(type) {
	case nil:
		return 0, nil
	case *types.AttributeValueMemberN:
		said = v.Value
	case *types.AttributeValueMemberS:
		said = v.Value
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q, want a whole number from 1 up", name, said)
	}
	return n, nil
}

// rerun reads RERUN_REQUEST#{schedule}#{date}.
func (r Record) rerun(id pipeline.ID) (*RerunRequest, error) {
	schedule, date, is := strings.Cut(strings.TrimPrefix(r.Image.text("SK"), rerunRequest), "#")
	if !is {
		return nil, fmt.Errorf("SK is %q, want RERUN_REQUEST#SCHEDULE#DATE", r.Image.text("SK"))
	}
	p, err := period.Parse(date)
	if err != nil {
		return nil, err
	}
	if s := pipeline.ScheduleID(schedule); !s.Valid() {
		return nil, fmt.Errorf("schedule is %q, want cron, stream or manual", schedule)
	}
	q := &RerunRequest{
		ID: r.Image.text("id"), Key: run.Key{Pipeline: id, Schedule: pipeline.ScheduleID(schedule), Period: p},
		Reason: r.Image.text("reason"), By: r.Image.text("requestedBy"), Force: r.Image.truth("force"), BypassGate: r.Image.truth("bypassGate"),
	}
	if q.ID == "" {
		q.ID = "stream/" + r.Sequence
	}
	if q.By == "" {
		q.By = "control table"
	}
	if q.Reason == "" {
		q.Reason = "no reason given"
	}
	return q, nil
}

// UnmarshalJSON reads a row in DynamoDB's own JSON, as records of a stream hold it: {"PK": {"S": "…"}, …}.
func (r *Row) UnmarshalJSON(text []byte) error {
	var raw map[string]attribute
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	row := Row{}
	for name, a := range raw {
		v, err := a.value()
		if err != nil {
			return fmt.Errorf("read attribute %s of a row: %w", name, err)
		}
		row[name] = v
	}
	*r = row
	return nil
}

// attribute is a value in that JSON.
type attribute struct {
	S    *string
	N    *string
	B    *[]byte
	BOOL *bool
	NULL *bool
	M    *map[string]attribute
	L    *[]attribute
	SS   *[]string
	NS   *[]string
	BS   *[][]byte
}

var errKind = errors.New("its type is not one of S, N, B, BOOL, NULL, M, L, SS, NS, BS")

func (a attribute) value() (types.AttributeValue, error) {
	switch {
	case a.S != nil:
		return text(*a.S), nil
	case a.N != nil:
		return &types.AttributeValueMemberN{Value: *a.N}, nil
	case a.B != nil:
		return &types.AttributeValueMemberB{Value: *a.B}, nil
	case a.BOOL != nil:
		return truth(*a.BOOL), nil
	case a.NULL != nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case a.SS != nil:
		return &types.AttributeValueMemberSS{Value: *a.SS}, nil
	case a.NS != nil:
		return &types.AttributeValueMemberNS{Value: *a.NS}, nil
	case a.BS != nil:
		return &types.AttributeValueMemberBS{Value: *a.BS}, nil
	case a.L != nil:
		list := []types.AttributeValue{}
		for _, item := range *a.L {
			v, err := item.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	case a.M != nil:
		inner := map[string]types.AttributeValue{}
		for name, item := range *a.M {
			v, err := item.value()
			if err != nil {
				return nil, err
			}
			inner[name] = v
		}
		return &types.AttributeValueMemberM{Value: inner}, nil
	default:
		return nil, errKind
	}
}
