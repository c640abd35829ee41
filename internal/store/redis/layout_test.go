package redis

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
)

// shop returns a store with a record of every kind.
func shop(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), redistest.Shared(t), o)
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	day, err := period.Parse("2026-03-03")
	check(t, err)
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
	ended := key
	ended.Schedule = pipeline.ByHand
	told := event.New(event.JobCompleted, event.About{Pipeline: "orders", Which: "one", At: noon}, "one", event.Finished{})
	task := store.Task{ID: "advance", Kind: store.Advance, Pipeline: "orders", Key: key, Due: noon}
	open := run.Run{Key: key, Version: 1, Attempt: 1, Status: run.Pending, UpdatedAt: noon}
	open.Progress.LastEvaluation = noon
	due := store.Deadline{Key: key, Kind: store.Absolute, Version: 1, Deadline: sla.Deadline{State: sla.Armed}}
	for i, b := range []store.Batch{
		{
			Runs:      []store.Swap[run.Run]{{Next: open}},
			Pipelines: []store.Swap[store.Pipeline]{{Next: store.Pipeline{ID: "orders", Version: 1}}},
			Deadlines: []store.Swap[store.Deadline]{{Next: due}},
			PostRuns:  []store.Swap[store.PostRun]{{Next: store.PostRun{Key: key, Version: 1}}},
			Configs:   []store.Config{{Pipeline: "orders", Version: "v1"}},
			Tasks:     []store.Task{task},
			Events:    []event.Event{told},
		},
		{
			Runs: []store.Swap[run.Run]{{Next: run.Run{Key: ended, Version: 1, Attempt: 1, Status: run.Cancelled}}},
			DryRuns: []store.Swap[run.Run]{
				{Next: run.Run{Key: key, Version: 1, Status: run.Pending}},
				{Next: run.Run{Key: ended, Version: 1, Status: run.Completed}},
			},
			Notes: []store.Swap[store.Note]{
				{Next: store.Note{Kind: store.ThreadNote, Key: "a", Version: 1}},
				{Next: store.Note{Kind: store.SilenceNote, Key: "a", Version: 1, Until: noon}},
				{Next: store.Note{Kind: store.ProbeNote, Key: "orders/landing/files", Version: 1, Until: noon}},
			},
			Dead: []store.DeadLetter{{Sink: "hook", Event: told}},
		},
		{
			Log: []store.JobEntry{{Key: key, Attempt: 1, Event: store.JobStarted}}, Reruns: []store.Rerun{{ID: "r", Key: key}},
			Snapshots: []store.Snapshot{{ID: "s", Key: key}}, Marks: []store.Mark{{ID: "m", Until: noon}},
		},
	} {
		b.ID = string(rune('a' + i))
		check(t, s.Commit(t.Context(), b, noon))
	}
	for range 2 {
		write := store.Write{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Period: day}}
		_, err = s.PutReadings(t.Context(), []store.Write{write}, noon)
		check(t, err)
	}
	receive(t, s.engine, 10)
	check(t, s.SetCursor(t.Context(), "hook", 1))
	probe := store.Batch{ID: "probe"}
	probe.Schedule(store.Task{ID: "probe", Kind: store.RunProbe, Pipeline: "orders", Due: noon})
	check(t, s.Commit(t.Context(), probe, noon))
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 10, Lease: time.Hour}, noon)
	check(t, err)
	if len(claims) != 2 {
		t.Fatalf("%d tasks were claimed, want 2", len(claims))
	}
	return s
}

// kinds returns a row of every kind of package record, with its places.
func kinds() []row.Row {
	place := func(index row.Index, list string) func(*row.Row) {
		return func(r *row.Row) {
			r.Places[index] = row.Place{List: list, Key: row.Digits(int64(index)) + "#" + r.Part + "#" + r.Key}
		}
	}
	of := func(kind row.Kind, part, key string, more ...func(*row.Row)) row.Row {
		r := row.Row{Ref: row.Ref{Kind: kind, Part: part, Key: key}, Version: 7, Body: []byte(`{"a":"b"}`)}
		for _, add := range more {
			add(&r)
		}
		return r
	}
	day, now := "cron/2026-03-03", row.Digits(noon.UnixNano())
	task := of(row.Tasks, "", "advance/"+day, place(row.Pending, "due:steps"))
	task.Tag, task.Lock = "orders", row.Lock{Name: "eval:orders:cron", Holder: "ann until noon"}
	gate := of("readiness", "orders", "gate")
	gate.Body, gate.Expires = []byte(`{"run":"orders/cron/2026-03-03","gate":"closed"}`), noon.Add(time.Minute)
	return []row.Row{
		of("pipeline", "orders", "state", place(row.Ordered, "pipelines")), of("config", "orders", "v1"),
		of("run", "orders", day, place(row.Ordered, "runs"), place(row.Pending, "open")),
		of("run", "orders", "manual/2026-03-03", place(row.Ordered, "runs"), place(row.Pending, "ended:CANCELLED")),
		of("dry", "orders", day, place(row.Pending, "dry")),
		of("deadline", "orders", day+"/absolute", place(row.Ordered, "deadlines"), place(row.Pending, "armed")),
		of("baseline", "orders", day), of("runlog", "orders", day+"/1/started/1", place(row.Aging, "runlogs")),
		of("rerun", "orders", day+"/an:id/of\x00any form", place(row.Aging, "reruns")),
		of("snapshot", "", "s", place(row.Aging, "snapshots")), of("mark", "", "m", place(row.Aging, "expiring")),
		of("note", "thread", "a"), of("note", "silence", "a", place(row.Aging, "expiring")),
		of("note", "audit/2026-03-03", "a:b"),
		of("note", "probe", "orders/landing/files", place(row.Aging, "expiring")), task,
		of("dead", "hook", "e:1", place(row.Ordered, "dead")), of("cursor", "", "hook"),
		of("sensor", "orders", "rows#"+now), of("sensors", "orders", "rows"),
		of("history", "orders", "rows#"+now, place(row.Aging, "history")), gate,
	}
}

// everyKind stores a row of every kind, and uses every other call once.
func everyKind(t *testing.T, e *Engine) {
	t.Helper()
	tx := row.Tx{ID: "a", Events: []row.Event{
		{ID: "e1", Part: "orders", Type: "JOB_COMPLETED", At: noon, Body: []byte("{}")}, {ID: "e2", Type: "NOTE", At: noon},
	}}
	for _, r := range kinds() {
		tx.Ops = append(tx.Ops, row.Op{Row: r, Change: []byte("c")})
	}
	check(t, e.Apply(t.Context(), tx, noon))
	receive(t, e, 10)
}

var (
	documentedKey = regexp.MustCompile("(?m)^\\| `\\{prefix\\}:([^`]+)` \\|")
	placeholder   = regexp.MustCompile(`\{[^}]*\}`)
)

// Each key matches a line of the page, and each line a key.
func TestEveryKeyIsInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/REDIS.md")
	check(t, err)
	e := shop(t, Options{}).engine
	keys, err := e.client.Keys(t.Context(), e.prefix+":*").Result()
	check(t, err)
	slices.Sort(keys)
	lines, used := map[string]*regexp.Regexp{}, map[string]bool{}
	for _, line := range documentedKey.FindAllStringSubmatch(string(page), -1) {
		fixed := placeholder.Split(line[1], -1)
		for i := range fixed {
			fixed[i] = regexp.QuoteMeta(fixed[i])
		}
		lines[line[1]] = regexp.MustCompile("(?s)^" + strings.Join(fixed, "[^:]+") + "$")
		if strings.HasSuffix(line[1], "}") { // the last name is not escaped
			lines[line[1]] = regexp.MustCompile("(?s)^" + strings.Join(fixed[:len(fixed)-1], "[^:]+") + ".+$")
		}
	}
	if len(lines) == 0 {
		t.Fatal("the page lists no key")
	}
	for _, key := range keys {
		name, known := strings.TrimPrefix(key, e.prefix+":"), false
		for line, fits := range lines {
			if fits.MatchString(name) {
				known, used[line] = true, true
			}
		}
		if !known {
			t.Errorf("%q is not in docs/REDIS.md", name)
		}
	}
	for line := range lines {
		if !used[line] {
			t.Errorf("docs/REDIS.md lists %s, but no such key was written", line)
		}
	}
}

// The keys of the local architecture have the names and types that their readers expect.
func TestKeysOfTheLocalArchitecture(t *testing.T) {
	e := shop(t, Options{}).engine
	want := map[string]string{
		"pipeline:orders": "hash", "run:orders/cron/2026-03-03": "hash", "runs:orders": "zset", "runs": "zset",
		"runlog:orders:2026-03-03:cron": "hash", "runlogs:orders": "zset", "events:orders": "stream",
		"lock:eval:orders:cron": "hash", "sensor:orders:rows": "hash", "sensors:orders": "hash", "pending:task:due:steps": "zset",
		"deadlines": "zset", "deadlines:orders": "zset", "changes": "stream", "baseline:orders/cron/2026-03-03": "hash", "thread:a": "hash", "commit:a": "string",
		"trait:orders:landing/files": "hash", "readiness:orders": "hash",
	}
	got := map[string]string{}
	for name := range want {
		got[name] = e.client.Type(t.Context(), e.key(name)).Val()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	hash := func(name string) map[string]string { return e.client.HGetAll(t.Context(), e.key(name)).Val() }
	if r := hash("run:orders/cron/2026-03-03"); r["version"] != "1" || !strings.Contains(r["json"], `"PENDING"`) {
		t.Errorf("the run is %v", r)
	}
	if holder := hash("lock:eval:orders:cron")["advance"]; !strings.HasSuffix(holder, e.instance) {
		t.Errorf("the lock shows %q, want that %s holds it", holder, e.instance)
	}
	if left := e.client.TTL(t.Context(), e.key("commit:a")).Val(); left < store.CommitLife {
		t.Errorf("a transaction is remembered for %s, want %s at least", left, store.CommitLife)
	}
}

// Other readers of this Redis see the last verdict on a gate for a while.
func TestLastVerdictOnAGateIsShown(t *testing.T) {
	e := shop(t, Options{Readiness: time.Minute}).engine
	got := e.client.HGetAll(t.Context(), e.key("readiness:orders")).Val()
	for name, want := range map[string]string{
		"run": "orders/cron/2026-03-03", "attempt": "1", "gate": "closed", "at": "2026-03-03T12:00:00Z",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if left := e.client.PTTL(t.Context(), e.key("readiness:orders")).Val(); left <= 0 || left > time.Minute {
		t.Errorf("it is shown for %s", left)
	}
}

func TestRowsOfEveryKindComeBackAndLeaveNothingBehind(t *testing.T) {
	e := opened(t, redistest.Shared(t), Options{})
	everyKind(t, e)
	finds := func(want row.Row, in []row.Row) {
		t.Helper()
		n := slices.IndexFunc(in, func(r row.Row) bool { return r.Ref == want.Ref })
		if n < 0 || in[n].Version != want.Version || string(in[n].Body) != string(want.Body) {
			t.Errorf("found %+v, want %+v", in, want)
		}
	}
	rows := kinds()
	for _, r := range rows {
		got, err := e.Get(t.Context(), []row.Ref{r.Ref})
		check(t, err)
		finds(r, got)
		finds(r, scan(t, e, row.Range{Kind: r.Kind, Part: r.Part}))
		for i, place := range r.Places {
			if place.List == "" {
				continue
			}
			in := row.Range{Kind: r.Kind, Index: row.Index(i), List: place.List, From: place.Key, To: place.Key + "\x00"}
			finds(r, scan(t, e, in))
			if in.Part = r.Part; in.Index != row.Aging {
				finds(r, scan(t, e, in))
			}
		}
	}
	rows = append(rows, scan(t, e, row.Range{Kind: row.Events, List: "events"})...)
	if n, err := e.Drop(t.Context(), rows); n != len(rows) || err != nil {
		t.Errorf("dropped %d of %d rows, error %v", n, len(rows), err)
	}
	keys := e.client.Keys(t.Context(), e.prefix+":*").Val()
	for _, own := range []string{"schema", "changes", "commit:a", "alive", "server", "counter:number", "counter:change"} {
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == e.key(own) })
	}
	if len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}
