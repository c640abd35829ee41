package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

const (
	lookEvery = time.Second // how often Receive polls for changes of dead consumers, which no message announces
	maxHeld   = 10000       // above the number of changes one consumer ever holds
)

// heldChange identifies a change that this Engine has received and not acknowledged. Redis tracks
// them too. It may have more: changes in a reply that was lost.
type heldChange struct {
	group    string
	position int64
}

// hold marks changes as held, and returns those that were not held already.
func (e *Engine) hold(group string, changes []row.Change) []row.Change {
	return slices.DeleteFunc(changes, func(c row.Change) bool {
		_, held := e.held.LoadOrStore(heldChange{group, c.Position}, true)
		return held
	})
}

// Receive waits for messages, and polls every lookEvery.
func (e *Engine) Receive(ctx context.Context, group, consumer string, limit int) ([]row.Change, error) {
	tick := time.NewTicker(cmp.Or(e.o.look, lookEvery))
	defer tick.Stop()
	for {
		more := e.signals[changeTopic].Next()
		changes, err := e.receive(ctx, group, consumer, limit)
		if err != nil {
			return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, err)
		}
		if len(changes) > 0 {
			return changes, nil
		}
		select {
		case <-more:
		case <-tick.C:
		case <-e.closed:
			return nil, redis.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// receive returns the changes available to the consumer now. After a lost reply it first requests
// the changes that Redis has already assigned to it.
func (e *Engine) receive(ctx context.Context, group, consumer string, limit int) ([]row.Change, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	who := group + "/" + consumer
	if _, is := e.unsure.Load(who); is {
		changes, err := e.hand(ctx, group, consumer, maxHeld, "again")
		if err != nil {
			return nil, err
		}
		e.unsure.Delete(who)
		if unheard := e.hold(group, changes); len(unheard) > 0 {
			return unheard, nil
		}
	}
	e.unsure.Store(who, true) // until there is a reply
	changes, err := e.hand(ctx, group, consumer, limit, "")
	if err != nil {
		return nil, err
	}
	e.unsure.Delete(who)
	return e.hold(group, changes), nil
}

// hand requests changes from Redis; with "again", those already assigned to the consumer.
func (e *Engine) hand(ctx context.Context, group, consumer string, limit int, again string) ([]row.Change, error) {
	texts, err := e.run(ctx, receiveScript, group, e.instance, consumer, limit, again).StringSlice()
	if err != nil {
		return nil, err
	}
	return asChanges(texts)
}

// asChanges parses the position, time and body of each change.
func asChanges(texts []string) (changes []row.Change, err error) {
	for some := range slices.Chunk(texts, 3) {
		c := row.Change{Body: []byte(some[2])}
		if c.Position, err = strconv.ParseInt(some[0], 10, 64); err != nil {
			return nil, fmt.Errorf("read a stored change: %w", err)
		}
		if c.At, err = store.FromNanos(some[1]); err != nil {
			return nil, fmt.Errorf("read a stored change: %w", err)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// Ack is one script.
func (e *Engine) Ack(ctx context.Context, group string, changes []row.Change) error {
	args := []any{group, len(changes)}
	for _, c := range changes {
		args = append(args, c.Position)
	}
	if err := e.run(ctx, ackScript, args...).Err(); err != nil {
		return fmt.Errorf("acknowledge changes of %s: %w", group, err)
	}
	for _, c := range changes {
		e.held.Delete(heldChange{group, c.Position})
	}
	return nil
}

// Backlog counts the changes that the group holds and those not yet delivered to it.
func (e *Engine) Backlog(ctx context.Context, group string) (int, *row.Change, error) {
	texts, err := e.run(ctx, backlogScript, group).StringSlice()
	if err != nil {
		return 0, nil, fmt.Errorf("count the backlog of %s: %w", group, err)
	}
	oldest, err := asChanges(texts[1:])
	if err != nil || len(oldest) == 0 {
		return 0, nil, err
	}
	n, err := strconv.Atoi(texts[0])
	return n, &oldest[0], err
}

// Changed returns the same channel to all waiters of a topic.
func (e *Engine) Changed(t row.Topic) <-chan struct{} {
	if t == row.EventTopic {
		return e.signals[eventTopic].Next()
	}
	return e.signals[taskTopic].Next()
}
