package sqlite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// crashDir names the directory that a process works on until it is killed.
const crashDir = "INTERLOCK_CRASH_DIR"

const crashWorkers = 4

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, workUntilKilled(dir))
		os.Exit(1)
	}
	// A transaction of this store costs a thousand times what one in memory does.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// workUntilKilled writes as fast as it can and says on standard output what was acknowledged, after it was, and what
// it is about to have done, before it does. It returns only if something fails.
func workUntilKilled(dir string) error {
	ctx := context.Background()
	// Folding and checkpoints are to come often, so that many a kill falls into one.
	s, err := Open(ctx, dir, Options{foldAfter: 20, foldStep: 3, checkpointAfter: 30})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range crashWorkers {
		go func() { failed <- crashWorker(ctx, s, w) }()
	}
	go func() { failed <- crashFollower(ctx, s) }()
	go func() { failed <- crashTrimmer(ctx, s) }()
	return <-failed
}

// crashWorker goes on from where its run stands, or with the readings that were not written any more: every round is
// one batch that touches all kinds of rows, and one call that writes three readings.
func crashWorker(ctx context.Context, s *Store, w int) error {
	key := crashKey(w)
	current, err := s.Run(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	page, err := s.LatestReadings(ctx, store.LatestQuery{Pipeline: key.Pipeline})
	if err != nil {
		return err
	}
	for n := current.Version; ; n++ {
		if n > current.Version {
			b, next := crashBatch(current, key, n)
			if err := s.Commit(ctx, b, noon); err != nil {
				return err
			}
			fmt.Printf("commit %d %d\n", w, n)
			current = next
		}
		if n == 0 || len(page.Items) > 0 && page.Items[0].Fields["n"] == n {
			continue
		}
		if _, err := s.PutReadings(ctx, crashWrites(key.Pipeline, n), noon); err != nil {
			return err
		}
		fmt.Printf("put %d %d\n", w, n)
	}
}

func crashKey(w int) run.Key { return keyOf(pipeline.ID(fmt.Sprintf("worker-%d", w))) }

func crashBatch(current run.Run, key run.Key, n int64) (store.Batch, run.Run) {
	next := run.Run{Key: key, Version: n, Status: run.Pending, Attempt: int(n), OpenedAt: noon}
	b := store.Batch{ID: fmt.Sprintf("round/%s/%d", key, n)}
	b.Swap(current, next)
	b.SwapDeadline(store.Deadline{Version: n - 1}, store.Deadline{Key: key, Kind: store.Absolute, Deadline: sla.Deadline{State: sla.Armed, BreachAt: noon}})
	b.Append(store.JobEntry{Key: key, Attempt: int(n), Event: store.JobStarted, At: noon})
	b.SetMark(crashMark(key, n), time.Time{})
	b.Emit(told(key, strconv.FormatInt(n, 10)))
	b.Schedule(store.Task{ID: "advance/" + key.String(), Kind: store.Advance, Key: key, Due: noon.Add(time.Duration(n))})
	return b, next
}

func crashMark(key run.Key, n int64) string { return fmt.Sprintf("%s/%d", key, n) }

var crashSensors = []sensor.Key{"a", "b", "c"}

func crashWrites(id pipeline.ID, n int64) (writes []store.Write) {
	for _, key := range crashSensors {
		writes = append(writes, store.Write{Pipeline: id, Reading: sensor.Reading{
			Key: key, Period: day(fmt.Sprintf("2026-03-%02d", 1+n%28)), Fields: sensor.Fields{"n": n},
		}})
	}
	return writes
}

// crashFollower receives changes and says that they are done, and claims tasks.
func crashFollower(ctx context.Context, s *Store) error {
	for {
		changes, err := s.Receive(ctx, "router", "follower", 7)
		if err != nil {
			return err
		}
		fmt.Printf("done %d\n", changes[len(changes)-1].Position)
		if err := s.Done(ctx, "router", changes); err != nil {
			return err
		}
		claims, err := s.Claim(ctx, store.ClaimQuery{Limit: 1, Lease: time.Second}, noon.Add(time.Hour))
		if err != nil {
			return err
		}
		for _, c := range claims {
			fmt.Printf("token %d\n", c.Lease.Token)
		}
	}
}

// crashTrimmer forgets changes that were passed, while the rest of the world goes on.
func crashTrimmer(ctx context.Context, s *Store) error {
	for {
		if _, err := s.Trim(ctx, store.Retention{}, noon); err != nil {
			return err
		}
		select {
		case <-s.feed.fed.Next():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// witness is what a process said before it was killed.
type witness struct {
	committed, put [crashWorkers]int64
	done, token    int64
}

func TestKilledAtAnyPointNothingAcknowledgedIsLost(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	dir := empty(t)
	random := rand.New(rand.NewPCG(1, 2))
	var seen witness
	for range rounds {
		before := seen.token
		runAndKill(t, dir, 1+random.IntN(400), &seen)
		if seen.token != 0 && seen.token < before {
			t.Errorf("token %d came after %d", seen.token, before)
		}
		image := crashImage(t, dir)
		seen.examine(t, opened(t, image, Options{}))
	}
}

// runAndKill kills the process after it has said so many things.
func runAndKill(t *testing.T, dir string, lines int, seen *witness) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	said := bufio.NewScanner(out)
	for n := 0; said.Scan(); n++ {
		seen.hear(t, said.Text())
		if n == lines {
			check(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || complaints.Len() > 0 {
		t.Fatalf("the process ended by itself: %v: %s", err, complaints.String())
	}
}

func (w *witness) hear(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	numbers := make([]int64, 2)
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		check(t, err)
		numbers[i] = n
	}
	switch words[0] {
	case "commit":
		w.committed[numbers[0]] = numbers[1]
	case "put":
		w.put[numbers[0]] = numbers[1]
	case "done":
		w.done = max(w.done, numbers[0])
	case "token":
		w.token = numbers[0]
	}
}

// crashImage copies the files as a crash leaves them, so that looking at them does not tidy up for the next process.
func crashImage(t testing.TB, dir string) string {
	t.Helper()
	image := t.TempDir()
	for _, name := range []string{fileName, fileName + "-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		check(t, err)
		check(t, os.WriteFile(filepath.Join(image, name), text, 0o600))
	}
	return image
}

// examine checks that everything acknowledged is there, and no half of anything.
func (w *witness) examine(t *testing.T, s *Store) {
	t.Helper()
	for worker := range crashWorkers {
		version := w.examineBatch(t, s, worker)
		if version < w.committed[worker] {
			t.Errorf("worker %d: batch %d was acknowledged, the run is at %d", worker, w.committed[worker], version)
		}
		if n := examineReadings(t, s, worker); n < w.put[worker] || n > version {
			t.Errorf("worker %d: readings %d were acknowledged, %d are there; the run is at %d", worker, w.put[worker], n, version)
		}
	}
	w.examineFeed(t, s)
	s.mustBeSound(t)
}

// examineBatch gives the version of a worker's run, and checks that everything else says the same.
func (w *witness) examineBatch(t *testing.T, s *Store, worker int) int64 {
	t.Helper()
	key := crashKey(worker)
	r, err := s.Run(t.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return 0
	}
	check(t, err)
	logs, err := s.JobLogs(t.Context(), []run.Key{key})
	check(t, err)
	deadlines, err := s.Deadlines(t.Context(), store.DeadlineQuery{Key: key})
	check(t, err)
	task, err := s.Task(t.Context(), "advance/"+key.String())
	check(t, err)
	marks, err := s.Marked(t.Context(), []string{crashMark(key, r.Version), crashMark(key, r.Version+1)})
	check(t, err)
	events, err := s.Events(t.Context(), store.EventQuery{Key: key, Limit: 1})
	check(t, err)
	got := []any{len(logs[key]), deadlines.Items[0].Version, task.Due.Sub(noon).Nanoseconds(), len(marks), marks[crashMark(key, r.Version)], events.Items[0].Detail.Message}
	want := []any{int(r.Version), r.Version, r.Version, 1, true, strconv.FormatInt(r.Version, 10)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("worker %d: log, deadline, task, marks and event say %v, want %v", worker, got, want)
	}
	return r.Version
}

// examineReadings gives the last call of a worker, and checks that all its writes are there, and their history.
func examineReadings(t *testing.T, s *Store, worker int) (last int64) {
	t.Helper()
	page, err := s.LatestReadings(t.Context(), store.LatestQuery{Pipeline: crashKey(worker).Pipeline})
	check(t, err)
	latest := page.Items
	if len(latest) == 0 {
		return 0
	}
	last = latest[0].Fields["n"].(int64)
	for _, r := range latest {
		if r.Fields["n"] != last || len(latest) != len(crashSensors) {
			t.Errorf("worker %d: half a call was stored: %v and %v", worker, latest[0], r)
		}
		history := allHistory(t, s, store.HistoryQuery{Pipeline: crashKey(worker).Pipeline, Key: r.Key})
		if int64(len(history)) != last {
			t.Errorf("worker %d: history of %s has %d writes, want %d", worker, r.Key, len(history), last)
		}
		for i, h := range history {
			if h.Fields["n"] != last-int64(i) {
				t.Fatalf("worker %d: write %d of %s is %v", worker, last-int64(i), r.Key, h.Fields)
			}
		}
	}
	return last
}

func allHistory(t testing.TB, s *Store, q store.HistoryQuery) (all []*sensor.Reading) {
	t.Helper()
	for {
		page, err := s.History(t.Context(), q)
		check(t, err)
		if all = append(all, page.Items...); page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
}

// examineFeed checks that the group's place has passed nothing but what was done.
func (w *witness) examineFeed(t *testing.T, s *Store) {
	t.Helper()
	place := s.feed.get("router").place
	if place > w.done {
		t.Errorf("the place %d has passed %d, the last that was done", place, w.done)
	}
	n, _, err := s.Backlog(t.Context(), "router")
	check(t, err)
	for next := place + 1; n > 0; {
		changes, err := s.Receive(t.Context(), "router", "examiner", n)
		check(t, err)
		for _, c := range changes {
			if int64(c.Position) != next {
				t.Fatalf("change %d came where %d was due", c.Position, next)
			}
			next++
		}
		n -= len(changes)
	}
}

// mustBeSound lets SQLite look at the whole file.
func (s *Store) mustBeSound(t testing.TB) {
	t.Helper()
	check(t, s.read(t.Context(), func(c *conn) error {
		_, err := c.one("PRAGMA integrity_check", func(r row) error {
			if r.text(0) != "ok" {
				t.Errorf("integrity: %s", r.text(0))
			}
			return nil
		})
		return err
	}))
}
