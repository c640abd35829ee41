// Package deploy holds the tests of what is in the folder deploy: that its files can be read by what will read them, speak of
// commands, flags, routes and variables that there are, and keep to what docs/DEPLOY.md and docs/AWS.md say of them. None of
// them needs a container engine or an account.
package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// root is the repository's folder.
var root = filepath.Join("..", "..")

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read gives a file of the repository.
func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	check(t, err)
	return string(data)
}

// notSources are directories of what git ignores.
var notSources = []string{".git", "node_modules", "bin", "interlock-data", ".terraform"}

// allIsInput reads all files of the repository. Tests that start programs which read them call it: go test repeats a stored
// result unless a file changed that the test itself has read.
func allIsInput(t testing.TB) {
	t.Helper()
	check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case slices.Contains(notSources, d.Name()) && d.IsDir(), filepath.Dir(path) == root && d.Name() == "dist":
			return filepath.SkipDir
		case d.Type().IsRegular():
			_, err = os.ReadFile(path)
		}
		return err
	}))
}

// documents decodes the YAML documents of a file, one for each that is in it.
func documents[T any](t testing.TB, name string) []T {
	t.Helper()
	var all []T
	for part := range strings.SplitSeq(read(t, name), "\n---\n") {
		var one T
		if err := yaml.Unmarshal([]byte(part), &one); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
	return all
}
