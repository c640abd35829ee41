package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	aliveFor  = 8 * time.Second // how long an instance counts as alive after its last sign
	aliveBeat = 2 * time.Second // how often it gives one
	patience  = time.Second     // for one sign, and for a subscription that is silent
)

// beat says that this instance is alive. What it was given of the feed is its own as long as it is.
func (s *Store) beat(ctx context.Context) error {
	return s.fault(s.client.Set(ctx, s.key("alive", s.instance), "1", aliveFor).Err())
}

// keepAlive gives a sign every now and then. One that fails is tried again; if too many do, others take over, which costs
// nothing but a change that comes twice.
func (s *Store) keepAlive() {
	tick := time.NewTicker(aliveBeat)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-s.closed:
			return
		case <-tick.C:
		}
		err := s.within(patience, s.beat)
		if failed := err != nil; failed != failing {
			failing = failed
			if failed {
				s.o.Log.Warn("redis does not answer", "redis", s.name, "error", err)
			} else {
				s.o.Log.Info("redis answers again", "redis", s.name)
			}
		}
	}
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
