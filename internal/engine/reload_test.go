package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/engine"
)

// folder is a directory of pipelines, and what was applied from it.
type folder struct {
	*testing.T
	dir    string
	cancel context.CancelFunc
	again  func(engine.Folders)

	mu       sync.Mutex
	lists    [][]string // names and texts, one list per call
	same     []bool     // whether the folder was the same directory, per call
	reported []error
}

// applied returns everything applied so far, and last the latest.
func (f *folder) applied() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lists)
}

func (f *folder) last() []string {
	all := f.applied()
	return all[len(all)-1]
}

// trouble returns the last reported error.
func (f *folder) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reported[len(f.reported)-1]
}

func newFolder(t *testing.T) *folder {
	return &folder{T: t, dir: filepath.Join(t.TempDir(), "pipelines")}
}

func (f *folder) write(name, text string) {
	f.Helper()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) remove(name string) {
	f.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) reloader() *engine.Reloader {
	return engine.NewReloader(engine.Folders{Pipelines: []string{f.dir}}, func(_ context.Context, files catalog.Files, _ time.Time) error {
		var names []string
		for _, src := range files.Pipelines {
			names = append(names, filepath.Base(src.File)+"="+string(src.Data))
		}
		for _, file := range files.Gone {
			names = append(names, filepath.Base(file)+" was there")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lists = append(f.lists, names)
		f.same = append(f.same, slices.Contains(files.Same, f.dir))
		return nil
	}, func(err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reported = append(f.reported, err)
	})
}

// watch loads and watches the folder in a bubble whose clock the test advances.
func (f *folder) watch() {
	f.Helper()
	r := f.reloader()
	if err := r.Load(f.Context(), time.Now()); err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(f.Context())
	f.cancel = cancel
	f.again = r.Again
	go r.Watch(ctx)
}

// pass advances the clock.
func (f *folder) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

func TestEmptiedFolderIsDistinguishedFromALostOne(t *testing.T) {
	for _, c := range []struct {
		name  string
		empty func(f *folder)
		want  []bool
	}{
		{"its file is deleted", func(f *folder) { f.remove("a.yaml") }, []bool{true, true, true}},
		{"another directory is in its place", func(f *folder) {
			if err := os.Rename(f.dir, f.dir+".away"); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(f.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, []bool{true, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFolder(t)
				f.write("a.yaml", "1")
				f.watch()
				c.empty(f)
				f.pass(10 * time.Second)
				f.cancel()
				if diff := cmp.Diff(c.want, f.same); diff != "" {
					t.Errorf("the same directory (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestChangedFileTakesEffectWithinTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("a.yaml", "1")
		f.watch()
		f.pass(10 * time.Second)
		f.write("a.yaml", "22")
		f.write("b.yaml", "3")
		f.pass(2 * time.Second)
		f.cancel()
		if diff := cmp.Diff([][]string{{"a.yaml=1"}, {"a.yaml=22", "b.yaml=3"}}, f.applied()); diff != "" {
			t.Errorf("applied (-want +got):\n%s", diff)
		}
	})
}

func TestAgainReadsFoldersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := newFolder(t), newFolder(t)
		f.write("a.yaml", "1")
		other.write("b.yaml", "2")
		f.watch()
		f.again(engine.Folders{Pipelines: []string{f.dir, other.dir}})
		synctest.Wait()
		if diff := cmp.Diff([][]string{{"a.yaml=1"}, {"a.yaml=1", "b.yaml=2"}}, f.applied()); diff != "" {
			t.Errorf("applied (-want +got):\n%s", diff)
		}
		f.cancel()
		synctest.Wait()
		f.again(engine.Folders{}) // it also returns after Watch has ended
	})
}

func TestFileIsRemovedOnlyAfterAGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("a.yaml", "1")
		f.write("b.yaml", "2")
		f.watch()
		f.remove("b.yaml")
		f.pass(4 * time.Second)
		for _, names := range f.applied() {
			if !slices.Contains(names, "b.yaml=2") && !slices.Contains(names, "b.yaml was there") {
				t.Errorf("removed early: %v", names)
			}
		}
		f.pass(4 * time.Second)
		f.cancel()
		if last := f.last(); !slices.Equal(last, []string{"a.yaml=1"}) {
			t.Errorf("still there: %v", last)
		}
	})
}

func TestFileReplacedByDeletingItFirstIsNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("a.yaml", "1")
		f.watch()
		f.remove("a.yaml")
		f.pass(3 * time.Second)
		f.write("a.yaml", "22")
		f.pass(10 * time.Second)
		f.cancel()
		for _, names := range f.applied() {
			if len(names) != 1 {
				t.Errorf("applied %v", names)
			}
		}
		if last := f.last(); !slices.Equal(last, []string{"a.yaml=22"}) {
			t.Errorf("applied %v", last)
		}
	})
}

func TestDirectoryThatVanishesRemovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFolder(t)
		f.write("a.yaml", "1")
		f.watch()
		f.remove(".")
		if err := os.RemoveAll(f.dir); err != nil {
			t.Fatal(err)
		}
		f.pass(time.Minute)
		if all := f.applied(); len(all) != 1 {
			t.Errorf("applied %v", all)
		}
		if f.trouble() == nil {
			t.Error("the error was not reported")
		}
		f.write("a.yaml", "1")
		f.pass(2 * time.Second)
		f.cancel()
		if err := f.trouble(); err != nil {
			t.Errorf("still reported after it was back: %v", err)
		}
	})
}

func TestMissingDirectoryIsRejectedAtStart(t *testing.T) {
	f := newFolder(t)
	if err := f.reloader().Load(t.Context(), time.Now()); err == nil {
		t.Error("started without its directory")
	}
}
