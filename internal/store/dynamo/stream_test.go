package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// deployed are tables that functions work on: several processes, none of them alone.
func deployed(t *testing.T, processes int) []*dynamo.Store {
	t.Helper()
	url := dynamotest.Shared(t)
	var all []*dynamo.Store
	for range processes {
		s, err := dynamo.Open(t.Context(), url, dynamo.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, s.Close()) })
		all = append(all, s)
	}
	return all
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T) run.Run {
	t.Helper()
	key, err := run.ParseKey("orders/cron/2026-03-03")
	check(t, err)
	r, err := run.New(key, run.Opening{Cause: run.CauseCron, At: noon, Limits: run.Limits{
		Window: time.Hour, Interval: time.Minute, PollInterval: time.Minute, PollWindow: time.Hour, StartTries: 3,
	}})
	check(t, err)
	return r
}

// tells reads what the stream would say of a row.
func tells(t *testing.T, s *dynamo.Store, pk, sk string) dynamo.Told {
	t.Helper()
	row, err := s.RowAt(t.Context(), dynamo.Control, pk, sk)
	check(t, err)
	got, err := dynamo.Record{Image: row, Sequence: "1", At: noon}.Read()
	check(t, err)
	return got
}

func TestStreamTellsOfRunsThatMovedAndOfNoOthers(t *testing.T) {
	s := deployed(t, 1)[0]
	r := opened(t)
	moves := func(read, next run.Run) *store.Change {
		t.Helper()
		b := store.Batch{ID: fmt.Sprint("v", next.Version)}
		b.Swap(read, next)
		check(t, s.Commit(t.Context(), b, noon))
		return tells(t, s, "PIPELINE#orders", "TRIGGER#cron#2026-03-03").Change
	}
	c := moves(run.Run{}, r)
	if c == nil || c.Kind != store.RunMoved || c.Run != r.Key || c.Status != run.Pending || c.Attempt != 1 || c.Version != 1 || c.At != noon {
		t.Errorf("a new run tells %+v", c)
	}
	touched := r
	touched.Version++
	if c := moves(r, touched); c != nil {
		t.Errorf("a run that was only touched tells %+v", c)
	}
	turned := touched
	turned.Version, turned.Status = 5, run.Triggering
	if c := moves(touched, turned); c == nil || c.Status != run.Triggering || c.Version != 5 {
		t.Errorf("a run that moved tells %+v", c)
	}
}

func TestStreamTellsOfStoredTasksAndNotOfLeases(t *testing.T) {
	s := deployed(t, 1)[0]
	b := store.Batch{ID: "one"}
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon})
	check(t, s.Commit(t.Context(), b, noon))
	if got := tells(t, s, "TASK#a", "TASK"); got.Task != "a" || got.Pipeline != "orders" {
		t.Errorf("a stored task tells %+v", got)
	}
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Task: "a", Limit: 1, Lease: time.Minute}, noon)
	check(t, err)
	if got := tells(t, s, "TASK#a", "TASK"); got.Task != "" || len(claims) != 1 {
		t.Errorf("a claimed task tells %+v", got)
	}
	b = store.Batch{ID: "two"}
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon.Add(time.Hour)})
	check(t, s.Commit(t.Context(), b, noon))
	if got := tells(t, s, "TASK#a", "TASK"); got.Task != "a" {
		t.Errorf("a task that was moved while it is held tells %+v", got)
	}
}

func TestEventsWaitInTheOutboxUntilTheyWerePassedOn(t *testing.T) {
	s := deployed(t, 1)[0]
	e := event.New(event.ConfigAccepted, event.About{Pipeline: "orders", Which: "v1", At: noon}, "accepted", event.Config{})
	b := store.Batch{ID: "accept"}
	b.Emit(e)
	check(t, s.Commit(t.Context(), b, noon))
	got := tells(t, s, "COMMIT#accept", "COMMIT").Outbox
	if got == nil || len(got.Events) != 1 || got.Events[0].ID != e.ID {
		t.Fatalf("the outbox holds %+v", got)
	}
	n, oldest, err := s.Backlog(t.Context(), "router")
	check(t, err)
	if n != 1 || oldest != noon {
		t.Errorf("backlog %d since %s", n, oldest)
	}
	left, err := s.Outboxes(t.Context(), noon.Add(time.Second), 10)
	check(t, err)
	if len(left) != 1 || left[0].Events[0].ID != e.ID {
		t.Fatalf("not passed on: %+v", left)
	}
	for range 2 {
		check(t, s.AppendEvents(t.Context(), left[0].Events))
		check(t, s.Relayed(t.Context(), left[0], noon))
	}
	left, err = s.Outboxes(t.Context(), noon.Add(time.Second), 10)
	check(t, err)
	page, err := s.Events(t.Context(), store.EventQuery{Pipeline: "orders"})
	check(t, err)
	if len(left) != 0 || len(page.Items) != 1 {
		t.Errorf("after it was passed on twice: %d left, %d listed", len(left), len(page.Items))
	}
	check(t, s.Commit(t.Context(), b, noon.Add(30*time.Minute)))
}

func produced(sequence string, count int64) dynamo.Produced {
	return dynamo.Produced{Sequence: sequence, At: noon, Write: store.Write{
		Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": count}},
	}}
}

func TestProducersRowIsTakenOnceAndNeverAfterALaterOne(t *testing.T) {
	s := deployed(t, 1)[0]
	take := func(sequence string, count int64) *store.Change {
		t.Helper()
		c, err := s.Take(t.Context(), produced(sequence, count))
		check(t, err)
		return c
	}
	first := take("99", 1)
	if first == nil || !first.Changed || first.At != noon || first.Sensor != "rows" {
		t.Fatalf("taken: %+v", first)
	}
	if again := take("99", 1); again == nil || *again != *first {
		t.Errorf("taken again: %+v, want %+v", again, first)
	}
	second := take("100", 1)
	if second == nil || second.Changed || second.Version <= first.Version {
		t.Errorf("the same data, later: %+v", second)
	}
	if late := take("99", 1); late != nil {
		t.Errorf("one that was overtaken: %+v", late)
	}
	page, err := s.History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "rows"})
	check(t, err)
	if len(page.Items) != 2 {
		t.Errorf("%d in the history, want 2", len(page.Items))
	}
}

// A write through the API is newer than every record taken before it, however often the stream delivers those again.
func TestRedeliveredRecordDoesNotUndoALaterWrite(t *testing.T) {
	s := deployed(t, 1)[0]
	take := func(sequence string, count int64, at time.Time) *store.Change {
		t.Helper()
		p := produced(sequence, count)
		p.At = at
		c, err := s.Take(t.Context(), p)
		check(t, err)
		return c
	}
	shows := func(want int64) {
		t.Helper()
		page, err := s.LatestReadings(t.Context(), store.LatestQuery{Pipeline: "orders"})
		check(t, err)
		latest := page.Items
		if len(latest) != 1 || latest[0].Fields["count"] != want {
			t.Errorf("the sensor shows %v, want count %d", latest[0].Fields, want)
		}
	}
	take("99", 1, noon)
	take("100", 2, noon)
	set := produced("", 3).Write
	for range 2 {
		_, err := s.PutReadings(t.Context(), []store.Write{set}, noon.Add(time.Hour))
		check(t, err)
	}
	for _, sequence := range []string{"99", "100"} {
		if c := take(sequence, 1, noon); c != nil {
			t.Errorf("record %s, delivered again after a write: %+v", sequence, c)
		}
		shows(3)
	}
	if c := tells(t, s, "PIPELINE#orders", "READING#rows#").Change; c == nil || c.Kind != store.ReadingWritten {
		t.Errorf("the stream says of the write: %+v", c)
	}
	if c := take("101", 4, noon.Add(time.Hour)); c == nil {
		t.Error("the next record was ignored")
	}
	shows(4)

	_, err := s.PutReadings(t.Context(), []store.Write{set}, noon.Add(2*time.Hour))
	check(t, err)
	if c := take("50", 5, noon.Add(2*time.Hour+time.Second)); c == nil {
		t.Error("a record of another stream, written right after a write, was ignored")
	}
	shows(5)
}

// A restored table has another stream, whose numbers may be lower than those that its readings were made of.
func TestRowOfAnotherStreamIsToldByItsTime(t *testing.T) {
	s := deployed(t, 1)[0]
	take := func(sequence string, at time.Time) *store.Change {
		t.Helper()
		p := produced(sequence, 1)
		p.At = at
		c, err := s.Take(t.Context(), p)
		check(t, err)
		return c
	}
	if c := take("1405400000000002063282832", noon); c == nil {
		t.Fatal("the first one was passed over")
	}
	if c := take("300000000000000499659", noon.Add(time.Second)); c != nil {
		t.Errorf("one that was overtaken, by a clock that is a little ahead: %+v", c)
	}
	later := take("300000000000000499660", noon.Add(time.Hour))
	if later == nil || later.At != noon.Add(time.Hour) {
		t.Fatalf("one of another stream: %+v", later)
	}
	if again := take("300000000000000499660", noon.Add(time.Hour)); again == nil || *again != *later {
		t.Errorf("the same again: %+v, want %+v", again, later)
	}
}

// Names hold what others say: the name of a report's Batch holds its message, that of a request is whoever asks to choose.
func TestNamesMayBeLongerThanKeys(t *testing.T) {
	s := deployed(t, 1)[0]
	long := strings.Repeat("é", 3000)
	key := opened(t).Key
	for _, end := range []string{"a", "b", "a"} {
		b := store.Batch{ID: long + end, Reruns: []store.Rerun{{ID: long + end, Key: key, At: noon}}}
		check(t, s.Commit(t.Context(), b, noon))
	}
	found, err := s.Reruns(t.Context(), []run.Key{key})
	check(t, err)
	if all := found[key]; len(all) != 2 || all[0].ID == all[1].ID {
		t.Errorf("%d requests, want two", len(all))
	}
}

func TestDeployedFilesAreListedByTheirKind(t *testing.T) {
	s := deployed(t, 1)[0]
	for _, pk := range []string{"PIPELINE#orders", "CALENDAR#uk", "ARCHETYPE#batch", "PIPELINE#bronze"} {
		row := dynamo.Row{}
		check(t, row.UnmarshalJSON([]byte(`{"config":{"S":"text of `+pk+`"},"list":{"S":"FILE"},"place":{"S":"`+pk+`"}}`)))
		check(t, s.PutRowAt(t.Context(), dynamo.Control, pk, "CONFIG", row))
	}
	files, err := s.Files(t.Context())
	check(t, err)
	names := func(sources []pipeline.Source) (out []string) {
		for _, f := range sources {
			out = append(out, f.File+" "+string(f.Data))
		}
		return out
	}
	got := strings.Join(append(append(names(files.Pipelines), names(files.Calendars)...), names(files.Archetypes)...), ", ")
	want := "pipeline/bronze text of PIPELINE#bronze, pipeline/orders text of PIPELINE#orders, calendar/uk text of CALENDAR#uk, archetype/batch text of ARCHETYPE#batch"
	if got != want {
		t.Errorf("files:\n%s\nwant\n%s", got, want)
	}
}

func TestRequestForARerunIsReadAsItWasAsked(t *testing.T) {
	s := deployed(t, 1)[0]
	asked := dynamo.RerunRequest{ID: "r1", Key: opened(t).Key, Reason: "late", By: "ann", BypassGate: true}
	check(t, s.RequestRerun(t.Context(), asked, noon))
	got := tells(t, s, "PIPELINE#orders", "RERUN_REQUEST#cron#2026-03-03").Rerun
	if got == nil || *got != asked {
		t.Fatalf("asked for %+v, read %+v", asked, got)
	}
	b := store.Batch{ID: "answer", Reruns: []store.Rerun{{ID: "r1", Key: asked.Key, At: noon, Why: "no budget"}}}
	check(t, s.Commit(t.Context(), b, noon))
	answer, err := s.RerunAnswer(t.Context(), asked)
	check(t, err)
	if answer.Why != "no budget" {
		t.Errorf("answer %+v", answer)
	}
}

func TestChangesOfDeployedTablesAreNotHandedOut(t *testing.T) {
	s := deployed(t, 1)[0]
	if _, err := s.Receive(t.Context(), "router", "one", 1); err == nil || !strings.Contains(err.Error(), "stream-router") {
		t.Errorf("error %v, want it to name the stream-router", err)
	}
}

// Several processes change the same rows at once: of each version one is the first, and one batch happens once.
func TestEachVersionHasOneWinnerAmongProcesses(t *testing.T) {
	const rounds = 5
	all := deployed(t, 3)
	b := store.Batch{ID: "create"}
	b.Create(opened(t))
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon})
	var wins, held sync.Map
	together(all, func(i int, s *dynamo.Store) error {
		if err := s.Commit(t.Context(), b, noon); err != nil {
			return err
		}
		claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 1, Lease: time.Minute}, noon)
		if err != nil {
			return err
		}
		for _, c := range claims {
			held.Store(c.Lease.Token, true)
		}
		for n := range rounds {
			read, err := s.Run(t.Context(), opened(t).Key)
			if err != nil {
				return err
			}
			next := read
			next.Version++
			swap := store.Batch{ID: fmt.Sprint(i, "/", n)}
			swap.Swap(read, next)
			switch err := s.Commit(t.Context(), swap, noon); {
			case err == nil:
				wins.Store(next.Version, true)
			case !errors.Is(err, store.ErrConflict):
				return err
			}
			if _, err := s.PutReadings(t.Context(), []store.Write{produced("", int64(n)).Write}, noon); err != nil {
				return err
			}
		}
		return nil
	}, t)
	r, err := all[0].Run(t.Context(), opened(t).Key)
	check(t, err)
	if n := count(&wins); r.Version != int64(n)+1 || n < rounds {
		t.Errorf("version %d after %d wins", r.Version, n)
	}
	if n := count(&held); n != 1 {
		t.Errorf("the task was held %d times", n)
	}
	page, err := all[0].History(t.Context(), store.HistoryQuery{Pipeline: "orders", Key: "rows"})
	check(t, err)
	if len(page.Items) != rounds*len(all) {
		t.Errorf("%d writes in the history, want %d", len(page.Items), rounds*len(all))
	}
}

func together(all []*dynamo.Store, do func(i int, s *dynamo.Store) error, t *testing.T) {
	t.Helper()
	var wait sync.WaitGroup
	for i, s := range all {
		wait.Go(func() {
			if err := do(i, s); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func count(m *sync.Map) (n int) {
	m.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
