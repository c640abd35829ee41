package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// closedStore returns a data directory that a store has used.
func closedStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	check(t, err)
	check(t, s.Close())
	return dir
}

// refusesStore checks that the directory cannot be opened, and that the error says all that.
func refusesStore(t *testing.T, dir string, o Options, says ...string) {
	t.Helper()
	s, err := Open(t.Context(), dir, o)
	if err == nil {
		t.Fatal("it was opened", s.Close())
	}
	for _, one := range says {
		if !strings.Contains(err.Error(), one) {
			t.Errorf("%v does not say %q", err, one)
		}
	}
}

func TestLostDatabaseIsNotReplacedInSilence(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := closedStore(t)
			path := filepath.Join(dir, fileName)
			kept, err := os.ReadFile(path)
			check(t, err)
			check(t, lose(path))
			for range 2 {
				refusesStore(t, dir, Options{}, "missing or empty", "interlock restore", "serve --new")
			}
			check(t, os.WriteFile(path, kept, 0o600))
			s, err := Open(t.Context(), dir, Options{})
			check(t, err)
			check(t, s.Close())
			check(t, lose(path))
			s, err = Open(t.Context(), dir, Options{New: true})
			check(t, err)
			check(t, s.Close())
			s, err = Open(t.Context(), dir, Options{}) // it belongs to the new one
			check(t, err)
			check(t, s.Close())
		})
	}
}

func TestDirectoryThatMustHaveADatabaseBeginsNone(t *testing.T) {
	dir := t.TempDir()
	refusesStore(t, dir, Options{MustExist: true}, "is the right volume mounted", "serve --new")
	s, err := Open(t.Context(), dir, Options{MustExist: true, New: true})
	check(t, err)
	check(t, s.Close())
	s, err = Open(t.Context(), dir, Options{MustExist: true})
	check(t, err)
	check(t, s.Close())
}

func TestDatabaseOfAnotherStoreIsRefused(t *testing.T) {
	dir, other := closedStore(t), closedStore(t)
	text, err := os.ReadFile(filepath.Join(other, fileName))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, fileName), text, 0o600))
	refusesStore(t, dir, Options{}, "belongs to the store", "--new")
	s, err := Open(t.Context(), dir, Options{New: true})
	check(t, err)
	check(t, s.Close())
}

// A file that is deleted while it is open takes commits, which are gone when the process ends.
func TestDatabaseThatIsDeletedWhileOpenAcknowledgesNothing(t *testing.T) {
	for _, name := range []string{fileName, fileName + "-wal"} {
		t.Run(name, func(t *testing.T) {
			dir := empty(t)
			s := opened(t, dir, Options{})
			put(t, s, reading("rows", 1))
			check(t, s.Trouble())
			path := filepath.Join(dir, name)
			check(t, os.Rename(path, path+".away"))
			wantFault(t, "trouble", s.Trouble(), store.Failing)
			wantFault(t, "put", s.Apply(t.Context(), row.Tx{Ops: []row.Op{reading("rows", 2)}}, noon), store.Failing)
			check(t, os.Rename(path+".away", path))
			check(t, s.Probe(t.Context()))
			put(t, s, reading("other", 3))
		})
	}
}

// loggedImage returns what a crash leaves of a store with acknowledged commits in its log.
func loggedImage(t *testing.T) (dir, log string) {
	t.Helper()
	from := empty(t)
	s := opened(t, from, Options{})
	for n := range int64(5) {
		put(t, s, reading("rows", n))
	}
	dir = t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS(from)))
	check(t, s.Close())
	return dir, filepath.Join(dir, fileName+"-wal")
}

func TestLogThatCannotBeReplayedIsNamed(t *testing.T) {
	for name, damage := range map[string]func(log []byte) []byte{
		"rubbish":                  func(log []byte) []byte { return bytes.Repeat([]byte("damaged!"), len(log)/8) },
		"zeros":                    func(log []byte) []byte { return make([]byte, len(log)) },
		"empty":                    func([]byte) []byte { return nil },
		"a header of another":      func(log []byte) []byte { log[20]++; return log },
		"a damaged first commit":   func(log []byte) []byte { log[walHeader+walFrameHeader+100]++; return log },
		"a salt of an earlier log": func(log []byte) []byte { log[walHeader+8]++; return log },
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := loggedImage(t)
			log, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, damage(log), 0o600))
			for range 2 {
				refusesStore(t, dir, Options{}, path)
			}
		})
	}
}

// What was being written at a crash was not acknowledged.
func TestTornEndOfTheLogIsDropped(t *testing.T) {
	for name, tear := range map[string]func(log []byte) []byte{
		"cut":              func(log []byte) []byte { return log[:len(log)-100] },
		"damaged":          func(log []byte) []byte { log[len(log)-100]++; return log },
		"followed by more": func(log []byte) []byte { return append(log, bytes.Repeat([]byte("damaged!"), 2000)...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := loggedImage(t)
			log, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, tear(log), 0o600))
			s := opened(t, dir, Options{})
			if got := count(t, s, "rows"); got < 3 {
				t.Errorf("it has %d", got)
			}
		})
	}
}

// After a commit that failed, its remains stay in the log behind those that succeeded.
func TestRemainsOfFailedCommitsAreNoDamage(t *testing.T) {
	dir, path := loggedImage(t)
	log, err := os.ReadFile(path)
	check(t, err)
	log[len(log)/2]++
	check(t, os.WriteFile(path, log, 0o600))
	refusesStore(t, dir, Options{}, path)
	check(t, markOpen(filepath.Join(dir, fileName)))
	if got := count(t, opened(t, dir, Options{}), "rows"); got < 0 {
		t.Errorf("it has %d", got)
	}
}

func TestDatabaseMayBeALink(t *testing.T) {
	dir, elsewhere := closedStore(t), t.TempDir()
	path := filepath.Join(dir, fileName)
	check(t, os.Rename(path, filepath.Join(elsewhere, fileName)))
	check(t, os.RemoveAll(path+"-wal"))
	check(t, os.RemoveAll(path+"-shm"))
	check(t, os.Symlink(filepath.Join(elsewhere, fileName), path))
	for n := range int64(3) {
		s := opened(t, dir, Options{})
		put(t, s, reading("rows", n))
		check(t, s.Close())
	}
}
