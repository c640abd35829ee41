package sqlite

import (
	"testing"

	"github.com/interlock-go/interlock/internal/store"
)

// However many keys are written, only so many readings are in memory.
func TestMemoryIsBounded(t *testing.T) {
	const rows = 50
	s := opened(t, empty(t), Options{foldAfter: rows})
	const call = 20
	for n := int64(0); n < 2000; n += call {
		var writes []store.Write
		for i := range int64(call) {
			writes = append(writes, write(sensorKey(n+i), n+i))
		}
		note(t, s, writes...)
		held := 0
		s.overlay.mu.RLock()
		for _, g := range s.overlay.generations() {
			if g != nil {
				held += g.rows
			}
		}
		s.overlay.mu.RUnlock()
		if held > 3*(rows+call) {
			t.Fatalf("%d readings are in memory", held)
		}
	}
	for n := int64(0); n < 2000; n += 37 {
		if got := count(t, s, sensorKey(n)); got != n {
			t.Fatalf("sensor %d shows %d", n, got)
		}
	}
}

// What is hot is folded once for many writes.
func TestOnlyTheLastOfManyWritesIsFolded(t *testing.T) {
	s := opened(t, empty(t), Options{foldAfter: 10})
	for n := range int64(100) {
		note(t, s, write("rows", n), write("sum", n))
	}
	stored, err := storedReadings(t, s)
	check(t, err)
	if stored != 2 {
		t.Errorf("%d readings are in the table", stored)
	}
	if got := allHistory(t, s, store.HistoryQuery{Pipeline: "orders", Key: "rows"}); len(got) != 100 {
		t.Errorf("history has %d writes", len(got))
	}
}

func storedReadings(t *testing.T, s *Store) (n int64, err error) {
	err = s.read(t.Context(), func(c *conn) error {
		n, err = c.number("SELECT count(*) FROM readings")
		return err
	})
	return n, err
}
