package awslambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
)

// Queue is the queue that alerts come from.
type Queue interface {
	// Later puts a message back, to be received after a while as if for the first time.
	Later(ctx context.Context, body string, after time.Duration) error
}

// Dispatcher is the alert-dispatcher.
type Dispatcher struct {
	Notifier *notify.Notifier
	Queue    Queue // nil: a message of a busy sink counts as one that could not be sent
	Now      func() time.Time
	Logger   *slog.Logger
}

// maxBusy is how long an alert may wait for a sink that asks for time. After that it counts as one that could not be sent.
const maxBusy = 24 * time.Hour

// Dispatch sends the events of a queue's messages to the sinks. It names the messages that could not be sent, so that the queue
// keeps those alone; after five times it gives them up. A sink that asks for time is left alone for as long, and what waits
// for it is put back: that a sink limits its rate is no failure of a message.
func (d *Dispatcher) Dispatch(ctx context.Context, in events.SQSEvent) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	var busy *sink.Busy
	for _, m := range in.Records {
		err := d.send(ctx, m, &busy)
		if err != nil {
			d.Logger.Error("cannot send an alert; the queue keeps it", slog.String("message", m.MessageId), slog.Any("error", err))
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return answer, nil
}

// send sends the event of one message, or puts the message back while a sink is busy.
func (d *Dispatcher) send(ctx context.Context, m events.SQSMessage, busy **sink.Busy) error {
	var told Delivered
	if err := json.Unmarshal([]byte(m.Body), &told); err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	e, err := told.Event()
	if err != nil {
		return err
	}
	if *busy == nil {
		if err = d.Notifier.Bring(ctx, e); !errors.As(err, busy) {
			return err
		}
	}
	if d.Queue == nil || d.Now().Sub(e.Time) > maxBusy {
		return *busy
	}
	d.Logger.Info("a sink asks for time; the alert is put back into the queue", slog.String("message", m.MessageId), slog.Any("reason", *busy))
	return d.Queue.Later(ctx, m.Body, (*busy).After)
}
