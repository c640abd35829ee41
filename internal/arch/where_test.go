package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlacesInTheArchitectureExist checks the table "Where does it happen": each file exists, and
// each name in the parentheses after it occurs in it.
func TestPlacesInTheArchitectureExist(t *testing.T) {
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "## Where does it happen\n")
	table, _, _ := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("docs/ARCHITECTURE.md has no section \"Where does it happen\"")
	}
	places := regexp.MustCompile("`([a-z/]+\\.go)`(?: \\(([^)]*)\\))?").FindAllStringSubmatch(table, -1)
	if len(places) < 10 {
		t.Errorf("found %d places, want at least 10", len(places))
	}
	for _, place := range places {
		source, err := os.ReadFile(filepath.Join("..", place[1]))
		if err != nil {
			t.Errorf("docs/ARCHITECTURE.md: %v", err)
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Za-z.]+)`").FindAllStringSubmatch(place[2], -1) {
			last := name[1][strings.LastIndex(name[1], ".")+1:]
			if !regexp.MustCompile(`func (\([^)]*\) )?` + last + `[(\[]`).Match(source) {
				t.Errorf("docs/ARCHITECTURE.md: internal/%s has no function %s", place[1], last)
			}
		}
	}
}
