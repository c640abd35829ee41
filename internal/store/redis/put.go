package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// PutReadings writes the JSON here; the script only compares and appends. Writes that are made at the same time go to Redis
// together: see store.Gatherer.
func (s *Store) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, store.MaxWrites); err != nil {
		return nil, err
	}
	if err := errors.Join(ctx.Err(), s.open()); err != nil {
		return nil, err
	}
	c := &putCall{count: len(writes), done: make(chan struct{})}
	for _, w := range writes {
		if err := c.add(w, now); err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", w.Reading.Key, w.Pipeline, err)
		}
	}
	s.puts.Take(s.putTogether, c)
	select {
	case <-c.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("put readings: %w", ctx.Err()) // it may happen all the same
	}
	if c.err != nil {
		return nil, fmt.Errorf("put readings: %w", c.err)
	}
	return c.puts, nil
}

// add appends what the script takes for one write.
func (c *putCall) add(w store.Write, now time.Time) error {
	r := w.Reading
	data, err := store.EncodeData(r)
	if err != nil {
		return err
	}
	more, err := encode(extra{Source: r.Source, ExpiresAt: r.ExpiresAt.UTC()})
	if err != nil {
		return err
	}
	c.args.add(store.Nanos(now), string(w.Pipeline), sensorName(w.Pipeline, r.Key), string(r.Key), r.Period.String(), store.Place(r.Period), orderText(w.Order), more, data, store.Nanos(store.AgesFrom(now, r.Period)))
	c.size += len(data)
	return nil
}

// putTogether runs the script for several calls, which have all or none happened then.
func (s *Store) putTogether(calls []*putCall) {
	var a arguments
	a.add(orderText(0))
	n := 0
	for _, c := range calls {
		n += c.count
	}
	a.number(n)
	for _, c := range calls {
		a = append(a, c.args...)
	}
	var puts []store.Put
	answer, err := s.run(context.Background(), putScript, a) // the client has limits of its own
	if err == nil {
		puts, err = asPuts(answer)
	}
	if err == nil && len(puts) != n {
		err = unexpected(answer)
	}
	for _, c := range calls {
		if c.err = err; err == nil {
			c.puts, puts = puts[:c.count:c.count], puts[c.count:]
		}
		close(c.done)
	}
	s.raise("c")
}

func asPuts(answer any) ([]store.Put, error) {
	list, err := asList(answer)
	if err != nil {
		return nil, err
	}
	puts := make([]store.Put, len(list))
	for i, item := range list {
		said, err := asTexts(item)
		if err != nil {
			return nil, err
		}
		if puts[i].Version, err = strconv.ParseInt(said[0], 10, 64); err != nil {
			return nil, err
		}
		if puts[i].UpdatedAt, err = store.FromNanos(said[1]); err != nil {
			return nil, err
		}
		puts[i].Changed, puts[i].Ignored = said[2] == "1", said[3] == "1"
	}
	return puts, nil
}
