package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func key(t *testing.T, date string) run.Key {
	t.Helper()
	p, err := period.Parse(date)
	if err != nil {
		t.Fatal(err)
	}
	return run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: p}
}

func at(t *testing.T, date string, version int64) run.Run {
	t.Helper()
	return run.Run{Key: key(t, date), Version: version}
}

func TestInvalidBatchIsRejected(t *testing.T) {
	first := key(t, "2026-03-03")
	told := event.New(event.ConfigRemoved, event.About{Pipeline: "orders"}, "gone", event.Config{})
	fills := map[string]func(b *store.Batch){
		"no id":                      func(b *store.Batch) { b.ID = "" },
		"one run twice":              func(b *store.Batch) { b.Create(at(t, "2026-03-03", 1)); b.Create(at(t, "2026-03-03", 1)) },
		"a created run at version 0": func(b *store.Batch) { b.Create(at(t, "2026-03-03", 0)) },
		"a swap that stays":          func(b *store.Batch) { b.Swap(at(t, "2026-03-03", 3), at(t, "2026-03-03", 3)) },
		"a swap that goes back":      func(b *store.Batch) { b.Swap(at(t, "2026-03-03", 3), at(t, "2026-03-03", 2)) },
		"a version below 0":          func(b *store.Batch) { b.Runs = []store.Swap[run.Run]{{Read: -1, Next: at(t, "2026-03-03", 1)}} },
		"a pipeline without an id":   func(b *store.Batch) { b.SwapPipeline(store.Pipeline{}, store.Pipeline{}) },
		"a pipeline expected and swapped": func(b *store.Batch) {
			b.SwapPipeline(store.Pipeline{}, store.Pipeline{ID: "orders"})
			b.ExpectPipeline("orders", store.Pipeline{})
		},
		"one deadline twice": func(b *store.Batch) {
			b.SwapDeadline(store.Deadline{}, store.Deadline{Key: first, Kind: store.Absolute})
			b.SwapDeadline(store.Deadline{}, store.Deadline{Key: first, Kind: store.Absolute})
		},
		"one post-run twice": func(b *store.Batch) {
			b.SwapPostRun(store.PostRun{}, store.PostRun{Key: first})
			b.SwapPostRun(store.PostRun{}, store.PostRun{Key: first})
		},
		"one config twice":         func(b *store.Batch) { b.Configs = make([]store.Config, 2) },
		"a config without version": func(b *store.Batch) { b.Configs = []store.Config{{Pipeline: "orders"}} },
		"one log entry twice":      func(b *store.Batch) { e := store.JobEntry{Key: first, Event: store.JobFail}; b.Append(e); b.Append(e) },
		"a snapshot without an id": func(b *store.Batch) { b.Snapshots = []store.Snapshot{{}} },
		"a rerun without an id":    func(b *store.Batch) { b.Reruns = []store.Rerun{{Key: first}} },
		"one mark twice":           func(b *store.Batch) { b.SetMark("m", time.Time{}); b.SetMark("m", time.Time{}) },
		"a task stored and done":   func(b *store.Batch) { b.Schedule(store.Task{ID: "a"}); b.Finish("a") },
		"a task without an id":     func(b *store.Batch) { b.Finish("") },
		"an event without an id":   func(b *store.Batch) { b.Emit(event.Event{}) },
		"a letter dead and buried": func(b *store.Batch) {
			b.Dead = []store.DeadLetter{{Sink: "hook", Event: told}}
			b.Buried = []store.DeadLetter{{Sink: "hook", Event: told}}
		},
	}
	for name, fill := range fills {
		b := store.Batch{ID: "x"}
		fill(&b)
		if err := b.Check(); err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSimilarNamesAreDistinct(t *testing.T) {
	b := store.Batch{ID: "x", Configs: []store.Config{{Pipeline: "a", Version: "b c"}, {Pipeline: "a b", Version: "c"}}}
	b.SwapDeadline(store.Deadline{}, store.Deadline{Key: key(t, "2026-03-03"), Kind: store.Absolute})
	b.SwapDeadline(store.Deadline{}, store.Deadline{Key: key(t, "2026-03-03"), Kind: store.Relative})
	b.Create(at(t, "2026-03-03", 1))
	dry := at(t, "2026-03-03", 1)
	dry.DryRun = true
	b.Swap(run.Run{}, dry)
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

func TestRowsCountWhatATransactionTouches(t *testing.T) {
	told := event.New(event.ConfigRemoved, event.About{Pipeline: "orders"}, "gone", event.Config{})
	lease := &store.Lease{Task: "a", Token: 1}
	for name, c := range map[string]struct {
		fill func(b *store.Batch)
		want int
	}{
		"that it was taken":           {func(*store.Batch) {}, 1},
		"events share that row":       {func(b *store.Batch) { b.Emit(told, told, told) }, 1},
		"each record":                 {func(b *store.Batch) { b.Create(at(t, "2026-03-03", 1)); b.SetMark("m", time.Time{}) }, 3},
		"each task":                   {func(b *store.Batch) { b.Schedule(store.Task{ID: "b"}); b.Finish("c") }, 3},
		"the leased task":             {func(b *store.Batch) { b.Lease = lease }, 2},
		"the leased task once":        {func(b *store.Batch) { b.Lease = lease; b.Finish("a") }, 2},
		"the leased task once, moved": {func(b *store.Batch) { b.Lease = lease; b.Schedule(store.Task{ID: "a"}) }, 2},
	} {
		b := store.Batch{ID: "x"}
		c.fill(&b)
		if got := b.Rows(); got != c.want {
			t.Errorf("%s: %d rows, want %d", name, got, c.want)
		}
	}
}

func TestElevenRowsAreTooLarge(t *testing.T) {
	b := store.Batch{ID: "x"}
	for i := range store.MaxRows - 1 {
		b.SetMark(fmt.Sprint(i), time.Time{})
	}
	if err := b.Check(); err != nil {
		t.Errorf("ten rows: %v", err)
	}
	b.SetMark("one more", time.Time{})
	if err := b.Check(); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("eleven rows: error %v", err)
	}
}

func TestEmptyBatchChangesNothing(t *testing.T) {
	b := store.Batch{ID: "x", Lease: &store.Lease{Task: "a"}}
	if !b.Empty() {
		t.Error("a batch with only a lease is not empty")
	}
	b.Emit(event.Event{ID: "e"})
	if b.Empty() {
		t.Error("a batch with an event is empty")
	}
}

func TestIdentityDistinguishesLeases(t *testing.T) {
	seen := map[string]bool{}
	for _, lease := range []*store.Lease{nil, {Task: "a", Token: 1}, {Task: "a", Token: 2}} {
		b := store.Batch{ID: "advance/v1", Lease: lease}
		if seen[b.Identity()] {
			t.Errorf("%+v has the identity of another: %s", lease, b.Identity())
		}
		seen[b.Identity()] = true
	}
}

func TestInvalidWritesAreRejected(t *testing.T) {
	good := store.Write{Pipeline: "orders"}
	good.Reading.Key = "rows"
	if err := store.CheckWrites([]store.Write{good, good}, 2); err != nil {
		t.Error(err)
	}
	if err := store.CheckWrites([]store.Write{good, good}, 1); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("two writes with a limit of one: error %v", err)
	}
	for _, bad := range []store.Write{{Pipeline: "orders"}, {Reading: good.Reading}} {
		if err := store.CheckWrites([]store.Write{good, bad}, 2); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
