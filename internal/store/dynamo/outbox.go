package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Outbox holds the events of an applied transaction that are not all published yet.
type Outbox struct {
	At     time.Time // when it was applied
	Events []row.Event

	row address
}

// outboxes is the list of all outboxes in the index pending.
const outboxes = "OUTBOX"

// outboxEvent is the stored form of an event in a transaction's row.
type outboxEvent struct {
	ID   string    `json:"id"`
	Part string    `json:"part,omitempty"`
	Type string    `json:"type,omitempty"`
	At   time.Time `json:"at"`
	Body string    `json:"body,omitempty"`
}

// setOutbox stores events in the row of a transaction.
func (r Row) setOutbox(events []row.Event, now time.Time) error {
	all := make([]outboxEvent, len(events))
	for i, e := range events {
		all[i] = outboxEvent{ID: e.ID, Part: e.Part, Type: e.Type, At: e.At, Body: string(e.Body)}
	}
	body, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("write an outbox: %w", err)
	}
	r.pack("events", body)
	r[told] = truth(true)
	r["pending"], r["pendingPlace"] = text(outboxes), text(join(outboxes, store.Nanos(now)))
	return nil
}

// outbox reads the events that setOutbox stored.
func (r Row) outbox() (*Outbox, error) {
	o := &Outbox{row: r.at(Control)}
	all, err := decode[[]outboxEvent](r, "events")
	if err == nil {
		o.At, err = store.FromNanos(r.text("at"))
	}
	for _, e := range all {
		o.Events = append(o.Events, row.Event{ID: e.ID, Part: e.Part, Type: e.Type, At: e.At, Body: []byte(e.Body)})
	}
	return o, err
}

// Outboxes returns up to limit outboxes of transactions applied before an instant, or of all if it
// is zero, oldest first. Functions normally publish them when the stream record arrives; these are
// the ones whose record may have been lost.
func (t *tables) Outboxes(ctx context.Context, before time.Time, limit int) (all []Outbox, err error) {
	of := span{table: Control, index: pending, hash: outboxes, low: outboxes, high: outboxes + last}
	if !before.IsZero() {
		of.high = join(outboxes, store.Nanos(before))
	}
	found, err := t.list(ctx, of, limit)
	if err != nil {
		return nil, fmt.Errorf("list outboxes: %w", err)
	}
	for _, r := range found {
		o, err := r.outbox()
		if err != nil {
			return nil, err
		}
		all = append(all, *o)
	}
	return all, nil
}

// Relayed records that all events of an outbox were published. It may be called twice.
func (t *tables) Relayed(ctx context.Context, o Outbox, now time.Time) error {
	if err := t.open(); err != nil {
		return err
	}
	_, err := t.do.update(ctx, &dynamodb.UpdateItemInput{
		TableName: t.table(o.row.table), Key: o.row.key(),
		UpdateExpression:          aws.String("SET #ttl = :ttl REMOVE pending, pendingPlace, events, #told"),
		ConditionExpression:       present.text,
		ExpressionAttributeNames:  map[string]string{"#ttl": TTL, "#told": told},
		ExpressionAttributeValues: Row{":ttl": expires(now.Add(store.CommitLife))},
	})
	if err != nil && !unmet(err) {
		return fmt.Errorf("remember that the events of %s were published: %w", o.row.pk, t.fault(err))
	}
	return nil
}
