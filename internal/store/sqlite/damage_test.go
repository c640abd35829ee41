package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// filled returns a closed data directory with that many readings of 500 bytes, a run and its event.
func filled(t *testing.T, readings int) (dir string) {
	t.Helper()
	dir = empty(t)
	s := opened(t, dir, Options{})
	for n := range readings {
		op := reading(sensorKey(n), int64(n))
		op.Row.Body = fmt.Appendf(nil, `{"count":%d,"text":"%0500d"}`, n, 0)
		put(t, s, op)
	}
	check(t, s.Apply(t.Context(), opening("x"), noon))
	check(t, s.Close())
	return dir
}

func sensorKey(n int) string { return fmt.Sprintf("sensor-%d", n) }

// rootOf returns the first page of a table or an index.
func rootOf(t *testing.T, dir, table string) (page int64) {
	t.Helper()
	c, err := connect(filepath.Join(dir, fileName), "rw")
	check(t, err)
	page, err = c.number("SELECT rootpage FROM sqlite_schema WHERE name = ?", table)
	check(t, errors.Join(err, c.close()))
	return page
}

// overwrite damages pages of a closed database, counted from 1.
func overwrite(t *testing.T, dir string, pages ...int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR, 0)
	check(t, err)
	for _, page := range pages {
		_, err := f.WriteAt([]byte(strings.Repeat("damaged!", 512)), (page-1)*4096)
		check(t, err)
	}
	check(t, f.Close())
}

// Damage anywhere is found in the background soon after the start, even if nothing reads there.
func TestDamageIsFoundAfterTheStart(t *testing.T) {
	dir := filled(t, 1)
	s := opened(t, dir, Options{})
	s.checks.Wait()
	check(t, s.Trouble())
	check(t, s.Close())

	overwrite(t, dir, rootOf(t, dir, "rows_aging"))
	s, err := OpenEngine(t.Context(), dir, Options{})
	check(t, err)
	s.checks.Wait()
	wantFault(t, "trouble", s.Trouble(), store.Damaged)
	if err := s.Trouble(); !strings.Contains(err.Error(), "interlock repair") || !strings.Contains(err.Error(), "backup") {
		t.Errorf("%v does not say what to do", err)
	}
	wantFault(t, "probe", s.Probe(t.Context()), store.Damaged) // a successful probe does not clear it
	check(t, s.Close())
}

func TestReadThatHitsDamageIsRemembered(t *testing.T) {
	dir := filled(t, 1)
	overwrite(t, dir, rootOf(t, dir, "rows_pending"))
	s, err := OpenEngine(t.Context(), dir, Options{})
	if err != nil {
		wantFault(t, "open", err, store.Damaged)
		return
	}
	s.stopChecking()
	s.checks.Wait()
	s.condition.damage = nil
	_, err = s.Scan(t.Context(), []row.Range{{Kind: "run", Index: row.Pending, List: "open", Limit: 1}})
	wantFault(t, "read", err, store.Damaged)
	wantFault(t, "trouble", s.Trouble(), store.Damaged)
	check(t, s.Close())
}

// crashed returns a store with a reading, its directory, and a copy of that as a crash would leave it.
func crashed(t *testing.T) (s *Engine, dir, image string) {
	t.Helper()
	dir, image = empty(t), t.TempDir()
	s = opened(t, dir, Options{})
	put(t, s, reading("rows", 7))
	check(t, os.CopyFS(image, os.DirFS(dir)))
	return s, dir, image
}

// The write-ahead log holds what was acknowledged before a crash. Without it the store would
// silently continue with less.
func TestMissingLogIsNoticed(t *testing.T) {
	s, dir, image := crashed(t)
	check(t, s.Close())
	s = opened(t, dir, Options{}) // after a clean shutdown nothing is missing
	check(t, s.Close())
	check(t, os.Remove(filepath.Join(dir, fileName+"-wal")))
	check(t, opened(t, dir, Options{}).Close())

	log := filepath.Join(image, fileName+"-wal")
	kept, err := os.ReadFile(log)
	check(t, err)
	check(t, os.Remove(log))
	for range 2 {
		if _, err := OpenEngine(t.Context(), image, Options{}); err == nil || !strings.Contains(err.Error(), "-wal is missing") {
			t.Fatalf("opened without its log: %v", err)
		}
	}
	if _, err := os.Lstat(log); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log came back: %v", err)
	}
	check(t, os.WriteFile(log, kept, 0o600))
	if got := count(t, opened(t, image, Options{}), "rows"); got != 7 {
		t.Errorf("with its log it has %d", got)
	}
}

// A backup of a directory left by a crash does not change it.
func TestBackupAfterACrashLeavesTheLog(t *testing.T) {
	_, _, image := crashed(t)
	check(t, BackupDir(t.Context(), image, filepath.Join(t.TempDir(), "backup.db")))
	if got := count(t, opened(t, image, Options{}), "rows"); got != 7 {
		t.Errorf("it shows %d", got)
	}
}

func TestLogDoesNotGrowWithCrashes(t *testing.T) {
	dir, largest := empty(t), int64(0)
	for crash := range 20 {
		s := opened(t, dir, Options{})
		for n := range 50 {
			put(t, s, reading(sensorKey(n), int64(crash)))
		}
		image := t.TempDir()
		check(t, os.CopyFS(image, os.DirFS(dir)))
		check(t, s.Close())
		info, err := os.Stat(filepath.Join(image, fileName+"-wal"))
		check(t, err)
		if crash == 2 {
			largest = info.Size()
		}
		if crash > 2 && info.Size() > 2*largest {
			t.Fatalf("after %d crashes the log has %d bytes, after 3 it had %d", crash+1, info.Size(), largest)
		}
		dir = image
	}
}
