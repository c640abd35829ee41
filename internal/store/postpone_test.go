package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func TestEachChangeSetAsideIsOneTask(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	key, err := run.ParseKey("orders/cron/2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	changes := []store.Change{
		{Position: 4, Kind: store.ReadingWritten, Pipeline: "orders", Version: 7, Sensor: "rows"},
		{Position: 5, Kind: store.RunMoved, Pipeline: "orders", Version: 7, Run: key},
		{Position: 4, Kind: store.ReadingWritten, Pipeline: "orders", Version: 7, Sensor: "rows"}, // delivered twice
	}
	b := store.SetAside(changes, 1, errors.New("no"), now)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if len(b.Tasks) != 2 || b.Tasks[0].Change != changes[0] || b.Tasks[1].Change != changes[1] {
		t.Errorf("tasks %+v", b.Tasks)
	}
	for _, task := range b.Tasks {
		if task.Failures != 1 || !task.RetryAt.After(now) || task.Kind != store.HandleChange {
			t.Errorf("task %+v", task)
		}
	}
	if len(b.Events) > 0 {
		t.Errorf("emitted %+v at the first failure", b.Events)
	}
}

func TestFailingChangesAreReportedOncePerPipelineAndDay(t *testing.T) {
	now := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	announced := func(id int64, at time.Time) string {
		t.Helper()
		b := store.SetAside([]store.Change{{Kind: store.ReadingWritten, Pipeline: "orders", Version: id}}, 6, errors.New("no"), at)
		if len(b.Events) != 1 {
			t.Fatalf("events %+v", b.Events)
		}
		return b.Events[0].ID
	}
	if announced(1, now) != announced(2, now.Add(time.Hour)) {
		t.Error("two changes of a pipeline are two events")
	}
	if announced(1, now) == announced(2, now.AddDate(0, 0, 1)) {
		t.Error("changes of two days are one event")
	}
}
