package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// madeUp are the paths that documents name although nothing has them, with the reason.
var madeUp = map[string]string{
	"internal/job/kiln/config.go":    "the job type that docs/ADDING-A-JOB-TYPE.md builds",
	"internal/job/kiln/type.go":      "the same",
	"internal/job/kiln/type_test.go": "the same",
	"testdata/fuzz":                  "a folder of each package that has fuzz targets",
	"testdata/fuzz/FuzzXxx":          "the same",
}

var (
	// inProse finds paths between backquotes, and the targets of links.
	inProse = regexp.MustCompile("`([\\w.@-]+(?:/[\\w.*@-]+)+)/?`|\\]\\(([^)#:\\s]+\\.[a-z]+)(?:#[^)]*)?\\)")
	// inComment finds paths that begin with a folder of the repository.
	inComment = regexp.MustCompile(`(?:^|[\s("])((?:cmd|deploy|docs|internal|scripts|testdata)/[\w./-]*\w)`)
	comments  = regexp.MustCompile(`//[^\n]*`)
)

// TestPathsInTextsExist checks every path that a document or a comment names.
func TestPathsInTextsExist(t *testing.T) {
	const root = "../.."
	checked := 0
	exists := func(name string) bool {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil && len(found) > 0
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && name != "." && skipped(filepath.Join(root, name)) && entry.Name() != "testdata" {
				err = fs.SkipDir
			}
			return err
		}
		find := map[string]*regexp.Regexp{".md": inProse, ".go": inComment}[path.Ext(name)]
		if find == nil || name == "CHANGELOG.md" { // it names files that are gone
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if find == inComment {
			text = bytes.Join(comments.FindAll(text, -1), []byte("\n"))
		}
		for _, match := range find.FindAllSubmatch(text, -1) {
			for _, group := range match[1:] {
				to := string(group)
				if to == "" || !isPath(to, exists) || madeUp[to] != "" {
					continue
				}
				checked++
				if !exists(to) && !exists(path.Join(path.Dir(name), to)) && !exists(path.Join("internal", to)) {
					t.Errorf("%s names %s, which does not exist", name, to)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 500 {
		t.Errorf("checked %d paths, want at least 500", checked)
	}
}

// isPath reports whether text that looks like a path is meant as one of this repository: it begins
// with one of its folders, or is the name of a source file or a document.
func isPath(text string, exists func(string) bool) bool {
	first, _, _ := strings.Cut(text, "/")
	return first != "." && exists(first) || strings.HasSuffix(text, ".go") || strings.HasSuffix(text, ".md")
}
