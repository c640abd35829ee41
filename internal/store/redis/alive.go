package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	aliveFor  = 7 * time.Second         // how long an instance counts as alive after its last sign
	aliveBeat = 1500 * time.Millisecond // how often it gives one
	patience  = time.Second             // for one sign, and for a subscription that is silent
)

// beat says that this instance is alive. The tasks it holds, and what it was given of the feed, are its own as long as it is.
func (s *Store) beat(ctx context.Context) error {
	_, err := s.run(ctx, beatScript, arguments{s.instance, strconv.FormatInt(aliveFor.Milliseconds(), 10)})
	return err
}

// keepAlive gives a sign every now and then. One that fails is tried again; if too many do, others take over, which costs
// nothing but a change that comes twice.
func (s *Store) keepAlive() {
	tick := time.NewTicker(aliveBeat)
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-tick.C:
		}
		err := s.within(patience, s.beat)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no connection to redis at %s: it has not answered for %s: %w", s.name, patience, err)
		}
		s.note(err)
	}
}

// note remembers whether Redis took the last sign, and tells when that changes.
func (s *Store) note(err error) {
	was := s.Trouble()
	s.trouble.Store(&err)
	switch {
	case err != nil && was == nil:
		s.o.Log.Warn("redis takes no changes", "redis", s.name, "error", err)
	case err == nil && was != nil:
		s.o.Log.Info("redis takes changes again", "redis", s.name)
	}
}

// Trouble is what kept Redis from taking the last sign, which is a change like any other; nil if nothing did.
func (s *Store) Trouble() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// leave says that this instance is gone, so that others need not wait until it no longer counts as alive. If nobody can be told,
// they wait.
func (s *Store) leave() {
	err := s.within(patience, func(ctx context.Context) error {
		return s.fault(s.client.Del(ctx, s.key("alive", s.instance)).Err())
	})
	if err != nil {
		s.o.Log.Debug("redis was not told that this instance is gone", "redis", s.name, "error", err)
	}
}

func (s *Store) within(d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return do(ctx)
}

// listen subscribes to what scripts tell those who wait. It comes back once Redis has said that it will tell.
func (s *Store) listen(ctx context.Context) (*redis.PubSub, error) {
	messages := s.client.Subscribe(ctx, s.key("wake"))
	if _, err := messages.Receive(ctx); err != nil {
		_ = messages.Close() // what went wrong before says more
		return nil, s.fault(err)
	}
	return messages, nil
}

// hear raises signals as messages come. Messages may be lost with the connection, so whenever it is made again everybody has
// a look.
func (s *Store) hear(messages *redis.PubSub) {
	heard := messages.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(patience))
	defer func() {
		if err := messages.Close(); err != nil {
			s.o.Log.Debug("redis subscription did not end well", "redis", s.name, "error", err)
		}
	}()
	for {
		select {
		case <-s.closed:
			return
		case m, more := <-heard:
			if !more {
				return
			}
			if said, told := m.(*redis.Message); told {
				s.raise(said.Payload)
			} else {
				s.raise("cet")
			}
		}
	}
}

func (s *Store) raise(what string) {
	for i := range len(what) {
		if signal := s.signals[what[i]]; signal != nil {
			signal.Raise()
		}
	}
}
