package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Apply sends one TransactWriteItems with an item for each op and one for the id, which also holds
// the events.
func (e *Engine) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	if err := e.open(); err != nil {
		return err
	}
	p := &plan{Tx: tx, tables: e.tables, now: now, exists: map[int]bool{}}
	for try := 0; ; try++ {
		err := p.apply(ctx)
		switch {
		case err == nil:
			e.wake(tx)
			return nil
		case !errors.Is(err, errAgain) || try == tries:
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// wake raises the topics of a transaction in this process.
func (e *Engine) wake(tx row.Tx) {
	if len(tx.Events) > 0 {
		e.events.Raise()
	}
	for _, op := range tx.Ops {
		if op.Row.Kind == row.Tasks && op.Do != row.Check && !op.Quiet {
			e.tasks.Raise()
			return
		}
	}
}

// plan is a transaction being built and sent.
type plan struct {
	row.Tx
	*tables
	now    time.Time
	exists map[int]bool // ops with First whose rows are known to exist

	items []types.TransactWriteItem
	ops   []int // the op of each item, or ofID
}

// ofID marks the item of the transaction's id.
const ofID = -1

func (p *plan) apply(ctx context.Context) error {
	if err := p.build(); err != nil {
		return err
	}
	if len(p.items) == 0 {
		return nil
	}
	send := p.transact
	if len(p.items) == 1 && p.items[0].Put != nil && p.ops[0] != ofID && p.Ops[p.ops[0]].Row.Kind == row.Tasks {
		send = p.putTask
	}
	unmet, err := send(ctx, p.items)
	if err != nil {
		return err
	}
	for _, i := range unmet {
		switch op := p.ops[i]; {
		case op == ofID:
			return nil // already applied
		case p.Ops[op].If != row.First:
			return &row.Conflict{Op: op, Ref: p.Ops[op].Row.Ref}
		default:
			p.exists[op], err = !p.exists[op], errAgain
		}
	}
	return err
}

// build builds the items: first that of the id, then those of the ops.
func (p *plan) build() error {
	p.items, p.ops = nil, nil
	if p.ID != "" || len(p.Events) > 0 {
		item, err := p.commit()
		if err != nil {
			return err
		}
		p.add(ofID, item)
	}
	for i, op := range p.Ops {
		p.op(i, op)
	}
	if n := len(p.items); n > store.MaxRows {
		return fmt.Errorf("apply %d rows, more than %d: %w", n, store.MaxRows, store.ErrTooLarge)
	}
	return nil
}

// putTask puts a task by itself, which takes half the units of a transaction: most leases are one task.
// The SDK may send the put again after it has taken effect. Its condition then does not hold, and the row
// is the one that was put: no two writes of a task have the same version.
func (p *plan) putTask(ctx context.Context, items []types.TransactWriteItem) (unmetItems []int, err error) {
	put := items[0].Put
	_, err = p.do.put(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	switch {
	case unmet(err):
		found, err := p.getRow(ctx, addressOf(p.Ops[p.ops[0]].Row.Ref))
		if err == nil && found.number("version") == Row(put.Item).number("version") {
			return nil, nil
		}
		return []int{0}, err
	case busy(err):
		return nil, errAgain
	}
	return nil, p.fault(err)
}

func (p *plan) add(op int, item types.TransactWriteItem) {
	p.items, p.ops = append(p.items, item), append(p.ops, op)
}

// commit returns the row that records the id, and holds the events until they are published.
func (p *plan) commit() (types.TransactWriteItem, error) {
	id, r := p.ID, Row{"at": text(store.Nanos(p.now))}
	if id == "" {
		id = rand.Text()
	}
	if len(p.Events) == 0 {
		r[TTL] = expires(p.now.Add(store.CommitLife))
	} else if err := r.setOutbox(p.Events, p.now); err != nil {
		return types.TransactWriteItem{}, err
	}
	return p.item(row.Put, commitOf(id, p.Tx), r, absent), nil
}

func (p *plan) op(i int, op row.Op) {
	do, on, r := op.Do, condition{}, Row(nil)
	switch {
	case op.If == row.Never:
		do, on = row.Check, never
	case op.If == row.First && p.exists[i]:
		do, on = row.Check, present
	case op.If == row.First || op.If == 0:
		on = absent
	case op.If > 0:
		on = equals("version", number(op.If))
	}
	if do == row.Check && on.text == nil {
		return // nothing to check
	}
	if do == row.Put {
		r = rowOf(op)
	}
	p.add(i, p.tables.item(do, addressOf(op.Row.Ref), r, on))
}

// places are the attributes of a row's place in each index, over all partitions and in its own. Only rows
// that are read by their partition have the latter: an entry of a local index costs four units to move.
var places = [row.Indexes]struct{ list, key, own string }{
	row.Ordered: {"list", "place", "ordered"}, row.Pending: {"pending", "pendingPlace", "unfinished"}, row.Aging: {list: "aging", key: "agedAt"},
}

// rowOf returns the row that an op puts. A change is an attribute of its row, so that the stream
// delivers it.
func rowOf(op row.Op) Row {
	r := Row{"version": number(op.Row.Version)}
	r.pack("json", op.Row.Body)
	r.set("tag", op.Row.Tag)
	for i, p := range op.Row.Places {
		if p.List != "" {
			list, own := listOf(op.Row.Kind, p.List), places[i].own
			key := text(cut(join(list, p.Key)))
			r[places[i].list], r[places[i].key] = text(list), key
			if op.Row.Part != "" && own != "" {
				r[own] = key
			}
		}
	}
	if !op.Row.Expires.IsZero() {
		r[TTL] = expires(op.Row.Expires)
	}
	if op.Change != nil {
		r.pack("change", op.Change)
	}
	if op.Row.Kind == row.Tasks && !op.Quiet {
		r["stored"] = truth(true)
	}
	if op.Change != nil || r["stored"] != nil {
		r[told] = truth(true)
	}
	return r
}

// Next draws from the clock, in microseconds: a counter would be a row that every write and every lease
// of all pipelines updates, one after the other.
func (e *Engine) Next(_ context.Context, n int) (int64, error) {
	if err := e.open(); err != nil {
		return 0, err
	}
	e.numbers.mu.Lock()
	defer e.numbers.mu.Unlock()
	first := max(time.Now().UnixMicro(), e.numbers.last+1)
	e.numbers.last = first + int64(n) - 1
	return first, nil
}

// Drop deletes each row on condition that its version is unchanged.
func (e *Engine) Drop(ctx context.Context, rows []row.Row) (int, error) {
	if err := e.open(); err != nil {
		return 0, err
	}
	var dropped atomic.Int64
	err := store.Together(len(rows), atOnce, func(i int) (err error) {
		var is bool
		if r := rows[i]; r.Kind == row.Events {
			is, err = e.dropEvent(ctx, r.Key)
		} else {
			is, err = e.dropRow(ctx, addressOf(r.Ref), equals("version", number(r.Version)))
		}
		if is {
			dropped.Add(1)
		}
		return err
	})
	return int(dropped.Load()), err
}

// dropRow deletes a row if a condition holds, and reports whether it did.
func (t *tables) dropRow(ctx context.Context, at address, on condition) (bool, error) {
	_, err := t.do.drop(ctx, &dynamodb.DeleteItemInput{
		TableName: t.table(at.table), Key: at.key(),
		ConditionExpression: on.text, ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	})
	if unmet(err) {
		return false, nil
	}
	return err == nil, t.fault(err)
}
