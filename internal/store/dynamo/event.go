package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// An event has three rows: in its partition, in the log of all, and under its id.

// stretch is how many positions share a partition of the log of all events.
const stretch = 100_000

// logPartition returns PK of the log of all events around a position.
func logPartition(position int64) string { return "LOG#" + strconv.FormatInt(position/stretch, 10) }

// logAddress returns the row of a position, in digits, in the log of all events.
func logAddress(position string) address {
	n, _ := strconv.ParseInt(position, 10, 64) // no event has the position 0
	return address{Events, logPartition(n), position}
}

func eventIDAt(id string) address { return address{Events, "EVENT#" + cut(id), "EVENT"} }

func eventAt(e row.Event) address {
	millis := strconv.FormatInt(e.At.UnixMilli(), 10)
	return address{Events, pipelinePrefix + e.Part, join(millis, e.Type, cut(e.ID))}
}

// eventsPerStep is how many events fit into a transaction, beside the counter.
const eventsPerStep = (store.MaxRows - 1) / 3

// Append gives events their positions in the log, in this order. It passes over an event whose id
// is in the log. It needs the table of events only, and may be repeated after an error.
func (t *tables) Append(ctx context.Context, events []row.Event) error {
	if err := t.open(); err != nil {
		return err
	}
	appended := map[string]bool{}
	for try := 0; ; {
		var some []row.Event
		for _, e := range events {
			again := func(other row.Event) bool { return other.ID == e.ID }
			if !appended[e.ID] && len(some) < eventsPerStep && !slices.ContainsFunc(some, again) {
				some = append(some, e)
			}
		}
		if len(some) == 0 {
			t.events.Raise()
			return nil
		}
		err := t.appendSome(ctx, some, appended)
		if err != nil && (!errors.Is(err, errAgain) || try == tries) {
			return fmt.Errorf("append events: %w", err)
		}
		if err != nil {
			if err := pause(ctx, try); err != nil {
				return err
			}
			try++
		}
	}
}

// appendSome appends events in one transaction, or none of them if the log has some already. It adds
// to appended what the log has.
func (t *tables) appendSome(ctx context.Context, events []row.Event, appended map[string]bool) error {
	first, counted, err := t.positions(ctx, len(events))
	if err != nil {
		return err
	}
	items := []types.TransactWriteItem{counted}
	for i, e := range events {
		items = append(items, t.eventItems(e, row.Digits(first+int64(i)))...)
	}
	unmet, err := t.transact(ctx, items)
	if err != nil {
		return err
	}
	for i, e := range events {
		appended[e.ID] = len(unmet) == 0 || slices.Contains(unmet, 3*i+3)
	}
	if slices.Contains(unmet, 0) {
		return errAgain // another process has used these positions
	}
	return nil
}

// positions returns the next position of the log, and the item that takes n of them with the events
// that get them.
func (t *tables) positions(ctx context.Context, n int) (first int64, counted types.TransactWriteItem, err error) {
	end, err := t.lastPosition(ctx)
	if err != nil {
		return 0, counted, err
	}
	at, on := counterAt(Events, "EVENTS"), equals("n", number(end))
	if end == 0 {
		on = absent
	}
	return end + 1, t.item(row.Put, at, Row{"n": number(end + int64(n))}, on), nil
}

// lastPosition returns the last position of the log; 0 if it is empty.
func (t *tables) lastPosition(ctx context.Context) (int64, error) {
	r, err := t.getRow(ctx, counterAt(Events, "EVENTS"))
	return r.number("n"), err
}

// eventItems are the three rows of an event. The last one is there only once.
func (t *tables) eventItems(e row.Event, position string) []types.TransactWriteItem {
	at := eventAt(e)
	entry := func() Row {
		r := Row{"position": text(position), "agedAt": text(join(eventList, store.Nanos(e.At), position))}
		r.pack("json", e.Body)
		r.set("eventType", e.Type)
		if t.keepEvents > 0 {
			r[TTL] = expires(e.At.Add(t.keepEvents))
		}
		return r
	}
	own, log := entry(), entry()
	own["timestamp"], own["aging"] = number(e.At.UnixMilli()), text(eventList)
	log["of"], log["entry"] = text(at.pk), text(at.sk)
	id := Row{"position": text(position)}
	if t.keepEvents > 0 {
		id[TTL] = log[TTL]
	}
	return []types.TransactWriteItem{
		t.item(row.Put, at, own, condition{}), t.item(row.Put, logAddress(position), log, condition{}),
		t.item(row.Put, eventIDAt(e.ID), id, absent),
	}
}

// event returns the entry of the log that a row holds: one in its partition, or in the log of all.
func (r Row) event() (row.Row, error) {
	position := r.text("position")
	if position == "" {
		return row.Row{}, nil
	}
	pk := r.text("of")
	if pk == "" {
		pk = r.text("PK")
	}
	body, err := r.unpack("json")
	list := string(row.Events)
	return row.Row{
		Ref:     row.Ref{Kind: row.Events, Part: strings.TrimPrefix(pk, pipelinePrefix), Key: position},
		Version: 1, Body: body, Places: [row.Indexes]row.Place{
			row.Ordered: {List: list, Key: position}, row.Pending: {List: typeList + r.text("eventType"), Key: position},
			row.Aging: {List: list, Key: strings.TrimPrefix(r.text("agedAt"), eventList+"#")},
		},
	}, err
}

// eventList is the list of all events by age.
var eventList = listOf(row.Events, string(row.Events))

// typeList is what the name of the list of all events of a type begins with.
const typeList = string(row.Events) + ":"

// scanEvents reads a range of positions. For the list of a type it reads all events and drops the
// others.
func (e *Engine) scanEvents(ctx context.Context, r row.Range) (row.Page, error) {
	of := span{
		table: Events, index: byPosition, hash: pipelinePrefix + r.Part, backwards: r.Backwards,
		low: max(r.From, row.Digits(0)), high: cmp.Or(r.To, last),
	}
	if r.Part != "" || r.List == "" {
		return e.pageOf(ctx, r, of)
	}
	of.index = Index{}
	if r.Index == row.Pending {
		of.eventType = strings.TrimPrefix(r.List, typeList)
	}
	return e.scanLog(ctx, r, of)
}

// scanLog reads a range of the log of all events, one partition after the other.
func (e *Engine) scanLog(ctx context.Context, r row.Range, of span) (p row.Page, err error) {
	end, err := e.lastPosition(ctx)
	if err != nil {
		return p, err
	}
	digits := func(position string) int64 {
		n, err := strconv.ParseInt(position[:min(len(position), row.Width)], 10, 64)
		if err != nil {
			return end // a bound beyond all positions
		}
		return min(n, end)
	}
	partition, stop, step := digits(of.low)/stretch, digits(of.high)/stretch, int64(1)
	if r.Backwards {
		partition, stop, step = stop, partition, -1
	}
	for rest := r; ; partition += step {
		of.hash = logPartition(partition * stretch)
		some, err := e.pageOf(ctx, rest, of)
		if err != nil {
			return p, err
		}
		p.Rows = append(p.Rows, some.Rows...)
		if p.More = some.More || partition != stop; partition == stop || len(p.Rows) == r.Limit {
			return p, nil
		}
		rest.Limit -= len(some.Rows)
	}
}

// dropEvent deletes the rows of the entry at a position, last the one that names the others, and
// reports whether there was one.
func (e *Engine) dropEvent(ctx context.Context, position string) (bool, error) {
	at := logAddress(position)
	log, err := e.getRow(ctx, at)
	if err != nil || log == nil {
		return false, err
	}
	own := address{Events, log.text("of"), log.text("entry")}
	for _, one := range []address{own, eventIDAt(strings.SplitN(own.sk, "#", 3)[2]), at} {
		if _, err := e.dropRow(ctx, one, condition{}); err != nil {
			return false, err
		}
	}
	return true, nil
}
