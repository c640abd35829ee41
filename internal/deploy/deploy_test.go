// Package deploy tests the files in the folder deploy: they are valid for the programs that read
// them, use only commands, flags, routes and variables that exist, and agree with docs/DEPLOY.md
// and docs/AWS.md. No test needs a container engine or an account.
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

// read returns a file of the repository.
func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	check(t, err)
	return string(data)
}

// notSources are directories that git ignores.
var notSources = []string{".git", "node_modules", "bin", "interlock-data", ".terraform"}

// allIsInput reads all files of the repository. Tests that start programs which read them call it:
// go test reuses a cached result unless a file that the test itself has opened changes.
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

// documents decodes all YAML documents of a file.
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
