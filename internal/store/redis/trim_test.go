package redis

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

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

// A run keeps its last snapshot for ever, so there are more and more of them. Redis does nothing else while a script goes on.
func TestWhatStaysIsPassedOverInSmallSteps(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	const many = 2*looks + 100
	for i := range many {
		day, err := period.Parse(noon.AddDate(0, 0, i).Format(time.DateOnly))
		check(t, err)
		key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
		b := store.Batch{ID: fmt.Sprint(i)}
		b.Create(run.Run{Key: key, Version: 1, Status: run.Completed, Progress: run.Progress{Snapshot: run.SnapshotID(b.ID)}})
		b.Snapshots = []store.Snapshot{{ID: run.SnapshotID(b.ID), Key: key, At: noon}}
		if i%1000 == 0 {
			b.Append(store.JobEntry{Key: key, Attempt: 1, Event: store.JobStarted, At: noon.Add(time.Second)})
		}
		check(t, s.Commit(t.Context(), b, noon))
	}
	check(t, s.client.ConfigResetStat(t.Context()).Err())
	old := &trim{Store: s, keep: store.Retention{JobLog: time.Hour}, now: noon.AddDate(1, 0, 0)}
	check(t, old.told(t.Context()))
	if old.forgot != 3 {
		t.Errorf("forgot %d rows, want the three lines of job logs", old.forgot)
	}
	if looked, scripts := calls(t, s, "hmget"), calls(t, s, "evalsha"); looked < many || looked > scripts*looks {
		t.Errorf("%d scripts looked at %d entries, want all, and at most %d each", scripts, looked, looks)
	}
	if _, err := s.Snapshot(t.Context(), "7"); err != nil {
		t.Errorf("the snapshot of a run is gone: %v", err)
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

func TestHistoryIsLookedThroughInSmallSteps(t *testing.T) {
	s := opened(t, redistest.Start(t).URL(), Options{})
	const sensors, each = 60, 100
	for i := range sensors {
		var writes []store.Write
		for n := range each {
			key := sensor.Key(fmt.Sprintf("rows-%02d", i))
			writes = append(writes, store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: key, Fields: sensor.Fields{"count": int64(n)}}})
		}
		at := noon
		if i == sensors-1 {
			at = noon.Add(-2 * time.Hour)
		}
		_, err := s.PutReadings(t.Context(), writes, at)
		check(t, err)
	}
	check(t, s.client.ConfigResetStat(t.Context()).Err())
	if n := forgets(t, s, store.Retention{History: time.Hour}, noon); n != each-1 {
		t.Errorf("forgot %d writes, want all old ones but the last", n)
	}
	// A piece of a history is a hundred writes.
	if looked, scripts := calls(t, s, "xrange"), calls(t, s, "evalsha"); looked < sensors || looked > scripts*(looks/100+1) {
		t.Errorf("%d scripts looked at %d pieces of history", scripts, looked)
	}
}
