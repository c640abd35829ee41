package files_test

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// tree writes files below a new directory, which becomes the working directory. The contents are
// the names.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, paths ...string) []string {
	t.Helper()
	sources, err := files.Read(paths...)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range sources {
		out = append(out, s.File)
	}
	return out
}

func TestReadGivesEachFileOnceInOrder(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		paths []string
		want  []string
	}{
		{"a file keeps the name it was given", []string{"notes.txt"}, []string{"./notes.txt"}, []string{"./notes.txt"}},
		{"a directory gives its YAML files", []string{"d/b.yml", "d/a.yaml", "d/readme.md", "d/c.yaml.bak"}, []string{"d"}, []string{"d/a.yaml", "d/b.yml"}},
		{"directories are read recursively", []string{"d/z.yaml", "d/sub/deep/a.yaml"}, []string{"d"}, []string{"d/sub/deep/a.yaml", "d/z.yaml"}},
		{"hidden files and directories are passed over", []string{"d/a.yaml", "d/.b.yaml", "d/.git/c.yaml"}, []string{"d"}, []string{"d/a.yaml"}},
		{"a hidden directory given by name is read", []string{".d/a.yaml"}, []string{".d"}, []string{".d/a.yaml"}},
		{"the working directory is no hidden one", []string{"a.yaml"}, []string{"."}, []string{"a.yaml"}},
		{"a directory may be called like a file", []string{"d/x.yaml/a.yaml"}, []string{"d"}, []string{"d/x.yaml/a.yaml"}},
		{"a path given twice counts once", []string{"d/a.yaml"}, []string{"d/a.yaml", "d", "./d/a.yaml", "d/../d"}, []string{"d/a.yaml"}},
		{"paths keep their order", []string{"a/x.yaml", "b/x.yaml"}, []string{"b", "a"}, []string{"b/x.yaml", "a/x.yaml"}},
		{"an empty directory gives nothing", []string{"d/readme.md"}, []string{"d"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, tt.files...)
			if diff := cmp.Diff(tt.want, names(t, tt.paths...)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadGivesTheContents(t *testing.T) {
	tree(t, "d/a.yaml")
	sources, err := files.Read("d")
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) != 1 || string(sources[0].Data) != "d/a.yaml" {
		t.Errorf("got %+v", sources)
	}
}

func TestLinksToFilesAreFollowed(t *testing.T) {
	tree(t, "d/.real/a.yaml", "d/.real/other.txt")
	link(t, ".real/a.yaml", "d/b.yaml")
	link(t, ".real/a.yaml", "d/c.yaml")
	link(t, ".real/other.txt", "d/other.txt")
	if diff := cmp.Diff([]string{"d/b.yaml"}, names(t, "d")); diff != "" {
		t.Errorf("one file behind two links (-want +got):\n%s", diff)
	}
}

func TestADirectoryLoopEnds(t *testing.T) {
	tree(t, "d/a.yaml", "d/z/b.yaml")
	link(t, "..", "d/z/up")
	link(t, ".", "d/self")
	want := []string{"d/a.yaml", "d/z/b.yaml"}
	if diff := cmp.Diff(want, names(t, "d")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A ConfigMap is mounted as links to a directory that is itself a link.
func TestConfigMapIsRead(t *testing.T) {
	tree(t, "d/..2026_03_03/orders.yaml", "d/..2026_03_03/sales.yaml")
	link(t, "..2026_03_03", "d/..data")
	link(t, "..data/orders.yaml", "d/orders.yaml")
	link(t, "..data/sales.yaml", "d/sales.yaml")
	link(t, "d", "mounted")
	for _, dir := range []string{"d", "mounted"} {
		sources, err := files.Read(dir)
		want := []pipeline.Source{
			{File: dir + "/orders.yaml", Data: []byte("d/..2026_03_03/orders.yaml")}, {File: dir + "/sales.yaml", Data: []byte("d/..2026_03_03/sales.yaml")},
		}
		if diff := cmp.Diff(want, sources); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestLinksStayBelowThePathsThatWereGiven(t *testing.T) {
	tree(t, "d/a.yaml", "shared/b.yaml", "shared2/c.yaml")
	link(t, "../shared", "d/shared")
	if _, err := files.Read("d"); err == nil || !strings.Contains(err.Error(), "d/shared: the symbolic link points outside the directory") {
		t.Errorf("a directory elsewhere is answered with %v", err)
	}
	if diff := cmp.Diff([]string{"d/a.yaml", "d/shared/b.yaml"}, names(t, "d", "shared")); diff != "" {
		t.Errorf("a directory that is given, too (-want +got):\n%s", diff)
	}
	link(t, "../shared2/c.yaml", "d/c.yaml")
	sources, err := files.Read("d", "shared")
	if err != nil || len(sources) != 3 || sources[1].File != "d/c.yaml" || sources[1].Unread == "" || sources[1].Data != nil {
		t.Errorf("a file of a directory whose name begins the same is answered with %+v, %v", sources, err)
	}
}

// socket creates a file that exists but cannot be opened, not even by root.
func socket(t *testing.T, name string) {
	t.Helper()
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T)
		path string
		want string
	}{
		{"missing path", func(*testing.T) {}, "nowhere/x.yaml", "nowhere/x.yaml"},
		{"dangling link", func(t *testing.T) { link(t, "gone", "d/b.yaml") }, "d/b.yaml", "d/b.yaml"},
		{"a file that nobody can open", func(t *testing.T) { socket(t, "d/b.yaml") }, "d/b.yaml", "d/b.yaml"},
		{"directory", func(t *testing.T) { link(t, "gone", "e") }, "e", "e"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, "d/a.yaml")
			tt.make(t)
			sources, err := files.Read("d/a.yaml", tt.path)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not name %s", err, tt.want)
			}
			if sources != nil {
				t.Errorf("half of the files were returned: %+v", sources)
			}
		})
	}
}

func TestFileThatCannotBeReadStopsNoOther(t *testing.T) {
	tests := []struct {
		name, target, want string
	}{
		{"dangling link", "gone", "it links to gone: no such file or directory"},
		{"link to itself", "b.yaml", "it links to b.yaml: too many levels of symbolic links"},
		{"out of its directory", "/etc/passwd", "it links to /etc/passwd: the symbolic link points outside the directory; put the file itself there, or add its directory to the server's file"},
		{"out of its directory, relative", "../d2/x.yaml", "it links to ../d2/x.yaml: the symbolic link points outside the directory; put the file itself there, or add its directory to the server's file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.HasPrefix(tt.target, "/proc") && runtime.GOOS != "linux" {
				t.Skip("there is no such file")
			}
			tree(t, "d/a.yaml", "d/c.yaml", "d2/x.yaml")
			link(t, tt.target, "d/b.yaml")
			want := []pipeline.Source{
				{File: "d/a.yaml", Data: []byte("d/a.yaml")},
				{File: "d/b.yaml", Unread: tt.want},
				{File: "d/c.yaml", Data: []byte("d/c.yaml")},
			}
			sources, err := files.Read("d")
			if diff := cmp.Diff(want, sources); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if got := stamped(t, "d"); !slices.Equal(got, []string{"d/a.yaml", "d/b.yaml", "d/c.yaml"}) {
				t.Errorf("a watcher sees %v", got)
			}
		})
	}
}

// stamped lists the files that a watcher sees.
func stamped(t *testing.T, paths ...string) (names []string) {
	t.Helper()
	stamps, err := files.Stamps(paths...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stamps {
		names = append(names, s.File)
	}
	return names
}

func TestFileThatMayBeReadableNowIsSeenToChange(t *testing.T) {
	for name, mend := range map[string]func() error{
		"the link leads somewhere": func() error { return os.WriteFile("d/gone", nil, 0o600) },
		"its permissions change":   func() error { return os.Chmod("d/a.yaml", 0o640) },
	} {
		t.Run(name, func(t *testing.T) {
			tree(t, "d/a.yaml")
			link(t, "gone", "d/b.yaml")
			before, err := files.Stamps("d")
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			for after := before; slices.Equal(before, after); { // again until the clock of the file system has moved
				if time.Since(began) > 10*time.Second {
					t.Fatalf("still %v", after)
				}
				if err := mend(); err != nil {
					t.Fatal(err)
				}
				if after, err = files.Stamps("d"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestADanglingLinkOfAnotherKindIsPassedOver(t *testing.T) {
	tree(t, "d/a.yaml")
	link(t, "gone", "d/readme")
	if diff := cmp.Diff([]string{"d/a.yaml"}, names(t, "d")); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestALargeFileIsNotReadWhole(t *testing.T) {
	tree(t)
	if err := os.WriteFile("big.yaml", bytes.Repeat([]byte("a"), 3*document.MaxBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	sources, err := files.Read("big.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(sources[0].Data); got != document.MaxBytes+1 {
		t.Errorf("read %d bytes, want one more than %d", got, document.MaxBytes)
	}
}

func TestIsDirTellsDirectoriesFromFiles(t *testing.T) {
	tree(t, "d/a.yaml")
	for path, want := range map[string]bool{"d": true, "d/a.yaml": false} {
		if got, err := files.IsDir(path); err != nil || got != want {
			t.Errorf("%s: got %v, %v", path, got, err)
		}
	}
	if _, err := files.IsDir("gone"); err == nil || !strings.Contains(err.Error(), "gone: "+fs.ErrNotExist.Error()) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}
