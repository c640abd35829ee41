package redis

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

var manyCalls = regexp.MustCompile(`^calls=(\d+)`)

// calls is how often Redis has carried out a command since it was asked to count, by scripts or not.
func calls(t *testing.T, s *Store, command string) int {
	t.Helper()
	text, err := s.client.Info(t.Context(), "commandstats").Result()
	check(t, err)
	found := manyCalls.FindStringSubmatch(parseInfo(text)["cmdstat_"+command])
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	check(t, err)
	return n
}

// forgets makes calls of Trim until nothing is left to forget.
func forgets(t *testing.T, s *Store, keep store.Retention, now time.Time) (n int) {
	t.Helper()
	for {
		some, err := s.Trim(t.Context(), keep, now)
		check(t, err)
		if some == 0 {
			return n
		}
		n += some
	}
}

// commands is how many commands Redis has carried out since it was asked to count, by scripts or not.
func commands(t *testing.T, s *Store) (n int) {
	t.Helper()
	text, err := s.client.Info(t.Context(), "commandstats").Result()
	check(t, err)
	for name := range parseInfo(text) {
		n += calls(t, s, strings.TrimPrefix(name, "cmdstat_"))
	}
	return n
}

// A run keeps its last snapshot for ever, a key its last reading: there are more and more of them.
func TestTrimCostsWhatItForgets(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	started := func(i, attempt int, at time.Time) {
		t.Helper()
		day, err := period.Parse(noon.AddDate(0, 0, i).Format(time.DateOnly))
		check(t, err)
		key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
		b := store.Batch{ID: fmt.Sprint(i, "/", attempt)}
		read := run.Run{Key: key, Version: int64(attempt - 1)}
		b.Swap(read, run.Run{Key: key, Version: int64(attempt), Attempt: attempt, Status: run.Completed, Progress: run.Progress{Snapshot: run.SnapshotID(b.ID)}})
		b.Snapshots = []store.Snapshot{{ID: run.SnapshotID(b.ID), Key: key, At: at}}
		check(t, s.Commit(t.Context(), b, at))
	}
	const many = 300
	for i := range many {
		started(i, 1, noon)
		key := sensor.Key(fmt.Sprint("rows-", i))
		for n := range int64(2) {
			_, err := s.PutReadings(t.Context(), []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: key, Fields: sensor.Fields{"count": n}}}}, noon)
			check(t, err)
		}
		e := event.New(event.ConfigAccepted, event.About{Pipeline: "orders", Which: string(key), At: noon.AddDate(3, 0, 0)}, "young", event.Config{})
		b := store.Batch{ID: string(key)}
		b.Emit(e)
		check(t, s.Commit(t.Context(), b, noon))
	}
	keep := store.Retention{JobLog: time.Hour, History: time.Hour, Events: time.Hour}
	if n := forgets(t, s, keep, noon.AddDate(2, 0, 0)); n != many {
		t.Fatalf("forgot %d rows, want the first write of each key", n)
	}
	started(7, 2, noon.AddDate(2, 0, 0))
	put(t, s, 1)
	for _, c := range []struct {
		what string
		want int
	}{{"the snapshot that a run no longer refers to", 1}, {"nothing", 0}} {
		check(t, s.client.ConfigResetStat(t.Context()).Err())
		n, err := s.Trim(t.Context(), keep, noon.AddDate(2, 0, 1))
		check(t, err)
		if ran := commands(t, s); n != c.want || ran > 50 {
			t.Errorf("forgot %d rows by %d commands, want %s", n, ran, c.what)
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

// Redis does nothing else while a script goes on.
func TestWhatStaysIsPassedOverInSmallSteps(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	const many = 2*looks + 100
	day, err := period.Parse("2026-03-03")
	check(t, err)
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
	b := store.Batch{ID: "open"}
	b.Create(run.Run{Key: key, Version: 1, Status: run.Running})
	check(t, s.Commit(t.Context(), b, noon))
	for i := range many {
		b := store.Batch{ID: fmt.Sprint(i)}
		b.Append(store.JobEntry{Key: key, Attempt: i, Event: store.JobStarted, At: noon})
		check(t, s.Commit(t.Context(), b, noon))
	}
	check(t, s.client.ConfigResetStat(t.Context()).Err())
	if n := forgets(t, s, store.Retention{JobLog: time.Hour}, noon.AddDate(1, 0, 0)); n != 0 {
		t.Errorf("forgot %d lines of the job log of an open run", n)
	}
	if looked, scripts := calls(t, s, "hmget"), calls(t, s, "evalsha"); looked < many || looked > scripts*looks {
		t.Errorf("%d scripts looked at %d entries, want all, and at most %d each", scripts, looked, looks)
	}
}

func TestRunsOfARareStatusAreFoundWithoutReadingAll(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	for i := range 300 {
		day, err := period.Parse(noon.AddDate(0, 0, -i).Format(time.DateOnly))
		check(t, err)
		r := run.Run{Key: run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}, Version: 1, Status: run.Completed}
		switch i {
		case 150, 298:
			r.Status = run.FailedFinal
		case 151, 299:
			r.Status = run.Failed
		}
		b := store.Batch{ID: fmt.Sprint(i)}
		b.Create(r)
		check(t, s.Commit(t.Context(), b, noon))
	}
	for status, want := range map[run.Status]int{run.FailedFinal: 2, run.Failed: 2, run.Cancelled: 0} {
		for _, q := range []store.RunQuery{{Status: status}, {Status: status, Pipeline: "orders"}} {
			check(t, s.client.ConfigResetStat(t.Context()).Err())
			page, err := s.Runs(t.Context(), q)
			check(t, err)
			if read := calls(t, s, "hget"); len(page.Items) != want || read > want {
				t.Errorf("%s of %q: found %d runs, want %d, and read %d", status, q.Pipeline, len(page.Items), want, read)
			}
		}
	}
}
