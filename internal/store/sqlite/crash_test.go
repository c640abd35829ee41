package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
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

	"github.com/interlock-go/interlock/internal/store/row"
)

// crashDir is the directory that a process uses until it is killed.
const crashDir = "INTERLOCK_CRASH_DIR"

const crashWorkers = 4

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, workUntilKilled(dir))
		os.Exit(1)
	}
	// A transaction of this engine costs a thousand times one in memory.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// workUntilKilled writes as fast as it can. It prints what was acknowledged to it afterwards, and
// what it is about to acknowledge beforehand. It returns only on an error.
func workUntilKilled(dir string) error {
	ctx := context.Background()
	e, err := OpenEngine(ctx, dir, Options{checkpointAfter: 30}) // often, so that some kills hit one
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range crashWorkers {
		go func() { failed <- crashWorker(ctx, e, w) }()
	}
	go func() { failed <- crashFollower(ctx, e) }()
	go func() { failed <- crashTrimmer(ctx, e) }()
	return <-failed
}

func crashRef(w int) row.Ref {
	return row.Ref{Kind: "run", Part: fmt.Sprint("worker-", w), Key: "state"}
}

// crashRows is how many rows a round replaces besides the worker's, all with its version.
const crashRows = 5

// crashTx is one round of a worker: it uses everything that a transaction can contain.
func crashTx(w int, n int64) row.Tx {
	ref := crashRef(w)
	version := func(key string, condition int64) row.Op {
		return row.Op{If: condition, Row: row.Row{
			Ref: row.Ref{Kind: ref.Kind, Part: ref.Part, Key: key}, Version: n, Body: fmt.Appendf(nil, `{"n":%d}`, n),
			Places: [row.Indexes]row.Place{row.Ordered: {List: "runs", Key: fmt.Sprintf("%d#%d#%s", n%7, w, key)}},
		}}
	}
	tx := row.Tx{
		ID: fmt.Sprintf("round/%d/%d", w, n), Ops: []row.Op{version(ref.Key, n-1), version(fmt.Sprint("log/", n), 0)},
		Events: []row.Event{{
			ID: fmt.Sprintf("%d/%d", w, n), Part: ref.Part, Type: "ROUND", At: noon,
			Body: fmt.Appendf(nil, `{"n":%d}`, n),
		}},
	}
	for i := range crashRows {
		tx.Ops = append(tx.Ops, version(fmt.Sprint("row/", i), row.Any))
	}
	tx.Ops[0].Change = fmt.Appendf(nil, `{"n":%d}`, n)
	tx.Ops[1].Change = tx.Ops[0].Change
	return tx
}

// crashWorker continues from the version of its row.
func crashWorker(ctx context.Context, e *Engine, w int) error {
	rows, err := e.Get(ctx, []row.Ref{crashRef(w)})
	if err != nil {
		return err
	}
	for n := rows[0].Version + 1; ; n++ {
		if err := e.Apply(ctx, crashTx(w, n), noon); err != nil {
			return err
		}
		fmt.Printf("applied %d %d\n", w, n)
		number, err := e.Next(ctx, 100)
		if err != nil {
			return err
		}
		fmt.Printf("drawn %d\n", number+99)
	}
}

// crashFollower receives changes and acknowledges them.
func crashFollower(ctx context.Context, e *Engine) error {
	for {
		changes, err := e.Receive(ctx, "router", "follower", 7)
		if err != nil {
			return err
		}
		fmt.Printf("acked %d\n", changes[len(changes)-1].Position)
		if err := e.Ack(ctx, "router", changes); err != nil {
			return err
		}
	}
}

// crashTrimmer trims acknowledged changes while the others continue.
func crashTrimmer(ctx context.Context, e *Engine) error {
	for {
		changed := e.Changed(row.EventTopic)
		if _, err := e.Trim(ctx, noon, 10); err != nil {
			return err
		}
		<-changed
	}
}

// witness records what a process printed before it was killed.
type witness struct {
	applied      [crashWorkers]int64
	acked, drawn int64
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
		runAndKill(t, dir, 1+random.IntN(400), &seen)
		seen.examine(t, opened(t, crashImage(t, dir), Options{}))
	}
}

// runAndKill kills the process after it has printed that many lines.
func runAndKill(t *testing.T, dir string, lines int, seen *witness) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	printed := bufio.NewScanner(out)
	for n := 0; printed.Scan(); n++ {
		seen.read(t, printed.Text())
		if n == lines {
			check(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || failure.Len() > 0 {
		t.Fatalf("the process ended by itself: %v: %s", err, failure.String())
	}
}

func (w *witness) read(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	numbers := make([]int64, 2)
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		check(t, err)
		numbers[i] = n
	}
	switch words[0] {
	case "applied":
		w.applied[numbers[0]] = numbers[1]
	case "acked":
		w.acked = max(w.acked, numbers[0])
	case "drawn":
		w.drawn = max(w.drawn, numbers[0])
	}
}

// crashImage copies the files as a crash leaves them, so that reading them does not affect the next
// process.
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

// examine checks that everything acknowledged exists, and nothing is half done.
func (w *witness) examine(t *testing.T, e *Engine) {
	t.Helper()
	rounds := int64(0)
	for worker := range crashWorkers {
		n := examineWorker(t, e, worker)
		if n < w.applied[worker] {
			t.Errorf("worker %d: round %d was acknowledged, the row is at %d", worker, w.applied[worker], n)
		}
		rounds += n
	}
	w.examineChanges(t, e, 2*rounds)
	if n, err := e.Next(t.Context(), 1); err != nil || n <= w.drawn {
		t.Errorf("number %d came after %d: %v", n, w.drawn, err)
	}
	e.mustBeSound(t)
}

// examineWorker returns the version of a worker's row, and checks that everything else agrees with
// it.
func examineWorker(t *testing.T, e *Engine, worker int) int64 {
	t.Helper()
	ref := crashRef(worker)
	n := get(t, e, ref).Version
	if n == 0 {
		return 0
	}
	pages, err := e.Scan(t.Context(), []row.Range{
		{Kind: ref.Kind, Part: ref.Part, From: "log/", To: "log0", Limit: 100_000},
		{Kind: ref.Kind, Part: ref.Part, From: "row/", To: "row0", Limit: 100_000},
		{
			Kind: ref.Kind, Part: ref.Part, List: "runs", Limit: 100_000,
			From: fmt.Sprintf("%d#", n%7), To: fmt.Sprintf("%d$", n%7),
		},
		{Kind: row.Events, Part: ref.Part, List: "events", Limit: 100_000},
	})
	check(t, err)
	listed := 0
	for _, r := range pages[2].Rows {
		if r.Version == n {
			listed++
		}
	}
	last := pages[3].Rows[len(pages[3].Rows)-1]
	got := []any{len(pages[0].Rows), len(pages[1].Rows), listed, len(pages[3].Rows), string(last.Body)}
	want := []any{n, crashRows, crashRows + 2, n, fmt.Sprintf(`{"n":%d}`, n)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("worker %d: log, rows, places and events are %v, want %v", worker, got, want)
	}
	for _, r := range pages[1].Rows {
		if r.Version != n {
			t.Errorf("worker %d: %s is at version %d, want %d", worker, r.Ref, r.Version, n)
		}
	}
	if err := e.Apply(t.Context(), crashTx(worker, n), noon); err != nil {
		t.Errorf("worker %d: round %d is not recognised: %v", worker, n, err)
	}
	return n
}

// examineChanges checks that the group has passed only acknowledged changes, and that the log has
// no gap.
func (w *witness) examineChanges(t *testing.T, e *Engine, last int64) {
	t.Helper()
	n, oldest, err := e.Backlog(t.Context(), "router")
	check(t, err)
	if oldest == nil {
		if w.acked < last {
			t.Errorf("%d changes are lost after %d", last-w.acked, w.acked)
		}
		return
	}
	if oldest.Position > w.acked+1 {
		t.Errorf("the oldest change is %d, and %d was the last to be acknowledged", oldest.Position, w.acked)
	}
	for next := oldest.Position; n > 0; {
		changes, err := e.Receive(t.Context(), "router", "examiner", n)
		check(t, err)
		for _, c := range changes {
			if c.Position != next || !json.Valid(c.Body) {
				t.Fatalf("received change %d (%s), want %d", c.Position, c.Body, next)
			}
			next++
		}
		if n -= len(changes); n == 0 && next != last+1 {
			t.Errorf("the last change is %d, want %d", next-1, last)
		}
	}
}

// mustBeSound runs SQLite's integrity check on the whole file.
func (e *Engine) mustBeSound(t testing.TB) {
	t.Helper()
	check(t, e.read(t.Context(), func(c *conn) error {
		_, err := c.one("PRAGMA integrity_check", func(v values) error {
			if v.text(0) != "ok" {
				t.Errorf("integrity: %s", v.text(0))
			}
			return nil
		})
		return err
	}))
}
