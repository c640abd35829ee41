package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store/row"
)

const (
	aliveFor  = 7 * time.Second         // how long an instance counts as alive after a heartbeat
	aliveBeat = 1500 * time.Millisecond // how often it sends one
	patience  = time.Second             // timeout of a heartbeat, and of a silent subscription
)

// peers is the state of other instances, as found by heartbeats.
type peers struct {
	mu    sync.Mutex
	known map[string]bool // whether an instance may be alive
	skew  time.Duration
}

// Peers returns the state as of the last heartbeat.
func (e *Engine) Peers() row.Peers {
	if e.o.CallersClock {
		return row.Peers{Self: e.instance}
	}
	e.peers.mu.Lock()
	defer e.peers.mu.Unlock()
	return row.Peers{Self: e.instance, Skew: e.peers.skew, Alive: e.peers.mayBeAlive}
}

// mayBeAlive returns false only for an instance that a heartbeat has found to be dead. An unknown
// one may have started after the last heartbeat: the next one finds out.
func (p *peers) mayBeAlive(instance string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	alive, known := p.known[instance]
	if !known {
		p.known[instance], alive = true, true
	}
	return alive
}

// update applies the result of a heartbeat. It reports whether a known instance has died.
func (p *peers) update(before map[string]bool, alive []string, skew time.Duration) (died bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = skew
	for instance, was := range before {
		is := slices.Contains(alive, instance)
		p.known[instance] = is
		died = died || was && !is
	}
	for _, instance := range alive {
		p.known[instance] = true
	}
	return died
}

// beat keeps this instance alive, and finds out which others are alive and how far the clock of
// Redis is ahead of this process's.
func (e *Engine) beat(ctx context.Context) error {
	e.peers.mu.Lock()
	before, sent := maps.Clone(e.peers.known), time.Now()
	e.peers.mu.Unlock()
	answer, err := e.run(ctx, beatScript, e.instance, aliveFor.Milliseconds()).StringSlice()
	if err != nil {
		return err
	}
	middle := sent.Add(time.Since(sent) / 2)
	micros, err := strconv.ParseInt(answer[0], 10, 64)
	if err != nil {
		return err
	}
	if e.peers.update(before, answer[1:], time.UnixMicro(micros).Sub(middle)) {
		e.raise(string(taskTopic)) // the tasks of the dead can be claimed
	}
	return nil
}

// keepAlive sends heartbeats, and an extra one whenever an instance leaves. A failed heartbeat is
// retried at the next tick; if too many fail, other instances take over this one's leases and
// changes.
func (e *Engine) keepAlive() {
	tick := time.NewTicker(aliveBeat)
	defer tick.Stop()
	for {
		left := e.signals[leaveTopic].Next()
		select {
		case <-e.closed:
			return
		case <-left:
		case <-tick.C:
		}
		err := within(patience, e.beat)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no connection to redis at %s: it has not answered for %s: %w", e.name, patience, err)
		}
		e.note(err)
	}
}

// note records whether the last heartbeat succeeded, and logs when that changes.
func (e *Engine) note(err error) {
	was := e.Trouble()
	e.trouble.Store(&err)
	switch {
	case err != nil && was == nil:
		e.o.Log.Warn("redis accepts no changes", "redis", e.name, "error", err)
	case err == nil && was != nil:
		e.o.Log.Info("redis accepts changes again", "redis", e.name)
	}
}

// Trouble returns the error of the last heartbeat, which is a write like any other; nil if it
// succeeded.
func (e *Engine) Trouble() error {
	if err := e.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// leave deregisters this instance, so that others do not wait until it no longer counts as alive.
// If Redis cannot be reached, they wait.
func (e *Engine) leave() {
	_ = within(patience, func(ctx context.Context) error { return e.run(ctx, leaveScript, e.instance).Err() })
}

func within(d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return do(ctx)
}

// subscribe subscribes to the wake-up messages of scripts. It returns once Redis has confirmed.
func (e *Engine) subscribe(ctx context.Context) (*redis.PubSub, error) {
	messages := e.client.Subscribe(ctx, e.key("wake"))
	if _, err := messages.Receive(ctx); err != nil {
		_ = messages.Close() // the first error is more useful
		return nil, e.fault(err)
	}
	return messages, nil
}

// listen raises signals as messages of other instances arrive: for its own transactions, Apply has
// done so already. A lost connection may lose messages, so it raises all signals after every
// reconnect.
func (e *Engine) listen(messages *redis.PubSub) {
	received := messages.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(patience))
	defer func() { _ = messages.Close() }() // shutting down
	for {
		select {
		case <-e.closed:
			return
		case m, more := <-received:
			if !more {
				return
			}
			if message, is := m.(*redis.Message); is {
				if topics, from, _ := strings.Cut(message.Payload, " "); from != e.instance {
					e.raise(topics)
				}
			} else {
				e.raise(allTopics)
			}
		}
	}
}

// raise wakes the waiters of the topics.
func (e *Engine) raise(topics string) {
	for _, topic := range []byte(topics) {
		if signal := e.signals[topic]; signal != nil {
			signal.Raise()
		}
	}
}
