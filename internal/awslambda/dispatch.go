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
	// Later puts a message back. It becomes visible after the given time, with a new receive count.
	Later(ctx context.Context, body string, after time.Duration) error
}

// Dispatcher is the alert-dispatcher.
type Dispatcher struct {
	Notifier *notify.Notifier
	Queue    Queue // if nil, a message for a busy sink counts as failed
	Now      func() time.Time
	Logger   *slog.Logger
	Meter    *Meter
}

// maxBusy is how long an alert may wait for a rate-limited sink. After that it counts as failed.
const maxBusy = 24 * time.Hour

// Dispatch sends the events of SQS messages to the sinks. It returns the messages that failed, so
// that the queue keeps only those; after five receives the queue moves them to the dead-letter
// queue. If a sink asks for a pause, Dispatch sends it nothing more and puts its messages back with
// that delay: a rate limit is no failure of a message.
func (d *Dispatcher) Dispatch(ctx context.Context, in events.SQSEvent) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	var busy *sink.Busy
	for _, m := range in.Records {
		err := d.send(ctx, m, &busy)
		if err != nil {
			d.Meter.Gauge(metricSinkFailed, 1, count)
			d.Logger.Error("cannot send an alert; the queue keeps it", slog.String("message", m.MessageId), slog.Any("error", err))
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return answer, nil
}

// send sends the event of one message, or puts the message back while a sink is busy.
func (d *Dispatcher) send(ctx context.Context, m events.SQSMessage, busy **sink.Busy) error {
	var delivered Delivered
	if err := json.Unmarshal([]byte(m.Body), &delivered); err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	e, err := delivered.Event()
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
	d.Logger.Info("a sink is rate-limited; the alert is put back into the queue", slog.String("message", m.MessageId), slog.Any("reason", *busy))
	return d.Queue.Later(ctx, m.Body, (*busy).After)
}
