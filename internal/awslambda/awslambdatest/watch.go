package awslambdatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/log"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Datum is one value that CloudWatch receives.
type Datum struct {
	At         time.Time
	Namespace  string
	Name       string
	Dimensions map[string]string
	Value      float64
}

// Outage is how a function is down.
type Outage string

// The ways.
const (
	Fails     Outage = "fails"     // every call ends with an error
	Throttles Outage = "throttles" // Lambda accepts no call
	Gone      Outage = "gone"      // calls do not reach Lambda, which then counts nothing
)

// Down makes a function unavailable from now on; Up ends that.
func (w *World) Down(f awslambda.Function, how Outage) { w.down[f] = how }

// Up makes all functions available again.
func (w *World) Up() { clear(w.down) }

// watching is what CloudWatch receives, and the queues that it watches.
type watching struct {
	mu      sync.Mutex // the watchdog asks several probes at once
	Data    []Datum
	Missed  time.Time          // when a function that was down was first called
	inside  awslambda.Function // the function that is being called
	emitted bytes.Buffer       // metrics that the functions wrote to their logs
	meter   *awslambda.Meter   // of all functions
	ended   int                // executions whose end was counted
	dead    deadLetters
	queued  []queued // alerts that were not dispatched
}

// deadLetters is the number of messages in the dead-letter queues.
type deadLetters map[string]int

type queued struct {
	at   time.Time
	body string
}

// ErrDown is the error of a call of a function that is down.
var ErrDown = errors.New("the function is down")

// invoked calls a function, and counts the call as Lambda does.
func (w *World) invoked(f awslambda.Function, call func() error) error {
	name := map[string]string{"FunctionName": "test-interlock-" + string(f)}
	count := func(metric string) { w.datum("AWS/Lambda", metric, name, 1) }
	if w.down[f] != "" && w.Missed.IsZero() {
		w.Missed = w.now
	}
	switch w.down[f] {
	case Gone:
		return ErrDown
	case Throttles:
		count("Throttles")
		return ErrDown
	case Fails:
		count("Invocations")
		count("Errors")
		return ErrDown
	}
	count("Invocations")
	caller := w.enter(f)
	err := call()
	w.enter(caller)
	if err != nil {
		count("Errors")
	}
	return err
}

// enter notes which function is being called, and returns the one before.
func (w *World) enter(f awslambda.Function) awslambda.Function {
	w.watching.mu.Lock()
	defer w.watching.mu.Unlock()
	before := w.inside
	w.inside = f
	return before
}

// Inside returns the function that is being called.
func (w *World) Inside() awslambda.Function {
	w.watching.mu.Lock()
	defer w.watching.mu.Unlock()
	return w.inside
}

func (w *World) datum(namespace, name string, dimensions map[string]string, value float64) {
	w.watching.mu.Lock()
	defer w.watching.mu.Unlock()
	w.Data = append(w.Data, Datum{At: w.now, Namespace: namespace, Name: name, Dimensions: dimensions, Value: value})
}

// gauge reports what CloudWatch measures itself, once a minute.
func (w *World) gauge() {
	w.readEmitted()
	for name, n := range w.dead {
		w.datum("AWS/SQS", "ApproximateNumberOfMessagesVisible", map[string]string{"QueueName": "test-interlock-" + name + "-dlq"}, float64(n))
	}
	var oldest time.Duration
	if len(w.queued) > 0 {
		oldest = w.now.Sub(w.queued[0].at)
	}
	w.datum("AWS/SQS", "ApproximateAgeOfOldestMessage", map[string]string{"QueueName": "test-interlock-alerts"}, oldest.Seconds())
	w.cloud.mu.Lock()
	ended := w.cloud.machine.Ended[w.ended:]
	w.ended += len(ended)
	w.cloud.mu.Unlock()
	for _, e := range ended {
		metric := map[string]string{"FAILED": "ExecutionsFailed", "TIMED_OUT": "ExecutionsTimedOut", "ABORTED": "ExecutionsAborted"}[e.Status]
		if metric != "" {
			w.datum("AWS/States", metric, map[string]string{"StateMachineArn": machineARN}, 1)
		}
	}
}

// readEmitted turns the lines of the functions' logs into data, as CloudWatch Logs does.
func (w *World) readEmitted() {
	for line := range bytes.Lines(w.emitted.Bytes()) {
		var metadata struct {
			AWS struct {
				Timestamp         int64
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name string }
				}
			} `json:"_aws"`
		}
		var values map[string]any
		if err := errors.Join(json.Unmarshal(line, &metadata), json.Unmarshal(line, &values)); err != nil {
			w.Fatal(err)
		}
		for _, set := range metadata.AWS.CloudWatchMetrics {
			for _, names := range set.Dimensions {
				dimensions := map[string]string{}
				for _, name := range names {
					dimensions[name] = fmt.Sprint(values[name])
				}
				for _, m := range set.Metrics {
					value, is := values[m.Name].(float64)
					if !is {
						w.Fatalf("%s has no number for %s", line, m.Name)
					}
					w.Data = append(w.Data, Datum{time.UnixMilli(metadata.AWS.Timestamp).UTC(), set.Namespace, m.Name, dimensions, value})
				}
			}
		}
	}
	w.emitted.Reset()
}

// dispatcher returns the alert-dispatcher, whose alerts go to a log.
func (w *World) dispatcher() *awslambda.Dispatcher {
	logger := slog.New(slog.DiscardHandler)
	return &awslambda.Dispatcher{
		Notifier: notify.New(notify.Options{Store: w.only(dynamo.Events, awslambda.AlertDispatcher), Sinks: []sink.Sink{log.New(logger)}}), Now: w.Now, Logger: logger, Meter: w.meter,
	}
}

// alert puts an event that needs attention into the queue, as the rule of the bus does.
func (w *World) alert(d awslambda.Delivered) {
	e, err := d.Event()
	if err != nil {
		w.Fatal(err)
	}
	if e.Detail.Severity == "warning" || e.Detail.Severity == "critical" {
		body, err := json.Marshal(d)
		if err != nil {
			w.Fatal(err)
		}
		w.queued = append(w.queued, queued{w.now, string(body)})
	}
}

// dispatch calls the alert-dispatcher with the waiting alerts.
func (w *World) dispatch() {
	if len(w.queued) == 0 {
		return
	}
	var in events.SQSEvent
	for i, q := range w.queued {
		in.Records = append(in.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: q.body})
	}
	var answer events.SQSEventResponse
	err := w.invoked(awslambda.AlertDispatcher, func() (err error) {
		answer, err = w.alerts.Dispatch(context.Background(), in)
		return err
	})
	if err != nil {
		return // the messages become visible again
	}
	var kept []queued
	for _, f := range answer.BatchItemFailures {
		var i int
		if _, err := fmt.Sscan(f.ItemIdentifier, &i); err != nil {
			w.Fatal(err)
		}
		kept = append(kept, w.queued[i])
	}
	w.queued = kept
}
