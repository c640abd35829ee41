package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

func trimmed(t *testing.T, s *Store, keep store.Retention, now time.Time) {
	t.Helper()
	for n := -1; n != 0; {
		var err error
		n, err = s.Trim(t.Context(), keep, now)
		check(t, err)
	}
}

// Which snapshots may go is noted when a run moves on to another, not looked for in all of them.
func TestSnapshotGoesOnceItsRunRefersToAnother(t *testing.T) {
	s := opened(t, empty(t), Options{})
	var r run.Run
	start := func(id run.SnapshotID) {
		next := run.Run{Key: orders, Version: r.Version + 1, Status: run.Completed, Attempt: 1}
		next.Progress.Snapshot = id
		b := store.Batch{ID: fmt.Sprint(next.Version)}
		b.Swap(r, next)
		b.Snapshots = append(b.Snapshots, store.Snapshot{ID: id, Key: orders, At: noon})
		check(t, s.Commit(t.Context(), b, noon))
		r = next
	}
	start("s1")
	start("s2")
	start("s1") // back again
	start("s3")
	trimmed(t, s, store.Retention{JobLog: time.Hour}, noon.Add(2*time.Hour))
	for id, there := range map[run.SnapshotID]bool{"s1": false, "s2": false, "s3": true} {
		if _, err := s.Snapshot(t.Context(), id); errors.Is(err, store.ErrNotFound) == there {
			t.Errorf("snapshot %s: %v", id, err)
		}
	}
	start("s1") // forgotten, and stored anew
	trimmed(t, s, store.Retention{JobLog: time.Hour}, noon.Add(2*time.Hour))
	if _, err := s.Snapshot(t.Context(), "s1"); err != nil {
		t.Error(err)
	}
}

func TestSnapshotStaysThatARunComesToReferTo(t *testing.T) {
	s := opened(t, empty(t), Options{})
	var r run.Run
	for _, id := range []run.SnapshotID{"s1", "s2"} {
		alone := store.Batch{ID: "alone/" + string(id), Snapshots: []store.Snapshot{{ID: id, Key: orders, At: noon}}}
		check(t, s.Commit(t.Context(), alone, noon))
		next := run.Run{Key: orders, Version: r.Version + 1, Status: run.Completed, Attempt: 1}
		next.Progress.Snapshot = id
		b := store.Batch{ID: "refer/" + string(id)}
		b.Swap(r, next)
		check(t, s.Commit(t.Context(), b, noon))
		r = next
		trimmed(t, s, store.Retention{JobLog: time.Hour}, noon.Add(2*time.Hour))
		if _, err := s.Snapshot(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Snapshot(t.Context(), "s1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the one that it referred to before: %v", err)
	}
}

func TestBatchesTakenWhileTheClockWasAheadAreForgotten(t *testing.T) {
	s := opened(t, empty(t), Options{})
	taken := func(name string, n int, at time.Time) {
		for i := range n {
			check(t, s.Commit(t.Context(), store.Batch{ID: fmt.Sprint(name, i)}, at))
		}
	}
	taken("ahead", 600, noon.AddDate(1, 0, 0))
	taken("right", 5, noon)
	taken("young", 3, noon.Add(2*time.Hour))
	trimmed(t, s, store.Retention{}, noon.Add(2*time.Hour))
	var left int64
	check(t, s.read(t.Context(), func(c *conn) (err error) {
		left, err = c.number("SELECT count(*) FROM commits")
		return err
	}))
	if left != 3 {
		t.Errorf("%d batches are remembered, want the three of the last hour", left)
	}
}

// Events are looked for by time among positions that are not in the order of time.
func TestClockThatWasSetBackHidesNoEvent(t *testing.T) {
	s := opened(t, empty(t), Options{})
	minutes := []int{0, 10, 50, 20, 30, 5, 40, 60, 15, 70}
	for i, m := range minutes {
		e := event.New(event.TriggerStarted, event.About{Pipeline: "orders", Schedule: "cron", Date: orders.Period, Which: fmt.Sprint(i), At: noon.Add(time.Duration(m) * time.Minute)}, fmt.Sprint(m), nil)
		b := store.Batch{ID: fmt.Sprint(i)}
		b.Emit(e)
		check(t, s.Commit(t.Context(), b, noon))
	}
	for since := range 75 {
		var want []string
		for _, m := range minutes {
			if m >= since {
				want = append(want, fmt.Sprint(m))
			}
		}
		page, err := s.Events(t.Context(), store.EventQuery{Since: noon.Add(time.Duration(since) * time.Minute), Ascending: true})
		check(t, err)
		var got []string
		for _, e := range page.Items {
			got = append(got, e.Detail.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("since minute %d: want -, got +\n%s", since, diff)
		}
	}
}
