package dynamo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/store"
)

// ends are the last positions that were given out.
type ends struct {
	changes, events int64
	through         int64 // the last change that was forgotten
}

// places are the ends as far as they are known here.
type places struct {
	mu    sync.Mutex
	known bool
	ends
}

// look reads them, unless they are known.
func (p *places) look(ctx context.Context, s *Store) (ends, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known {
		return p.ends, nil
	}
	changes, events := counterAt(Control, "CHANGES"), counterAt(Events, "EVENTS")
	at := []address{events}
	if s.o.Alone {
		at = append(at, changes)
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return ends{}, err
	}
	p.known = s.o.Alone
	p.ends = ends{changes: rows[changes].number("n"), events: rows[events].number("n"), through: rows[changes].number("through")}
	return p.ends, nil
}

// moved takes note of positions that were given out, and forget says that others have done so.
func (p *places) moved(changes, events int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes += int64(changes)
	p.events += int64(events)
}

func (p *places) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = false
}

// AppendEvents gives events their places in the log of all and in that of their pipeline, in this order. One whose id is there
// is passed over. It needs the table of events alone: it is what the event-sink does.
func (s *Store) AppendEvents(ctx context.Context, events []event.Event) error {
	defer s.serial()()
	if err := s.arrange(ctx, nil, events, nil); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	s.events.Raise()
	return nil
}

// arrange gives changes and events their places, some at a time. The last of these transactions also carries done, if there is
// one. It may be repeated after an error: an event that has its place keeps it.
func (s *Store) arrange(ctx context.Context, changes []store.Change, events []event.Event, done func() types.TransactWriteItem) error {
	events = firstOfEach(events)
	for try := 0; len(changes) > 0 || len(events) > 0 || done != nil; {
		from, err := s.places.look(ctx, s)
		if err != nil {
			return err
		}
		step := s.step(from, changes, events)
		if err := step.build(); err != nil {
			return err
		}
		finishes := done != nil && len(step.changes) == len(changes) && len(step.events) == len(events) && len(step.items) < store.MaxRows
		if finishes {
			step.items = append(step.items, item{TransactWriteItem: done()})
		}
		switch err := s.transact(ctx, "arrange", step.items); {
		case err == nil:
			s.places.moved(len(step.changes), len(step.events))
			changes, events = changes[len(step.changes):], events[len(step.events):]
			if finishes {
				done = nil
			}
		case errors.Is(err, errAgain) && try < tries:
			s.places.forget()
			if events, err = s.unknown(ctx, events); err != nil {
				return err
			}
			if err := pause(ctx, try); err != nil {
				return err
			}
			try++
		default:
			return err
		}
	}
	return nil
}

func firstOfEach(events []event.Event) (out []event.Event) {
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.ID] {
			out = append(out, e)
		}
		seen[e.ID] = true
	}
	return out
}

// unknown are the events that have no place yet.
func (s *Store) unknown(ctx context.Context, events []event.Event) (out []event.Event, err error) {
	var at []address
	for _, e := range events {
		at = append(at, eventIDAt(e.ID))
	}
	rows, err := s.rows(ctx, at)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if rows[eventIDAt(e.ID)] == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// step is one of the transactions.
type step struct {
	plan
	*Store
	from    ends
	changes []store.Change
	events  []event.Event
}

const rowsOfAnEvent = 3

// step takes as many as fit.
func (s *Store) step(from ends, changes []store.Change, events []event.Event) *step {
	t := &step{Store: s, from: from, changes: changes[:min(len(changes), store.MaxRows-1)]}
	room := store.MaxRows
	if n := len(t.changes); n > 0 {
		room -= n + 1
	}
	t.events = events[:min(len(events), max(room-1, 0)/rowsOfAnEvent)]
	return t
}

func (t *step) build() error {
	if n := len(t.changes); n > 0 {
		t.counted(counterAt(Control, "CHANGES"), t.from.changes, n)
	}
	for i, c := range t.changes {
		c.Position = store.Position(t.from.changes + int64(i) + 1)
		json, err := encode(c)
		if err != nil {
			return err
		}
		t.plan.put(changeAt(c.Position), Row{"json": json}, condition{}, "")
	}
	if n := len(t.events); n > 0 {
		t.counted(counterAt(Events, "EVENTS"), t.from.events, n)
	}
	for i, e := range t.events {
		if err := t.event(e, store.Position(t.from.events+int64(i)+1)); err != nil {
			return err
		}
	}
	return nil
}

// counted moves a counter on from where it is known to be.
func (t *step) counted(at address, from int64, by int) {
	u := &types.Update{
		TableName: aws.String(at.table), Key: at.key(), UpdateExpression: aws.String("SET #n = :next"),
		ConditionExpression:       aws.String("#n = :from"),
		ExpressionAttributeNames:  map[string]string{"#n": "n"},
		ExpressionAttributeValues: Row{":from": number(from), ":next": number(from + int64(by))},
	}
	if from == 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(#n)")
		delete(u.ExpressionAttributeValues, ":from")
	}
	t.items = append(t.items, item{TransactWriteItem: types.TransactWriteItem{Update: u}})
}

// event writes the three rows of an event: in its pipeline, in the log of all, and under its id.
func (t *step) event(e event.Event, at store.Position) error {
	json, err := encode(e)
	if err != nil {
		return err
	}
	row := func(more Row) Row {
		more["json"], more["position"] = json, text(digits(int64(at)))
		if t.o.KeepEvents > 0 {
			more[TTL] = expires(e.Time.Add(t.o.KeepEvents))
		}
		return more
	}
	t.plan.put(eventAt(e), row(Row{"eventType": text(string(e.Type)), "timestamp": number(e.Time.UnixMilli())}), condition{}, "")
	t.plan.put(logAt(at), row(Row{}), condition{}, "")
	id := row(Row{})
	delete(id, "json")
	t.plan.put(eventIDAt(e.ID), id, absent, "")
	return nil
}
