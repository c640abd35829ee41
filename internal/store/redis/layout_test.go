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
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// everyKind stores something of every kind.
func everyKind(t *testing.T, s *Store) {
	t.Helper()
	day, err := period.Parse("2026-03-03")
	check(t, err)
	key := run.Key{Pipeline: "orders", Schedule: pipeline.ByCron, Period: day}
	ended := key
	ended.Schedule = pipeline.ByHand
	told := event.New(event.JobCompleted, event.About{Pipeline: "orders", Which: "one", At: noon}, "one", event.Finished{})
	task := store.Task{ID: "advance", Kind: store.Advance, Pipeline: "orders", Key: key, Due: noon}
	for i, b := range []store.Batch{
		{
			Runs:      []store.Swap[run.Run]{{Next: run.Run{Key: key, Version: 1, Attempt: 1, Status: run.Pending, UpdatedAt: noon, Progress: run.Progress{LastEvaluation: noon}}}},
			Pipelines: []store.Swap[store.Pipeline]{{Next: store.Pipeline{ID: "orders", Version: 1}}},
			Deadlines: []store.Swap[store.Deadline]{{Next: store.Deadline{Key: key, Kind: store.Absolute, Version: 1}}},
			PostRuns:  []store.Swap[store.PostRun]{{Next: store.PostRun{Key: key, Version: 1}}},
			Configs:   []store.Config{{Pipeline: "orders", Version: "v1"}}, Tasks: []store.Task{task}, Events: []event.Event{told},
		},
		{
			Runs: []store.Swap[run.Run]{{Next: run.Run{Key: ended, Version: 1, Attempt: 1, Status: run.Cancelled}}},
			DryRuns: []store.Swap[run.Run]{
				{Next: run.Run{Key: key, Version: 1, Status: run.Pending}}, {Next: run.Run{Key: ended, Version: 1, Status: run.Completed}},
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
		_, err = s.PutReadings(t.Context(), []store.Write{{Pipeline: "orders", Reading: sensor.Reading{Key: "rows", Period: day}}}, noon)
		check(t, err)
	}
	receive(t, s, 10)
	check(t, s.SetCursor(t.Context(), "hook", 1))
	probe := store.Batch{ID: "probe", Tasks: []store.Task{{ID: "probe", Kind: store.RunProbe, Pipeline: "orders", Due: noon}}}
	check(t, s.Commit(t.Context(), probe, noon))
	claims, err := s.Claim(t.Context(), store.ClaimQuery{Limit: 10, Lease: time.Hour}, noon)
	check(t, err)
	if len(claims) != 2 {
		t.Fatalf("%d tasks were claimed, want 2", len(claims))
	}
}

var (
	documentedKey = regexp.MustCompile("(?m)^\\| `\\{prefix\\}:([^`]+)` \\|")
	placeholder   = regexp.MustCompile(`\{[^}]*\}`)
)

// Each key that is there fits one line of the page, and each line one key.
func TestEveryKeyIsInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/REDIS.md")
	check(t, err)
	s := opened(t, redistest.Shared(t), Options{})
	everyKind(t, s)
	keys, err := s.client.Keys(t.Context(), s.prefix+":*").Result()
	check(t, err)
	slices.Sort(keys)
	unused := map[string]*regexp.Regexp{}
	for _, line := range documentedKey.FindAllStringSubmatch(string(page), -1) {
		fixed := placeholder.Split(line[1], -1)
		for i := range fixed {
			fixed[i] = regexp.QuoteMeta(fixed[i])
		}
		unused[line[1]] = regexp.MustCompile("^" + strings.Join(fixed, ".+") + "$")
	}
	lines := len(unused)
	if lines == 0 {
		t.Fatal("the page lists no key")
	}
	all := map[string]*regexp.Regexp{}
	for name, fits := range unused {
		all[name] = fits
	}
	for _, key := range keys {
		name := strings.TrimPrefix(key, s.prefix+":")
		known := false
		for line, fits := range all {
			if fits.MatchString(name) {
				known = true
				delete(unused, line)
			}
		}
		if !known {
			t.Errorf("%s is not in docs/REDIS.md", name)
		}
	}
	for line := range unused {
		t.Errorf("docs/REDIS.md lists %s, which nobody writes", line)
	}
}

// The keys of the local architecture are where its readers look for them.
func TestKeysOfTheLocalArchitecture(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	everyKind(t, s)
	got := map[string]string{}
	for _, name := range []string{
		"pipeline:orders", "run:orders/cron/2026-03-03", "runs:orders", "runlog:orders:2026-03-03:cron", "runlogs:orders", "events:orders",
		"lock:eval:orders:cron", "sensor:orders:rows", "sensors:orders", "tasks", "deadlines", "changes", "baseline:orders/cron/2026-03-03", "thread:a", "commit:a",
		"trait:orders:landing/files", "readiness:orders",
	} {
		kind, err := s.client.Type(t.Context(), s.key(name)).Result()
		check(t, err)
		got[name] = kind
	}
	if diff := cmp.Diff(map[string]string{
		"pipeline:orders": "hash", "run:orders/cron/2026-03-03": "hash", "runs:orders": "zset", "runlog:orders:2026-03-03:cron": "hash", "runlogs:orders": "zset",
		"events:orders": "stream", "lock:eval:orders:cron": "hash", "sensor:orders:rows": "hash", "sensors:orders": "hash", "tasks": "zset", "deadlines": "zset",
		"changes": "stream", "baseline:orders/cron/2026-03-03": "hash", "thread:a": "hash", "commit:a": "string",
		"trait:orders:landing/files": "hash", "readiness:orders": "hash",
	}, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	left, err := s.client.TTL(t.Context(), s.key("commit:a")).Result()
	check(t, err)
	if left < store.CommitLife {
		t.Errorf("a taken batch is remembered for %s, want %s at least", left, store.CommitLife)
	}
}

func TestAnswersOfEvaluatorsAreForgottenInTime(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{})
	everyKind(t, s)
	_, err := s.Trim(t.Context(), store.Retention{}, noon.Add(time.Hour))
	check(t, err)
	for _, name := range []string{"trait:orders:landing/files", "note:silence:a"} {
		if n, err := s.client.Exists(t.Context(), s.key(name)).Result(); err != nil || n != 0 {
			t.Errorf("%s is still there: %d, %v", name, n, err)
		}
	}
}

// Others who read this Redis see for a while what was last found about a pipeline's gate.
func TestLastVerdictOnAGateIsShown(t *testing.T) {
	s := opened(t, redistest.Shared(t), Options{Readiness: time.Minute})
	everyKind(t, s)
	key, err := run.ParseKey("orders/cron/2026-03-03")
	check(t, err)
	r, err := s.Run(t.Context(), key)
	check(t, err)
	shown := func() map[string]string {
		t.Helper()
		got, err := s.client.HGetAll(t.Context(), s.key("readiness:orders")).Result()
		check(t, err)
		return got
	}
	want := map[string]string{"run": "orders/cron/2026-03-03", "attempt": "1", "gate": "closed", "at": "2026-03-03T12:00:00Z"}
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	swap := func(id string, next run.Run) {
		t.Helper()
		next.Version++
		b := store.Batch{ID: id}
		b.Swap(r, next)
		check(t, s.Commit(t.Context(), b, noon))
		r, err = s.Run(t.Context(), key)
		check(t, err)
	}
	next := r
	next.UpdatedAt = noon.Add(time.Minute) // changed for another reason
	swap("other", next)
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	next = r
	next.UpdatedAt, next.Progress.LastEvaluation, next.Progress.GateOpen = noon.Add(time.Hour), noon.Add(time.Hour), true
	swap("open", next)
	want["gate"], want["at"] = "open", "2026-03-03T13:00:00Z"
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	left, err := s.client.PTTL(t.Context(), s.key("readiness:orders")).Result()
	check(t, err)
	if left <= 0 || left > time.Minute {
		t.Errorf("it is shown for %s", left)
	}
}
