package record_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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
