package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
	"github.com/interlock-go/interlock/internal/store/record"
	"github.com/interlock-go/interlock/internal/store/row"
)

// deployed returns the stores of several processes on the same tables, without anything that
// follows their streams.
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

// notice returns what the stream reports about a row.
func notice(t *testing.T, s *dynamo.Store, pk, sk string) dynamo.Notice {
	t.Helper()
	image, err := s.RowAt(t.Context(), dynamo.Control, pk, sk)
	check(t, err)
	got, err := dynamo.Record{Image: image, Sequence: "1", At: noon}.Read()
	check(t, err)
	return got
}

// The manual documents these addresses, and users' own queries rely on them.
func TestRecordsAreAtTheDocumentedAddresses(t *testing.T) {
	s := deployed(t, 1)[0]
	r := opened(t)
	r.Status = run.Failed
	b := store.Batch{ID: "b", Reruns: []store.Rerun{{ID: "r1/x", Key: r.Key, At: noon}}}
	b.Create(r)
	b.Append(store.JobEntry{Key: r.Key, Attempt: 1, Event: store.JobFail, Try: 2, At: noon})
	b.Schedule(store.Task{ID: "fire/orders", Kind: store.Fire, Pipeline: "orders", Due: noon})
	b.SetMark("late/orders", noon.Add(time.Hour))
	check(t, s.Commit(t.Context(), b, noon))
	write := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"n": 1}}}
	put, err := s.PutReadings(t.Context(), []store.Write{write}, noon)
	check(t, err)
	for _, at := range [][3]string{
		{dynamo.Control, "PIPELINE#orders", "TRIGGER#cron#2026-03-03"},
		{dynamo.JobLog, "PIPELINE#orders", "JOB#cron#2026-03-03#1#fail#2"},
		{dynamo.Rerun, "PIPELINE#orders", "RERUN#cron#2026-03-03#r1/x"},
		{dynamo.Control, "TASK#fire/orders", "TASK"},
		{dynamo.Control, "MARK#late/orders", "MARK"},
		{dynamo.Control, "COMMIT#b", "COMMIT"},
		{dynamo.Control, "PIPELINE#orders", "HISTORY#rows#" + row.Digits(put[0].Version)},
		{dynamo.Control, "PIPELINE#orders", "READING#rows#" + row.Digits(0)},
	} {
		found, err := s.RowAt(t.Context(), at[0], at[1], at[2])
		if check(t, err); found == nil {
			t.Errorf("nothing is at %v", at)
		}
	}
}

func TestOnlyWhatExpiresHasATTL(t *testing.T) {
	s := deployed(t, 1)[0]
	b := store.Batch{ID: "b"}
	b.Create(opened(t))
	b.SetMark("late", noon.Add(time.Hour))
	check(t, s.Commit(t.Context(), b, noon))
	for pk, want := range map[string]bool{"PIPELINE#orders": false, "MARK#late": true, "COMMIT#b": true} {
		sk := map[string]string{"PIPELINE#orders": "TRIGGER#cron#2026-03-03", "MARK#late": "MARK", "COMMIT#b": "COMMIT"}[pk]
		found, err := s.RowAt(t.Context(), dynamo.Control, pk, sk)
		if check(t, err); (found[dynamo.TTL] != nil) != want {
			t.Errorf("%s %s has %v", pk, sk, found[dynamo.TTL])
		}
	}
}

func TestStreamDeliversChangesWithTheirRows(t *testing.T) {
	s := deployed(t, 1)[0]
	r := opened(t)
	moves := func(read, next run.Run) *store.Change {
		t.Helper()
		b := store.Batch{ID: fmt.Sprint("v", next.Version)}
		b.Swap(read, next)
		check(t, s.Commit(t.Context(), b, noon))
		return notice(t, s, "PIPELINE#orders", "TRIGGER#cron#2026-03-03").Change
	}
	c := moves(run.Run{}, r)
	if c == nil || c.Kind != store.RunMoved || c.Run != r.Key || c.Status != run.Pending || c.Attempt != 1 || c.At != noon {
		t.Errorf("a new run: %+v", c)
	}
	touched := r
	touched.Version++
	if c := moves(r, touched); c != nil {
		t.Errorf("a run whose status is the same: %+v", c)
	}
	turned := touched
	turned.Version, turned.Status = 5, run.Triggering
	if c := moves(touched, turned); c == nil || c.Status != run.Triggering || c.Version != 5 {
		t.Errorf("a run that moved: %+v", c)
	}
}

func TestStreamNamesStoredTasksAndNoLeases(t *testing.T) {
	s := deployed(t, 1)[0]
	b := store.Batch{ID: "one"}
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon})
	check(t, s.Commit(t.Context(), b, noon))
	if got := notice(t, s, "TASK#a", "TASK"); got.Task != "a" || got.Pipeline != "orders" {
		t.Errorf("a stored task: %+v", got)
	}
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Task: "a", Limit: 1, Lease: time.Minute}, noon)
	check(t, err)
	if got := notice(t, s, "TASK#a", "TASK"); got.Task != "" || len(claims) != 1 {
		t.Errorf("a claimed task: %+v", got)
	}
	b = store.Batch{ID: "two"}
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon.Add(time.Hour)})
	check(t, s.Commit(t.Context(), b, noon))
	if got := notice(t, s, "TASK#a", "TASK"); got.Task != "a" {
		t.Errorf("a task that was stored again under a lease: %+v", got)
	}
}

func TestEventsWaitInTheOutboxUntilPublished(t *testing.T) {
	s := deployed(t, 1)[0]
	e := event.New(event.ConfigAccepted, event.About{Pipeline: "orders", Which: "v1", At: noon}, "accepted", event.Config{})
	b := store.Batch{ID: "accept"}
	b.Emit(e)
	check(t, s.Commit(t.Context(), b, noon))
	got := notice(t, s, "COMMIT#accept", "COMMIT")
	if got.Outbox == nil || len(got.Outbox.Events) != 1 || got.Outbox.Events[0].ID != e.ID || got.Pipeline != "orders" {
		t.Fatalf("the outbox holds %+v", got)
	}
	n, oldest, err := s.Backlog(t.Context(), "router")
	check(t, err)
	if n != 1 || oldest != noon {
		t.Errorf("backlog %d since %s", n, oldest)
	}
	left, err := s.Outboxes(t.Context(), noon.Add(time.Second), 10)
	check(t, err)
	early, err := s.Outboxes(t.Context(), noon.Add(-time.Second), 10)
	check(t, err)
	if len(left) != 1 || len(early) != 0 || left[0].Events[0].ID != e.ID {
		t.Fatalf("not published: %+v, earlier: %+v", left, early)
	}
	for range 2 {
		check(t, s.AppendEvents(t.Context(), []event.Event{e}))
		check(t, s.Relayed(t.Context(), left[0], noon))
	}
	left, err = s.Outboxes(t.Context(), noon.Add(time.Second), 10)
	check(t, err)
	page, err := s.Events(t.Context(), store.EventQuery{Pipeline: "orders"})
	check(t, err)
	if len(left) != 0 || len(page.Items) != 1 || page.Items[0].ID != e.ID {
		t.Errorf("after it was published twice: %d left, events %+v", len(left), page.Items)
	}
	check(t, s.Commit(t.Context(), b, noon.Add(30*time.Minute)))
	if left, err = s.Outboxes(t.Context(), time.Time{}, 10); err != nil || len(left) > 0 {
		t.Errorf("a Batch that was committed again has an outbox, error %v", err)
	}
}

// A rule may use a field of any name: attributes of the engine's own rows have no meaning in a
// producer's.
func TestProducersMayUseTheNamesOfTheEngine(t *testing.T) {
	got := read(t, `{"PK":{"S":"PIPELINE#orders"},"SK":{"S":"SENSOR#rows"},"change":{"S":"none"},"version":{"N":"3"},"events":{"S":"x"},"json":{"S":"x"}}`)
	if got.Sensor == nil || got.Change != nil || got.Refused != "" || got.Sensor.Write.Reading.Fields["version"] != int64(3) {
		t.Errorf("%+v", got)
	}
}

// A record may be delivered twice, even after a later write.
func TestProducersRowIsStoredOnce(t *testing.T) {
	s := deployed(t, 1)[0]
	put := func(sequence string) *store.Change {
		t.Helper()
		c, err := s.PutProduced(t.Context(), record.Produced{Sequence: sequence, At: noon, Write: store.Write{
			Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"count": int64(1)}},
		}})
		check(t, err)
		return c
	}
	first := put("99")
	if again := put("99"); first == nil || again == nil || *again != *first {
		t.Errorf("the first time %+v, then %+v", first, again)
	}
	second := put("100")
	if late := put("99"); second == nil || late != nil {
		t.Errorf("superseded by %+v: %+v", second, late)
	}
	if got := notice(t, s, "PIPELINE#orders", "HISTORY#rows#"+row.Digits(second.Version)); got.Change != nil {
		t.Errorf("the stream delivers the change of its own record: %+v", got.Change)
	}
}

func TestNamesMayBeLongerThanKeys(t *testing.T) {
	s := deployed(t, 1)[0]
	long := strings.Repeat("é", 3000)
	key := opened(t).Key
	for _, end := range []string{"a", "b", "a"} {
		b := store.Batch{ID: long + end, Reruns: []store.Rerun{{ID: long + end, Key: key, At: noon}}}
		b.SetMark(long+end, noon.Add(time.Hour))
		if err := s.Commit(t.Context(), b, noon); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.Reruns(t.Context(), []run.Key{key})
	check(t, err)
	marked, err := s.Marked(t.Context(), []string{long + "a", long + "b", long + "c"})
	check(t, err)
	if all := found[key]; len(all) != 2 || all[0].ID == all[1].ID || len(marked) != 2 {
		t.Errorf("%d requests and %d marks, want two of each", len(all), len(marked))
	}
	n, err := s.Trim(t.Context(), store.Retention{JobLog: time.Hour}, noon.Add(2*time.Hour))
	if check(t, err); n != 4 {
		t.Errorf("retention deleted %d records, want 4", n)
	}
}

// A job log contains rows that others wrote; they are not entries.
func TestRowsOfOthersAreNotRecords(t *testing.T) {
	s := deployed(t, 1)[0]
	key := opened(t).Key
	b := store.Batch{ID: "b"}
	b.Append(store.JobEntry{Key: key, Attempt: 1, Event: store.JobSuccess, Try: 1, At: noon})
	check(t, s.Commit(t.Context(), b, noon))
	result := dynamo.Row{"event": &types.AttributeValueMemberS{Value: "success"}}
	check(t, s.PutRowAt(t.Context(), dynamo.JobLog, "PIPELINE#orders", "JOB#cron#2026-03-03#12345", result))
	logs, err := s.JobLogs(t.Context(), []run.Key{key})
	if check(t, err); len(logs[key]) != 1 {
		t.Errorf("the log has %d entries, want 1", len(logs[key]))
	}
}

func TestDeployedFilesAreListedByTheirKind(t *testing.T) {
	s := deployed(t, 1)[0]
	for _, pk := range []string{"PIPELINE#orders", "CALENDAR#uk", "ARCHETYPE#batch", "PIPELINE#bronze"} {
		file := dynamo.Row{}
		check(t, file.UnmarshalJSON([]byte(`{"config":{"S":"text of `+pk+`"},"list":{"S":"FILE"},"place":{"S":"`+pk+`"}}`)))
		check(t, s.PutRowAt(t.Context(), dynamo.Control, pk, "CONFIG", file))
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

func TestRequestForARerunIsReadAsItWasWritten(t *testing.T) {
	s := deployed(t, 1)[0]
	asked := dynamo.RerunRequest{ID: "r1", Key: opened(t).Key, Reason: "late", By: "ann", BypassGate: true}
	check(t, s.RequestRerun(t.Context(), asked, noon))
	got := notice(t, s, "PIPELINE#orders", "RERUN_REQUEST#cron#2026-03-03").Rerun
	if got == nil || *got != asked {
		t.Fatalf("requested %+v, read %+v", asked, got)
	}
}

func TestChangesAreNotReceivedFromTheStore(t *testing.T) {
	s := deployed(t, 1)[0]
	_, err := s.Receive(t.Context(), "router", "one", 1)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "stream-router") {
		t.Errorf("error %v, want it to name the stream-router", err)
	}
}

// An overview reads the index only, whatever the size of the rows.
func TestOverviewReadsNoRows(t *testing.T) {
	s := deployed(t, 1)[0]
	for i := range 3 {
		write := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"n": i}}}
		_, err := s.PutReadings(t.Context(), []store.Write{write}, noon)
		check(t, err)
	}
	read := s.CountRows()
	found, whole, err := s.Written(t.Context(), noon, 10)
	if check(t, err); len(found) != 3 || !whole || read.Load() != 3 {
		t.Errorf("%d writes, whole %t, of %d rows", len(found), whole, read.Load())
	}
}

// Several processes change the same rows concurrently: each version has one winner, each Batch is
// applied once, and every event gets its own position.
func TestEachVersionHasOneWinnerAmongProcesses(t *testing.T) {
	const rounds = 5
	all := deployed(t, 3)
	b := store.Batch{ID: "create"}
	b.Create(opened(t))
	b.Schedule(store.Task{ID: "a", Kind: store.Fire, Pipeline: "orders", Due: noon})
	var wins, held sync.Map
	inProcesses(t, all, func(i int, s *dynamo.Store) error {
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
			write := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Fields: sensor.Fields{"n": n}}}
			if _, err := s.PutReadings(t.Context(), []store.Write{write}, noon); err != nil {
				return err
			}
			about := event.About{Pipeline: "orders", Which: fmt.Sprint(i, "/", n), At: noon}
			e := event.New(event.ConfigAccepted, about, "accepted", event.Config{})
			if err := s.AppendEvents(t.Context(), []event.Event{e}); err != nil {
				return err
			}
		}
		return nil
	})
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
	events, err := all[0].EventsAfter(t.Context(), 0, 100)
	check(t, err)
	if want := rounds * len(all); len(page.Items) != want || len(events) != want {
		t.Errorf("%d writes and %d events, want %d", len(page.Items), len(events), want)
	}
}

func inProcesses(t *testing.T, all []*dynamo.Store, do func(i int, s *dynamo.Store) error) {
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
