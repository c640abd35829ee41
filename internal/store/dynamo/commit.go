package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// errAgain says that something which does not decide about a Batch changed while it was being written: it is written anew.
var errAgain = errors.New("changed meanwhile")

// tries is how often a Batch is written anew before that is an error.
const tries = 50

// Commit reads what the transaction depends on, and writes it on condition that nothing of that has changed.
func (s *Store) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	if err := b.Check(); err != nil {
		return err
	}
	defer s.serial()()
	for try := 0; ; try++ {
		err := s.commit(ctx, b, now)
		switch {
		case err == nil:
			s.wake(b)
			return nil
		case !errors.Is(err, errAgain) || try == tries:
			return fmt.Errorf("commit %s: %w", b.ID, err)
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("commit %s: %w", b.ID, err)
		}
	}
}

// wake tells those who wait in this process.
func (s *Store) wake(b store.Batch) {
	if len(b.Tasks)+len(b.Finished) > 0 {
		s.tasks.Raise()
	}
	if len(b.Events) > 0 {
		s.events.Raise()
	}
	if len(b.Runs)+len(b.Pipelines) > 0 {
		s.changes.Raise()
	}
}

func (s *Store) commit(ctx context.Context, b store.Batch, now time.Time) error {
	p := &plan{Batch: b, now: now.Round(0).UTC(), ticket: s.ticket.next(now)}
	var err error
	if p.found, err = s.rows(ctx, p.reads()); err != nil {
		return err
	}
	if taken := p.found[commitAt(b)]; taken != nil {
		return s.heldBefore(ctx, b, taken, now)
	}
	if b.Hold != nil {
		if p.token, err = s.count(ctx, "TOKENS", 1); err != nil {
			return err
		}
	}
	if err := p.build(); err != nil {
		return s.refused(ctx, b, err, now)
	}
	if err := s.ageSnapshots(ctx, p); err != nil {
		return err
	}
	if err := s.transact(ctx, b.Identity(), p.items); err != nil {
		return s.refused(ctx, b, err, now)
	}
	if b.Hold != nil {
		b.Hold.Given = store.Lease{Task: b.Hold.Task, Token: p.token}
	}
	if !s.o.Alone {
		return nil
	}
	return s.arrange(ctx, p.changes, b.Events, p.relayed())
}

// ageSnapshots lists the snapshots that runs are about to refer to no more, for Trim. Should the Batch come to nothing, Trim
// finds that they are still referred to.
func (s *Store) ageSnapshots(ctx context.Context, p *plan) error {
	for _, w := range p.Runs {
		was := p.found[runAt(w.Next.Key)].text("snapshot")
		if was == "" || was == string(w.Next.Progress.Snapshot) {
			continue
		}
		_, err := s.do.update(ctx, &dynamodb.UpdateItemInput{
			TableName: s.table(Control), Key: snapshotAt(run.SnapshotID(was)).key(), UpdateExpression: aws.String("SET aging = :kind"),
			ConditionExpression: aws.String("attribute_exists(agedAt)"), ExpressionAttributeValues: Row{":kind": text("SNAPSHOT")},
		})
		if err != nil && !unmet(err) {
			return s.fault(err)
		}
	}
	return nil
}

// refused gives the error of a Batch, unless it turns out to have been taken: by another call, or by this one without an answer.
func (s *Store) refused(ctx context.Context, b store.Batch, why error, now time.Time) error {
	if errors.Is(why, errAgain) {
		return why
	}
	taken, err := s.row(ctx, commitAt(b))
	if err != nil {
		return errors.Join(why, err)
	}
	if taken != nil {
		return s.heldBefore(ctx, b, taken, now)
	}
	return why
}

// heldBefore finds the lease that a Batch came with which was taken before; none if that is lost.
func (s *Store) heldBefore(ctx context.Context, b store.Batch, taken Row, now time.Time) error {
	if b.Hold == nil {
		return nil
	}
	b.Hold.Given = store.Lease{}
	row, err := s.row(ctx, taskAt(b.Hold.Task))
	if err != nil || row == nil {
		return err
	}
	t, err := taskOf(row)
	if err != nil {
		return err
	}
	if l := (store.Lease{Task: t.ID, Token: taken.number("token")}); t.holds(l, now) {
		b.Hold.Given = l
	}
	return nil
}

// plan is a Batch on its way to becoming a transaction.
type plan struct {
	store.Batch
	now    time.Time
	ticket int64
	found  map[address]Row
	token  int64 // of the lease that it comes with, if it does

	items   []item
	changes []store.Change
}

// item is one row of a transaction.
type item struct {
	types.TransactWriteItem
	// conflict is what it means if the condition is not met; "" if that decides nothing and the Batch is written anew.
	conflict string
}

// reads are the rows that the transaction depends on.
func (p *plan) reads() []address {
	at := []address{commitAt(p.Batch)}
	if p.Lease != nil {
		at = append(at, taskAt(p.Lease.Task))
	}
	for _, t := range p.Tasks {
		at = append(at, taskAt(t.ID))
	}
	for _, id := range p.Finished {
		at = append(at, taskAt(id))
	}
	for _, w := range p.Runs {
		if w.Read > 0 {
			at = append(at, runAt(w.Next.Key))
		}
	}
	return at
}

func (p *plan) build() error {
	for _, part := range []func() error{p.taken, p.lease, p.swaps, p.records, p.letters, p.settle} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// taken is the row that remembers the Batch, and carries its events until they have been listed.
func (p *plan) taken() error {
	row := Row{"at": text(store.Nanos(p.now))}
	if p.Hold != nil {
		row["token"] = number(p.token)
	}
	if len(p.Events) == 0 {
		row[TTL] = expires(p.now.Add(store.CommitLife))
	} else {
		events, err := encode(p.Events)
		if err != nil {
			return err
		}
		row["events"], row["pending"], row["pendingPlace"] = events, text("OUTBOX"), text(join("OUTBOX", digits(p.ticket)))
	}
	p.put(commitAt(p.Batch), row, absent, "")
	return nil
}

// relayed makes the item that says that the events of the Batch have been listed; nil if it has none.
func (p *plan) relayed() func() types.TransactWriteItem {
	if len(p.Events) == 0 {
		return nil
	}
	return func() types.TransactWriteItem { return relayed(commitAt(p.Batch), p.now) }
}

func relayed(at address, now time.Time) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: aws.String(at.table), Key: at.key(),
		UpdateExpression:          aws.String("SET #ttl = :ttl REMOVE pending, pendingPlace, events"),
		ExpressionAttributeNames:  map[string]string{"#ttl": TTL},
		ExpressionAttributeValues: Row{":ttl": expires(now.Add(store.CommitLife))},
	}}
}

// condition is what must hold of a row for it to be written.
type condition struct {
	text   string
	names  map[string]string
	values Row
}

var absent = condition{text: "attribute_not_exists(PK)"}

// at is the condition that a record is at the version it was read at.
func at(read int64) condition {
	if read == 0 {
		return absent
	}
	return equals("version", number(read))
}

func equals(name string, value types.AttributeValue) condition {
	return condition{text: "#is = :is", names: map[string]string{"#is": name}, values: Row{":is": value}}
}

func (c condition) expression() *string {
	if c.text == "" {
		return nil
	}
	return aws.String(c.text)
}

func (p *plan) put(at address, row Row, on condition, conflict string) {
	row["PK"], row["SK"] = text(at.pk), text(at.sk)
	p.items = append(p.items, item{types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String(at.table), Item: row,
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	}}, conflict})
}

func (p *plan) drop(at address, on condition, conflict string) {
	p.items = append(p.items, item{types.TransactWriteItem{Delete: &types.Delete{
		TableName: aws.String(at.table), Key: at.key(),
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	}}, conflict})
}

func (p *plan) check(at address, on condition, conflict string) {
	p.items = append(p.items, item{types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: aws.String(at.table), Key: at.key(),
		ConditionExpression: on.expression(), ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
	}}, conflict})
}

// transact writes all items or none. Items name their tables without the environment.
func (s *Store) transact(ctx context.Context, name string, items []item) error {
	if err := s.open(); err != nil {
		return err
	}
	in := &dynamodb.TransactWriteItemsInput{}
	for _, i := range items {
		for _, table := range []**string{tableOf(i.Put), tableOf(i.Delete), tableOf(i.Update), tableOf(i.ConditionCheck)} {
			if table != nil {
				*table = s.table(**table)
			}
		}
		in.TransactItems = append(in.TransactItems, i.TransactWriteItem)
	}
	token, err := tokenOf(name, in)
	if err != nil {
		return err
	}
	in.ClientRequestToken = aws.String(token)
	_, err = s.do.transact(ctx, in)
	return s.verdict(items, err)
}

func tableOf[T any](part *T) **string {
	switch part := any(part).(type) {
	case *types.Put:
		if part != nil {
			return &part.TableName
		}
	case *types.Delete:
		if part != nil {
			return &part.TableName
		}
	case *types.Update:
		if part != nil {
			return &part.TableName
		}
	case *types.ConditionCheck:
		if part != nil {
			return &part.TableName
		}
	}
	return nil
}

// tokenOf names a request for the service, which answers a repeat within ten minutes as it did the first time. What is
// decided anew after a refusal is another request.
func tokenOf(name string, in *dynamodb.TransactWriteItemsInput) (string, error) {
	content, err := json.Marshal(in.TransactItems)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), content...))
	return hex.EncodeToString(sum[:])[:36], nil
}

// verdict says what the answer to a transaction means.
func (s *Store) verdict(items []item, err error) error {
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return s.fault(err)
	}
	again := errAgain
	for i, reason := range canceled.CancellationReasons {
		switch code := aws.ToString(reason.Code); code {
		case "", "None":
		case "ConditionalCheckFailed":
			if i < len(items) && items[i].conflict != "" {
				return fmt.Errorf("%s: %w", items[i].conflict, store.ErrConflict)
			}
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			again = s.fault(err) // it would be refused again
		}
	}
	return again
}

// Outbox are the events of a Batch that was taken and whose events have not all been passed on.
type Outbox struct {
	At     time.Time // when the Batch was committed
	Events []event.Event

	row address
}

// Relayed remembers that all events of an outbox were passed on. Saying so twice is fine.
func (s *Store) Relayed(ctx context.Context, o Outbox, now time.Time) error {
	if err := s.open(); err != nil {
		return err
	}
	u := relayed(o.row, now).Update
	_, err := s.do.update(ctx, &dynamodb.UpdateItemInput{
		TableName: s.table(o.row.table), Key: u.Key, UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		ConditionExpression: aws.String("attribute_exists(PK)"),
	})
	if err != nil && !unmet(err) {
		return fmt.Errorf("remember that events of %s were passed on: %w", o.row.pk, s.fault(err))
	}
	return nil
}

// Outboxes lists up to PageSize(limit) of those that were committed before an instant, oldest first: what nobody passed on,
// although the stream should long have brought it about.
func (s *Store) Outboxes(ctx context.Context, before time.Time, limit int) ([]Outbox, error) {
	found, err := s.listed(ctx, list{table: Control, index: pending, hash: "OUTBOX", before: join("OUTBOX", store.Nanos(before))}, "", store.PageSize(limit))
	if err != nil {
		return nil, fmt.Errorf("list what was not passed on: %w", err)
	}
	var all []Outbox
	for _, row := range found {
		if row["events"] == nil {
			continue // it was passed on a moment ago
		}
		o, err := outboxOf(row)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func outboxOf(row Row) (Outbox, error) {
	events, err := decodeFrom[[]event.Event](row, "events")
	return Outbox{At: row.instant("at"), Events: events, row: row.at(Control)}, err
}
