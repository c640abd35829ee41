package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

// PutReadings writes the JSON here; the script only compares and appends.
func (s *Store) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if err := store.CheckWrites(writes, store.MaxWrites); err != nil {
		return nil, err
	}
	var a arguments
	a.add(store.Nanos(now), orderText(0))
	a.number(len(writes))
	for _, w := range writes {
		r := w.Reading
		data, err := store.EncodeFields(r.Fields)
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", r.Key, w.Pipeline, err)
		}
		more, err := encode(extra{Source: r.Source, ExpiresAt: r.ExpiresAt.UTC()})
		if err != nil {
			return nil, fmt.Errorf("put reading %s of %s: %w", r.Key, w.Pipeline, err)
		}
		a.add(string(w.Pipeline), sensorName(w.Pipeline, r.Key), string(r.Key), r.Period.String(), store.Place(r.Period), orderText(w.Order), more, data)
	}
	answer, err := s.run(ctx, putScript, a)
	if err != nil {
		return nil, fmt.Errorf("put readings: %w", err)
	}
	puts, err := asPuts(answer)
	if err != nil {
		return nil, fmt.Errorf("put readings: %w", err)
	}
	s.raise("c")
	return puts, nil
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
