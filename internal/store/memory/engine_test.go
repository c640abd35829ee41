package memory

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-go/interlock/internal/store/row"
	"github.com/interlock-go/interlock/internal/store/rowtest"
)

func TestEngine(t *testing.T) {
	open := func(*testing.T) row.Engine { return NewEngine() }
	reopen := func(t *testing.T, e row.Engine) row.Engine {
		next := e.(*engine).open()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return next
	}
	rowtest.Run(t, open, rowtest.Options{Reopen: reopen})
}

func TestWaitingEngineIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEngine()
		ended := make(chan error)
		go func() {
			_, err := e.Receive(t.Context(), "router", "one", 10)
			ended <- err
		}()
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, row.ErrClosed) {
			t.Errorf("receive ended with %v when the engine was closed", err)
		}
	})
}

func TestLostEventsMayBeEmittedAgain(t *testing.T) {
	e := NewEngine().(*engine)
	emit := func(ids ...string) {
		tx := row.Tx{}
		for _, id := range ids {
			tx.Events = append(tx.Events, row.Event{ID: id, Body: []byte(id)})
		}
		if err := e.Apply(t.Context(), tx, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	emit("one", "two", "three")
	lost := e.loseEvents(2)
	if len(lost) != 2 || string(lost[0].Body) != "two" || string(lost[1].Body) != "three" {
		t.Errorf("lost %+v", lost)
	}
	emit("one", "two")
	pages, err := e.Scan(t.Context(), []row.Range{{Kind: row.Events, List: "events", Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	rows := pages[0].Rows
	if len(rows) != 2 || string(rows[1].Body) != "two" || rows[1].Key <= lost[1].Key {
		t.Errorf("events are %+v", rows)
	}
}
