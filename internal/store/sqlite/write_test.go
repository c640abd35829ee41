package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// spoiler is an op that makes its transaction worthless after it has changed something.
type spoiler struct{ err error }

func (o *spoiler) do(tx *tx) error {
	if err := tx.exec("INSERT INTO marks (mark) VALUES ('spoilt')"); err != nil {
		return err
	}
	return o.err
}

// queued hands calls to the writer while it is busy, one after the other, so that it finds all of them when it is free.
func queued(t *testing.T, s *Store, calls ...func() error) []error {
	t.Helper()
	release := busy(t, s)
	defer release()
	answers := make([]chan error, len(calls))
	for i, call := range calls {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- call() }()
		waitFor(t, s, i+1)
	}
	release()
	errs := make([]error, len(calls))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	return errs
}

// waitFor returns once so many calls are queued.
func waitFor(t *testing.T, s *Store, n int) {
	t.Helper()
	for len(s.queue) < n {
		if t.Context().Err() != nil {
			t.Fatal("the calls were never queued")
		}
		runtime.Gosched()
	}
}

func TestConflictInAGroupHarmsNobodyElse(t *testing.T) {
	s := opened(t, empty(t), Options{})
	twice := opening(orders)
	twice.ID = "another"
	errs := queued(t, s,
		func() error { return s.Commit(t.Context(), opening(orders), noon) },
		func() error { _, err := s.PutReadings(t.Context(), []store.Write{write("rows", 1)}, noon); return err },
		func() error { return s.Commit(t.Context(), twice, noon) },
		func() error { return s.Commit(t.Context(), opening(keyOf("silver")), noon) },
		func() error { _, err := s.PutReadings(t.Context(), []store.Write{write("rows", 2)}, noon); return err },
	)
	for i, err := range errs {
		if want := i == 2; want != errors.Is(err, store.ErrConflict) || !want && err != nil {
			t.Errorf("call %d was answered with %v", i, err)
		}
	}
	if got := count(t, s, "rows"); got != 2 {
		t.Errorf("the last write shows %d", got)
	}
	page, err := s.Runs(t.Context(), store.RunQuery{})
	check(t, err)
	if len(page.Items) != 2 {
		t.Errorf("there are %d runs, want 2", len(page.Items))
	}
}

// Two rounds of trimming may begin at the same moment. Each folds a step, and both steps may be in one transaction.
func TestTwoFoldsInOneTransactionLoseNoReading(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{foldStep: 1})
	const keys = 6
	for i := range keys {
		note(t, s, write(sensor.Key(fmt.Sprint("rows-", i)), int64(i+1)))
	}
	fold := func() error { return s.write(t.Context(), &foldUpTo{pos: s.committed.Load()}) }
	for range keys {
		for _, err := range queued(t, s, fold, fold) {
			check(t, err)
		}
	}
	shows := func(when string, s *Store) {
		t.Helper()
		for i := range keys {
			if got := count(t, s, sensor.Key(fmt.Sprint("rows-", i))); got != int64(i+1) {
				t.Errorf("%s, sensor %d shows %d", when, i, got)
			}
		}
	}
	shows("at once", s)
	check(t, s.Close())
	shows("after a restart", opened(t, dir, Options{}))
}

// A row that is too large, or a disk that is full for one and not for another.
func TestSpoiltTransactionIsTriedAgainWithoutTheSpoiler(t *testing.T) {
	s := opened(t, empty(t), Options{})
	spoilt := errors.New("spoilt")
	var puts []store.Put
	errs := queued(t, s,
		func() (err error) {
			puts, err = s.PutReadings(t.Context(), []store.Write{write("rows", 1), write("rows", 1)}, noon)
			return err
		},
		func() error { return s.write(t.Context(), &spoiler{spoilt}) },
		func() error { return s.Commit(t.Context(), opening(orders), noon) },
	)
	if errs[0] != nil || !errors.Is(errs[1], spoilt) || errs[2] != nil {
		t.Errorf("answers %v", errs)
	}
	if len(puts) != 2 || !puts[0].Changed || puts[1].Changed || puts[1].Version != puts[0].Version+1 {
		t.Errorf("puts %+v", puts)
	}
	marks, err := s.Marked(t.Context(), []string{"spoilt"})
	check(t, err)
	if len(marks) > 0 {
		t.Error("something of the spoilt transaction is left")
	}
}

func TestCallerDoesNotWaitLongerThanItsContext(t *testing.T) {
	s := opened(t, empty(t), Options{})
	release := busy(t, s)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error)
	go func() { answer <- s.Commit(ctx, opening(orders), noon) }()
	waitFor(t, s, 1)
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("answered with %v", err)
	}
	release()
	note(t, s, write("rows", 1)) // comes after it in the queue
	if _, err := s.Run(t.Context(), orders); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what nobody waited for any more was begun: %v", err)
	}
}

func TestCloseAnswersEverybody(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{})
	release := busy(t, s)
	answers := make(chan error)
	go func() { answers <- s.Commit(t.Context(), opening(orders), noon) }()
	waitFor(t, s, 1)
	go func() {
		_, err := s.Receive(t.Context(), "router", "a", 1)
		answers <- err
	}()
	go func() { answers <- s.Close() }()
	<-s.quit
	release()
	var failed []error
	for range 3 {
		if err := <-answers; err != nil {
			failed = append(failed, err)
		}
	}
	// The consumer may have seen the commit before the store was closed.
	if len(failed) > 1 || len(failed) == 1 && !errors.Is(failed[0], errClosed) {
		t.Errorf("answers %v", failed)
	}
	if _, err := opened(t, dir, Options{}).Run(t.Context(), orders); err != nil {
		t.Errorf("what was acknowledged is lost: %v", err)
	}
}

// full makes the file refuse to grow beyond so many pages more, as a full disk does.
func full(t *testing.T, s *Store, pages int) {
	t.Helper()
	check(t, s.write(t.Context(), opFunc(func(tx *tx) error {
		n, err := tx.number("PRAGMA page_count")
		if err != nil {
			return err
		}
		_, err = tx.number(fmt.Sprintf("PRAGMA max_page_count = %d", n+int64(pages)))
		return err
	})))
}

type opFunc func(*tx) error

func (f opFunc) do(tx *tx) error { return f(tx) }

func TestFullDiskHarmsNothing(t *testing.T) {
	s := opened(t, empty(t), Options{})
	note(t, s, write("rows", 1))
	full(t, s, 0)
	large := write("large", 0)
	large.Reading.Fields["text"] = strings.Repeat("x", 60_000)
	b := opening(orders)
	for i := range 9 {
		b.Emit(told(orders, fmt.Sprint(i)+strings.Repeat("x", 60_000)))
	}
	_, err := s.PutReadings(t.Context(), []store.Write{write("rows", 2), large}, noon)
	for what, err := range map[string]error{"put": err, "commit": s.Commit(t.Context(), b, noon)} {
		if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), s.conn.path) {
			t.Errorf("%s was answered with %v", what, err)
		}
	}
	if got := count(t, s, "rows"); got != 1 {
		t.Errorf("half a call was stored: %d", got)
	}
	if _, err := s.Run(t.Context(), orders); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("half a batch was stored: %v", err)
	}
	full(t, s, 1<<20)
	check(t, s.Commit(t.Context(), b, noon))
	note(t, s, write("rows", 2), large)
	if got := count(t, s, "rows"); got != 2 {
		t.Errorf("with space again it shows %d", got)
	}
}

// Folding needs space too. Without it readings stay in memory, up to a limit, and nothing that was acknowledged is lost.
func TestFullDiskStopsFoldingOnly(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{foldAfter: 10})
	full(t, s, 25)
	var taken int64
	for n := range int64(10_000) {
		text := write(sensorKey(n), n)
		text.Reading.Fields["text"] = strings.Repeat("x", 1000)
		if _, err := s.PutReadings(t.Context(), []store.Write{text}, noon); err != nil {
			if !strings.Contains(err.Error(), "no space left") {
				t.Error(err)
			}
			break
		}
		taken++
	}
	if taken == 0 || taken == 10_000 {
		t.Fatalf("%d writes were taken", taken)
	}
	for n := range taken {
		if got := count(t, s, sensorKey(n)); got != n {
			t.Fatalf("write %d shows %d", n, got)
		}
	}
	full(t, s, 1<<20)
	note(t, s, write("last", 1))
	check(t, s.Close())
	s = opened(t, dir, Options{})
	for n := range taken {
		if got := count(t, s, sensorKey(n)); got != n {
			t.Fatalf("write %d shows %d after reopening", n, got)
		}
	}
}

func sensorKey(n int64) sensor.Key { return sensor.Key(fmt.Sprintf("sensor-%d", n)) }

func TestWriteAheadLogDoesNotGrow(t *testing.T) {
	dir := empty(t)
	s := opened(t, dir, Options{checkpointAfter: 50})
	large := write("large", 0)
	for n := range int64(400) {
		large.Reading.Fields = sensor.Fields{"text": strings.Repeat("x", 40_000), "n": n}
		note(t, s, large)
	}
	info, err := os.Stat(filepath.Join(dir, fileName+"-wal"))
	check(t, err)
	if most := int64(8 << 20); info.Size() > most {
		t.Errorf("it has %d bytes after 16 MB of writes, want at most %d", info.Size(), most)
	}
}

// However long folding fails, memory stays bounded: writes are refused once there is no more room to remember them.
func TestFoldingThatFailsStopsWritesInTime(t *testing.T) {
	s := opened(t, empty(t), Options{foldAfter: 10})
	change := func(sql string) {
		t.Helper()
		check(t, s.write(t.Context(), opFunc(func(tx *tx) error { return tx.exec(sql) })))
	}
	change("CREATE TRIGGER stuck BEFORE INSERT ON readings BEGIN SELECT RAISE(ABORT, 'the shelf is broken'); END")
	var taken int64
	var err error
	for ; err == nil && taken < 1000; taken++ {
		_, err = s.PutReadings(t.Context(), []store.Write{write(sensorKey(taken), taken)}, noon)
	}
	if taken--; taken < 10 || taken > 30 || !strings.Contains(err.Error(), "the shelf is broken") {
		t.Fatalf("after %d writes: %v", taken, err)
	}
	check(t, s.Commit(t.Context(), opening(orders), noon)) // what takes no memory goes on
	change("DROP TRIGGER stuck")
	note(t, s, write(sensorKey(taken), taken))
	for n := range taken + 1 {
		if got := count(t, s, sensorKey(n)); got != n {
			t.Errorf("write %d shows %d", n, got)
		}
	}
}
