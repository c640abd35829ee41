package record_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// slow is an engine whose large transactions block until released.
type slow struct {
	row.Engine
	began, goOn chan struct{}
}

func (s slow) Apply(ctx context.Context, tx row.Tx, now time.Time) error {
	if len(tx.Ops) > 100 {
		s.began <- struct{}{}
		<-s.goOn
	}
	return s.Engine.Apply(ctx, tx, now)
}

func TestSmallWriteDoesNotWaitForALargeOne(t *testing.T) {
	e := slow{memory.NewEngine(), make(chan struct{}), make(chan struct{})}
	s := record.New(e, record.Options{})
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	write := func(key string) store.Write {
		return store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: sensor.Key(key), Fields: sensor.Fields{"n": int64(1)}}}
	}
	var many []store.Write
	for i := range 500 {
		many = append(many, write(fmt.Sprint("key-", i)))
	}
	stored := make(chan error)
	go func() {
		_, err := s.PutReadings(context.Background(), many, now)
		stored <- err
	}()
	<-e.began
	small, err := s.PutReadings(t.Context(), []store.Write{write("key-7")}, now)
	if err != nil {
		t.Fatal(err)
	}
	e.goOn <- struct{}{}
	<-e.began // it has detected that a row has changed
	e.goOn <- struct{}{}
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	page, err := s.History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "key-7"})
	if err != nil {
		t.Fatal(err)
	}
	if got := page.Items; len(got) != 2 || got[1].Version != small[0].Version {
		t.Errorf("the history is %v, and the small write version %d", got, small[0].Version)
	}
}

// counting is an engine that counts reads of rows.
type counting struct {
	row.Engine
	gets *int
}

func (c counting) Get(ctx context.Context, refs []row.Ref) ([]row.Row, error) {
	*c.gets++
	return c.Engine.Get(ctx, refs)
}

// landed is a write of one sensor.
func landed(n int64) store.Write {
	return store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "landed", Fields: sensor.Fields{"n": n}}}
}

func TestNextWriteOfASensorReadsNoRow(t *testing.T) {
	gets := 0
	s := record.New(counting{memory.NewEngine(), &gets}, record.Options{Alone: true})
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	for i, want := range []struct {
		n       int64
		changed bool
	}{{1, true}, {1, false}, {2, true}} {
		put, err := s.PutReadings(t.Context(), []store.Write{landed(want.n)}, now)
		if err != nil {
			t.Fatal(err)
		}
		if put[0].Changed != want.changed {
			t.Errorf("write %d: changed is %t", i, put[0].Changed)
		}
	}
	if gets != 1 {
		t.Errorf("three writes read rows %d times, want once", gets)
	}
}

func TestHowAWriteNamesItsPeriodChangesNothing(t *testing.T) {
	s := record.New(memory.NewEngine(), record.Options{})
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	day := period.At(now, period.Day, time.UTC)
	for i, want := range []struct {
		reading sensor.Reading
		changed bool
	}{
		{sensor.Reading{Fields: sensor.Fields{"n": int64(1), "date": "2026-03-03"}}, true},
		{sensor.Reading{Fields: sensor.Fields{"n": int64(1), "date": "20260303"}}, false},
		{sensor.Reading{Fields: sensor.Fields{"n": int64(1)}}, false},
		{sensor.Reading{Fields: sensor.Fields{"n": int64(2)}}, true},
		{sensor.Reading{Fields: sensor.Fields{"date": "2026-03-03"}}, true},
		{sensor.Reading{Deleted: true}, true},
		{sensor.Reading{Fields: sensor.Fields{"date": "2026-03-03"}}, true},
	} {
		r := want.reading
		r.Key, r.Period = "landed", day
		put, err := s.PutReadings(t.Context(), []store.Write{{Pipeline: "orders", Reading: r}}, now)
		if err != nil {
			t.Fatal(err)
		}
		if put[0].Changed != want.changed {
			t.Errorf("write %d: changed is %t", i, put[0].Changed)
		}
	}
}

// What a process knows of a reading may be outdated: its row was replaced or deleted meanwhile.
func TestOutdatedReadingIsReadAgain(t *testing.T) {
	e := memory.NewEngine()
	here, there := record.New(e, record.Options{Alone: true}), record.New(e, record.Options{})
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	put := func(s *record.Store, n int64, changed bool) {
		t.Helper()
		now = now.Add(time.Second)
		got, err := s.PutReadings(t.Context(), []store.Write{landed(n)}, now)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Changed != changed {
			t.Errorf("n=%d: changed is %t", n, got[0].Changed)
		}
	}
	put(here, 1, true)
	put(there, 2, true)
	put(here, 2, false)
	if err := e.Apply(t.Context(), row.Tx{Ops: []row.Op{
		{Do: row.Delete, If: row.Any, Row: row.Row{Ref: row.Ref{Kind: record.Readings, Part: "orders", Key: "landed#" + store.Place(period.Period{})}}},
	}}, now); err != nil {
		t.Fatal(err)
	}
	put(here, 2, true)
	page, err := here.History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "landed"})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 4 {
		t.Errorf("the history has %d writes, want 4", len(page.Items))
	}
}
