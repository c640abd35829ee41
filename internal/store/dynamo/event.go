package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// An event has three rows: in its partition, in the log of all events, and under its id. Its
// position is the microsecond in which it was appended: processes that append concurrently share no
// row, and positions grow with time. Events appended within moments of each other may be in the log
// in a different order than they were committed, so readers of the log stay Settle behind.

// stretch is how many positions share a partition of the log: those of a day.
const stretch = int64(24 * time.Hour / time.Microsecond)

// Settle is how far readers of the log must stay behind the current time: longer than one append
// attempt takes, and longer than clocks differ.
const Settle = 5 * time.Second

// appendWithin is the timeout of one append attempt; the next attempt uses a new position.
const appendWithin = 2 * time.Second

// logDays is the partition that lists the days of the log.
const logDays = "LOGS"

// logPartition returns the PK of a day of the log.
func logPartition(day string) string { return "LOG#" + day }

// dayOf returns the day of a position, as listed in the log.
func dayOf(position int64) string { return row.Digits(position / stretch) }

// logAddress returns the address of a position, in digits, in the log.
func logAddress(position string) address {
	n, _ := strconv.ParseInt(position, 10, 64) // no event has the position 0
	return address{Events, logPartition(dayOf(n)), position}
}

func eventIDAt(id string) address { return address{Events, "EVENT#" + cut(id), "EVENT"} }

func eventAt(e row.Event) address {
	millis := strconv.FormatInt(e.At.UnixMilli(), 10)
	return address{Events, pipelinePrefix + e.Part, join(millis, e.Type, cut(e.ID))}
}

// eventsPerStep is how many events fit into a transaction.
const eventsPerStep = store.MaxRows / 3

// Append assigns events their positions in the log, in this order. It skips an event whose id is in
// the log. It needs only the events table, and may be repeated after an error.
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

// appendSome appends events in one transaction, or none of them if the log has some already. It
// adds the events that the log has to appended.
func (t *tables) appendSome(ctx context.Context, events []row.Event, appended map[string]bool) error {
	first, err := t.positions(ctx, len(events))
	if err != nil {
		return err
	}
	var items []types.TransactWriteItem
	for i, e := range events {
		items = append(items, t.eventItems(e, row.Digits(first+int64(i)))...)
	}
	limited, end := context.WithTimeout(ctx, appendWithin)
	defer end()
	unmet, err := t.transact(limited, items)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errAgain // it may have taken effect: then the ids exist
	}
	if err != nil {
		return err
	}
	for i, e := range events {
		appended[e.ID] = len(unmet) == 0 || slices.Contains(unmet, 3*i+2)
		if slices.Contains(unmet, 3*i+1) {
			err = errAgain // another process used the position
		}
	}
	return err
}

// log is the state of a process that appends.
type log struct {
	mu   sync.Mutex
	last int64  // last position used
	day  string // last day listed
}

// positions reserves n consecutive positions and returns the first. It lists a day before using its
// first position.
func (t *tables) positions(ctx context.Context, n int) (int64, error) {
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	first := max(time.Now().UnixMicro(), t.log.last+1)
	if dayOf(first) != dayOf(first+int64(n)-1) {
		first = (first/stretch + 1) * stretch
	}
	if day := dayOf(first); day != t.log.day {
		r := Row{}
		if t.keepEvents > 0 {
			r[TTL] = expires(time.UnixMicro(first).Add(t.keepEvents + 48*time.Hour))
		}
		if err := t.put(ctx, address{Events, logDays, day}, r); err != nil {
			return 0, fmt.Errorf("list day %s of the log: %w", day, err)
		}
		t.log.day = day
	}
	t.log.last = first + int64(n) - 1
	return first, nil
}

// eventItems returns the three rows of an event. The put of the last one, under the event's id,
// fails if it exists.
func (t *tables) eventItems(e row.Event, position string) []types.TransactWriteItem {
	at := eventAt(e)
	entry := func() Row {
		r := Row{"agedAt": text(join(eventList, store.Nanos(e.At), position))}
		r.pack("json", e.Body)
		r.set("eventType", e.Type)
		if t.keepEvents > 0 {
			r[TTL] = expires(e.At.Add(t.keepEvents))
		}
		return r
	}
	own, log := entry(), entry()
	own["timestamp"], own["aging"], own["position"] = number(e.At.UnixMilli()), text(eventList), text(position)
	log["of"], log["entry"] = text(at.pk), text(at.sk)
	id := Row{"entry": text(position)}
	if t.keepEvents > 0 {
		id[TTL] = log[TTL]
	}
	return []types.TransactWriteItem{
		t.item(row.Put, at, own, condition{}), t.item(row.Put, logAddress(position), log, absent),
		t.item(row.Put, eventIDAt(e.ID), id, absent),
	}
}

// event returns the log entry in a row, either of its partition or of the log of all, which is in the
// order of its keys and in no local index.
func (r Row) event() (row.Row, error) {
	pk, position := r.text("PK"), r.text("position")
	if of := r.text("of"); of != "" {
		pk, position = of, r.text("SK")
	}
	if position == "" {
		return row.Row{}, nil
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

// typeList is the prefix of the lists of events by type.
const typeList = string(row.Events) + ":"

// scanEvents reads a range of positions. For a list by type it reads all events and filters them.
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

// scanLog reads a range of the log, day by day.
func (e *Engine) scanLog(ctx context.Context, r row.Range, of span) (p row.Page, err error) {
	days := span{table: Events, hash: logDays, low: dayAt(of.low), high: dayAt(of.high), backwards: r.Backwards}
	for rest := r; ; {
		listed, err := e.query(ctx, &days, store.MaxPage)
		if err != nil {
			return p, err
		}
		for i, day := range listed {
			of.hash, of.next = logPartition(day.text("SK")), nil
			some, err := e.pageOf(ctx, rest, of)
			if err != nil {
				return p, err
			}
			p.Rows = append(p.Rows, some.Rows...)
			p.More = some.More || i < len(listed)-1 || days.next != nil
			if len(p.Rows) == r.Limit {
				return p, nil
			}
			rest.Limit -= len(some.Rows)
		}
		if days.next == nil {
			p.More = false
			return p, nil
		}
	}
}

// dayAt returns the day of a bound of positions.
func dayAt(position string) string {
	n, err := strconv.ParseInt(position[:min(len(position), row.Width)], 10, 64)
	if err != nil {
		return last // a bound beyond all positions
	}
	return dayOf(n)
}

// dropEvent deletes the rows of the event at a position, and last the row that names the others. It
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
