package awslambda_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/memory"
)

const month = 30 * 24 * time.Hour

// round calls the watchdog function at an instant and returns how many rows it deleted.
func round(ctx context.Context, t *testing.T, data store.Store, streams awslambda.Streams, now time.Time) int {
	t.Helper()
	w := awslambda.NewWatch(&awslambda.Router{Streams: streams, Bus: idle{}, Relay: &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: awslambda.Settings{TimeLimit: 4 * time.Hour, Watch: 5 * time.Minute}, Store: data, Catalog: catalog.New(data, all.Kinds()),
			Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
		}),
		Executions: idle{}, Entries: idle{}, Invoker: idle{},
	}})
	got, err := w.Round(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return got.Forgotten
}

// writeHourly writes a sensor three times, an hour apart.
func writeHourly(t *testing.T, data store.Store) {
	t.Helper()
	for n := range 3 {
		write := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "landed", Fields: sensor.Fields{"rows": int64(n)}}}
		if _, err := data.PutReadings(t.Context(), []store.Write{write}, dawn.Add(time.Duration(n)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatchdogDeletesOldHistory(t *testing.T) {
	environment, c := dynamotest.Streaming(t)
	data := dynamo.New(c, environment, dynamo.Options{})
	writeHourly(t, data)
	for _, step := range []struct {
		now  time.Time
		want int
	}{
		{dawn.Add(month), 0},
		{dawn.Add(month + time.Minute), 1},
		{dawn.Add(3 * month), 1}, // the latest reading of a sensor stays
		{dawn.Add(4 * month), 0},
	} {
		if got := round(t.Context(), t, data, awslambda.Tables{Store: data}, step.now); got != step.want {
			t.Errorf("deleted %d on %s, want %d", got, step.now.Format(time.DateTime), step.want)
		}
	}
	page, err := data.History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "landed"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Fields["rows"] != int64(2) {
		t.Errorf("kept %+v, %v", page.Items, err)
	}
}

// ending is a context whose deadline is an instant of the test's clock.
type ending struct {
	context.Context
	at time.Time
}

func (e ending) Deadline() (time.Time, bool) { return e.at, true }

func TestWatchdogWithoutTimeLeftDeletesNothing(t *testing.T) {
	data := memory.New()
	writeHourly(t, data)
	now := dawn.Add(3 * month)
	for _, step := range []struct {
		left time.Duration
		want int
	}{{10 * time.Second, 0}, {time.Minute, 2}} {
		if got := round(ending{t.Context(), now.Add(step.left)}, t, data, scripted{}, now); got != step.want {
			t.Errorf("deleted %d with %s left, want %d", got, step.left, step.want)
		}
	}
}
