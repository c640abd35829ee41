package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
	"github.com/interlock-go/interlock/internal/store/record"
)

var noon = time.Date(2026, 3, 3, 12, 0, 0, 123456789, time.UTC)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOverviewNamesTheWritesSinceAnInstant(t *testing.T) {
	s := record.New(memory.NewEngine(), record.Options{})
	want := map[store.WriteID]time.Time{}
	for i, at := range []time.Time{noon.Add(-time.Nanosecond), noon, noon.Add(time.Hour)} {
		for _, id := range []pipeline.ID{"orders", "copper"} {
			write := store.Write{Pipeline: id, Reading: sensor.Reading{Key: "run/landed", Fields: sensor.Fields{"n": i}}}
			put, err := s.PutReadings(t.Context(), []store.Write{write}, at)
			check(t, err)
			if !at.Before(noon) {
				want[store.WriteID{Pipeline: id, Key: "run/landed", Version: put[0].Version}] = at
			}
		}
	}
	got, whole, err := s.Written(t.Context(), noon, len(want))
	check(t, err)
	if diff := cmp.Diff(want, got); diff != "" || !whole {
		t.Errorf("whole: %t (-want +got):\n%s", whole, diff)
	}
	if _, whole, err = s.Written(t.Context(), noon, len(want)-1); whole || err != nil {
		t.Errorf("an overview that exceeds its limit counts as complete: %v", err)
	}
	for id := range got {
		found, err := s.Writes(t.Context(), []store.WriteID{id})
		if check(t, err); found[id] == nil {
			t.Errorf("there is no write %v", id)
		}
	}
}

func TestOverviewNamesTheRunsThatCompletedSinceAnInstant(t *testing.T) {
	s := record.New(memory.NewEngine(), record.Options{})
	entry := func(key string, attempt int, e store.JobEvent, at time.Time) run.Key {
		k, err := run.ParseKey(key)
		check(t, err)
		b := store.Batch{ID: fmt.Sprint(key, attempt, e)}
		b.Append(store.JobEntry{Key: k, Attempt: attempt, At: at, Event: e, Try: 1})
		check(t, s.Commit(t.Context(), b, at))
		return k
	}
	entry("orders/cron/2026-03-01", 1, store.JobSuccess, noon.Add(-time.Nanosecond))
	entry("orders/cron/2026-03-02", 1, store.JobStarted, noon)
	entry("orders/cron/2026-03-02", 1, store.JobFail, noon)
	entry("orders/cron/2026-03-03", 2, store.JobSuccess, noon)
	daily := entry("orders/cron/2026-03-03", 10, store.JobSuccess, noon.Add(time.Hour))
	hourly := entry("copper/stream/2026-03-03T05", 1, store.JobSuccess, noon.Add(time.Minute))
	got, whole, err := s.Completed(t.Context(), noon, 5)
	check(t, err)
	if diff := cmp.Diff(map[run.Key]int{daily: 10, hourly: 1}, got); diff != "" || !whole {
		t.Errorf("whole: %t (-want +got):\n%s", whole, diff)
	}
	if _, whole, err = s.Completed(t.Context(), noon, 4); whole || err != nil {
		t.Errorf("an overview that exceeds its limit counts as complete: %v", err)
	}
}
