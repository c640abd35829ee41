package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// narrow accepts three writes at once, none of pipeline "broken", and counts its calls.
type narrow struct {
	stored []pipeline.ID
	calls  int
}

var errBroken = errors.New("it is broken")

func (s *narrow) PutReadings(_ context.Context, writes []store.Write, _ time.Time) ([]store.Put, error) {
	s.calls++
	if len(writes) > 3 {
		return nil, fmt.Errorf("put readings: %w", store.ErrTooLarge)
	}
	puts := make([]store.Put, len(writes))
	for i, w := range writes {
		if w.Pipeline == "broken" {
			return nil, errBroken
		}
		puts[i].Version = int64(len(s.stored) + i + 1)
	}
	for _, w := range writes {
		s.stored = append(s.stored, w.Pipeline)
	}
	return puts, nil
}

func TestMoreWritesThanAStoreAcceptsAreStoredInSeveralCalls(t *testing.T) {
	ids := []pipeline.ID{"a", "b", "c", "d", "e", "f", "g"}
	for name, c := range map[string]struct {
		broken, stored int // which write is rejected, if not 0, and how many are stored
		calls          int
		err            error
	}{
		"all":              {stored: 7, calls: 5},
		"up to a rejected": {broken: 6, stored: 5, calls: 5, err: errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			writes := make([]store.Write, len(ids))
			for i, id := range ids {
				writes[i].Pipeline = id
			}
			if c.broken > 0 {
				writes[c.broken-1].Pipeline = "broken"
			}
			s := &narrow{}
			puts, err := store.PutAll(t.Context(), s, writes, time.Time{})
			if !errors.Is(err, c.err) || s.calls != c.calls || fmt.Sprint(s.stored) != fmt.Sprint(ids[:c.stored]) {
				t.Errorf("%d calls stored %v, %v; want %d calls, %v, %v", s.calls, s.stored, err, c.calls, ids[:c.stored], c.err)
			}
			for i, put := range puts {
				if put.Version != int64(i+1) {
					t.Errorf("the result of write %d is that of write %d", i+1, put.Version)
				}
			}
			if len(puts) != c.stored {
				t.Errorf("%d results, want %d", len(puts), c.stored)
			}
		})
	}
}
