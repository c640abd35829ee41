package awslambda

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/notify"
)

// Dispatcher is the alert-dispatcher.
type Dispatcher struct {
	Notifier *notify.Notifier
	Logger   *slog.Logger
}

// Dispatch brings the events of a queue's messages to the sinks. What could not be brought is named, so that the queue
// keeps it, and it alone.
func (d *Dispatcher) Dispatch(ctx context.Context, in events.SQSEvent) (events.SQSEventResponse, error) {
	answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range in.Records {
		if err := d.bring(ctx, m.Body); err != nil {
			d.Logger.Error("cannot bring an alert; the queue keeps it", slog.String("message", m.MessageId), slog.Any("error", err))
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return answer, nil
}

func (d *Dispatcher) bring(ctx context.Context, body string) error {
	var told Delivered
	if err := json.Unmarshal([]byte(body), &told); err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	e, err := told.Event()
	if err != nil {
		return err
	}
	return d.Notifier.Bring(ctx, e)
}
