// Package deploy holds the tests of what is in the folder deploy: that its files can be read by what will read them, speak of
// commands, flags, routes and variables that there are, and keep to what docs/DEPLOY.md and docs/AWS.md say of them. None of
// them needs a container engine or an account.
package deploy

import (
	"os"
	"path/filepath"
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
