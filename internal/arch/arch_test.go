// Package arch is the test that imports point one way: from what is talked to, through what waits
// and what handles, to what decides, that the deciding packages are pure, and that nothing connects
// past the guard of internal/egress. It reads the repository's Go files itself, so that the result
// never comes from another command's cache. The rooms are listed in rooms_test.go, who may connect
// in connection_test.go; docs/ARCHITECTURE.md says what each room is for.
package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportsPointOneWay(t *testing.T) {
	files, err := goFiles(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := files["internal/arch/arch_test.go"]; !ok {
		t.Fatalf("read %d files, but not this one: the search starts in the wrong place", len(files))
	}
	for _, broken := range check(files) {
		t.Error(broken)
	}
}

// goFiles reads every Go file of the module below root, by its slash-separated path.
func goFiles(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if rel != "." && skipped(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	return files, err
}

// skipped says whether the go command would not look for our packages in this folder.
func skipped(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil // another module
}
