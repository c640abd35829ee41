package awslambda

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

var legal = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func TestExecutionNamesAreValidAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"orders", "orders.eu", "orders_eu", strings.Repeat("long-", 25) + "a", strings.Repeat("long-", 25) + "b"} {
		for _, date := range []string{"2026-Q3", "2026-03", "2026-W03", "2026-03-03", "2026-03-03T10", "2026-03-03T10:15", "2026-11-01T01:15-05:00"} {
			p, err := period.Parse(date)
			if err != nil {
				t.Fatal(err)
			}
			for _, attempt := range []int{1, 2, 99} {
				for _, generation := range []int{1, 99} {
					name := executionName(run.Key{Pipeline: pipeline.ID(id), Schedule: pipeline.ByStream, Period: p}, attempt, generation)
					if len(name) > 80 || !legal.MatchString(name) || seen[name] {
						t.Errorf("%q has %d characters; seen before: %t", name, len(name), seen[name])
					}
					seen[name] = true
				}
			}
		}
	}
	for date, want := range map[string]string{"2026-03-03T10": "orders-cron-20260303T10-2-1-", "2026-Q3": "orders-cron-2026Q3-2-1-"} {
		p, err := period.Parse(date)
		if err != nil {
			t.Fatal(err)
		}
		if got := executionName(run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: p}, 2, 1); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}

func TestEntryNamesAreValidAndUnique(t *testing.T) {
	at := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for _, kind := range []store.TaskKind{store.ReopenPeriods, store.FireDeadline, store.AdvanceDry} {
		for _, id := range []string{"a", "b"} {
			for _, when := range []time.Time{at, at.Add(time.Minute), at.AddDate(1, 0, 0)} {
				name := entryName(store.Task{ID: id, Kind: kind}, when)
				if len(name) > 64 || !legal.MatchString(name) || seen[name] {
					t.Errorf("%q has %d characters; seen before: %t", name, len(name), seen[name])
				}
				seen[name] = true
			}
		}
	}
}

func TestEntryIsNeverBeforeItsTask(t *testing.T) {
	r := &Relay{Host: &Host{Parts: Parts{Settings: Settings{StreamRouter: "router", SLAMonitor: "monitor"}}}}
	due := time.Date(2026, 3, 3, 6, 0, 30, 1, time.UTC)
	e, err := r.entry(store.Task{ID: "fire/orders", Kind: store.Fire}, due)
	if err != nil || e.at.Before(due) || e.at.Second() != 0 || e.function != "router" || e.input != `{"task":"fire/orders"}` {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = r.entry(store.Task{ID: "deadline/x", Kind: store.FireDeadline}, due.Truncate(time.Minute))
	if err != nil || !e.at.Equal(due.Truncate(time.Minute)) || e.function != "monitor" || e.input != `{"mode":"fire-alert","task":"deadline/x"}` {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestRecentForgetsTheOldest(t *testing.T) {
	var r recent
	for i := range maxRecent + 1 {
		r.add(string(rune('a'+i%26)) + strings.Repeat("x", i))
	}
	if r.has("a") || !r.has("b"+"x") {
		t.Error("the oldest is remembered, or another is not")
	}
}
