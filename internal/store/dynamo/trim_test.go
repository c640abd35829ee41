package dynamo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

var keepADay = store.Retention{History: 24 * time.Hour, JobLog: 24 * time.Hour}

func forgets(t *testing.T, s *dynamo.Store, now time.Time) (all int) {
	t.Helper()
	for {
		n, err := s.Trim(t.Context(), keepADay, now)
		check(t, err)
		if all += n; n == 0 {
			return all
		}
	}
}

// A run keeps its last snapshot for ever, a key its last reading: there are more and more of them.
func TestTrimCostsWhatItForgets(t *testing.T) {
	s := deployed(t, 1)[0]
	last := map[int]run.Run{}
	started := func(i int, at time.Time) {
		t.Helper()
		r := opened(t)
		var err error
		r.Period, err = period.Parse(noon.AddDate(0, 0, -i).Format(time.DateOnly))
		check(t, err)
		r.Version, r.Attempt, r.Status = last[i].Version+1, last[i].Attempt+1, run.Completed
		b := store.Batch{ID: fmt.Sprint(i, "/", r.Attempt)}
		r.Progress.Snapshot = run.SnapshotID(b.ID)
		b.Swap(last[i], r)
		b.Snapshots = []store.Snapshot{{ID: r.Progress.Snapshot, Key: r.Key, At: at}}
		check(t, s.Commit(t.Context(), b, at))
		last[i] = r
	}
	const many = 60
	for i := range many {
		started(i, noon)
		for n := range int64(2) {
			_, err := s.PutReadings(t.Context(), []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: sensor.Key(fmt.Sprint("rows-", i)), Fields: sensor.Fields{"count": n}}}}, noon)
			check(t, err)
		}
	}
	now := noon.AddDate(0, 1, 0)
	if n := forgets(t, s, now); n != many {
		t.Fatalf("forgot %d rows, want the first write of each key", n)
	}
	started(7, now)
	for _, c := range []struct {
		what string
		want int
	}{{"the snapshot that a run no longer refers to", 1}, {"nothing", 0}} {
		rows := s.CountRows()
		n, err := s.Trim(t.Context(), keepADay, now.Add(time.Hour))
		check(t, err)
		if n != c.want || rows.Load() > 10 {
			t.Errorf("forgot %d and read %d rows, want %s", n, rows.Load(), c.what)
		}
	}
	if _, err := s.Snapshot(t.Context(), "7/1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the snapshot that the run no longer refers to: %v", err)
	}
	for _, id := range []run.SnapshotID{"7/2", "8/1"} {
		if _, err := s.Snapshot(t.Context(), id); err != nil {
			t.Errorf("the snapshot of a run is gone: %v", err)
		}
	}
}

// A backfill may open a period while Trim drops its readings.
func TestReadingsOfARunThatIsOpenedMeanwhileStay(t *testing.T) {
	stores := deployed(t, 2)
	s, other := stores[0], stores[1]
	r := opened(t)
	var err error
	r.Period, err = period.Parse("2026-01-05")
	check(t, err)
	for _, name := range []string{"2026-01-05", "2026-01-06", ""} {
		w := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": int64(1)}}}
		check(t, w.Reading.Period.UnmarshalText([]byte(name)))
		_, err := s.PutReadings(t.Context(), []store.Write{w}, noon.AddDate(0, -1, 0))
		check(t, err)
	}
	s.BeforeDrop(func() {
		b := store.Batch{ID: "backfill"}
		b.Create(r)
		check(t, other.Commit(t.Context(), b, noon))
	})
	if n := forgets(t, s, noon); n != 1 {
		t.Errorf("forgot %d writes, want the one of the other day", n)
	}
	answers, err := s.Readings(t.Context(), []store.ReadingQuery{{Pipeline: "orders", Key: "rows", Period: r.Period}})
	check(t, err)
	page, err := s.History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "rows"})
	check(t, err)
	if len(answers[0]) != 2 || len(page.Items) != 2 {
		t.Errorf("%d readings and %d writes are left, want that of the day and the undated one", len(answers[0]), len(page.Items))
	}
}
