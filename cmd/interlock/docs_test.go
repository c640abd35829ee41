package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
)

// manual reads a page of the documentation.
func manual(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheExamplesOfTheManualsAreRight(t *testing.T) {
	for page, least := range map[string]int{"PIPELINES.md": 5, "PROBES.md": 1, "JOBS.md": len(all.Kinds()) + 1} {
		project := t.TempDir()
		blocks := strings.Split(manual(t, page), "```yaml\n")[1:]
		for i, block := range blocks {
			text, _, _ := strings.Cut(block, "```")
			name := fmt.Sprintf("example-%d", i)
			if !strings.HasPrefix(text, "pipeline:") && !strings.HasPrefix(text, "name:") {
				text = fmt.Sprintf("pipeline: {id: %s, owner: docs}\n%s", name, text)
			}
			if err := os.WriteFile(filepath.Join(project, name+".yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := interlock("validate", project); got.code != 0 || len(blocks) < least || strings.Contains(got.stdout, "warning") {
			t.Errorf("%s: %d examples, exit code %d\n%s%s", page, len(blocks), got.code, got.stdout, got.stderr)
		}
	}
}

// howToFile matches a pipeline file in a how-to page.
var howToFile = regexp.MustCompile("(?ms)^ *```yaml\n( *# [^\n]*\n)?( *)pipeline: .*?^ *```$")

// TestThePipelinesOfTheHowToPagesAreAccepted validates the files of each page as one project, as a
// reader would copy them.
func TestThePipelinesOfTheHowToPagesAreAccepted(t *testing.T) {
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		project := t.TempDir()
		examples := howToFile.FindAllStringSubmatch(manual(t, filepath.Join("how-to", filepath.Base(page))), -1)
		for i, example := range examples {
			lines := strings.Split(example[0], "\n")
			text := strings.ReplaceAll("\n"+strings.Join(lines[1:len(lines)-1], "\n"), "\n"+example[2], "\n")
			if err := os.WriteFile(filepath.Join(project, fmt.Sprintf("example-%d.yaml", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if found += len(examples); len(examples) == 0 {
			continue
		}
		if got := interlock("validate", project); got.code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", page, got.code, got.stdout, got.stderr)
		}
	}
	if found < 6 {
		t.Errorf("found only %d files", found)
	}
}

// TestTheManualOfJobsIsCompleteForEachType checks that the manual has a complete section for each
// job type.
func TestTheManualOfJobsIsCompleteForEachType(t *testing.T) {
	text := manual(t, "JOBS.md")
	for _, kind := range all.Kinds() {
		_, section, found := strings.Cut(text, "\n## "+kind.Name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found || !strings.Contains(section, "\n  type: "+kind.Name+"\n") {
			t.Errorf("%s has no section with an example", kind.Name)
		}
		if !strings.Contains(text, "| [`"+kind.Name+"`](#"+kind.Name+") |") {
			t.Errorf("%s has no row in the table of keys", kind.Name)
		}
		for _, part := range []string{"**Idempotency.**", "**Result.**", "**PERMANENT", "**Permissions.**"} {
			if !strings.Contains(section, part) {
				t.Errorf("the section of %s has no %s", kind.Name, part)
			}
		}
		for key := range document.Fragment(kind.NewConfig()).Properties {
			if !strings.Contains(section, "`"+key) && !strings.Contains(section, key+":") {
				t.Errorf("the section of %s does not name %s", kind.Name, key)
			}
		}
	}
}

// keys collects the names of all keys in a schema, down to that many levels, or all levels if below is negative. Of a
// config it collects only the top level.
func (s schemaNode) keys(into map[string]bool, below int) {
	for name, key := range s.Properties {
		into[name] = true
		deeper := below
		if name == "config" {
			deeper = 1
		}
		if deeper != 0 {
			key.keys(into, deeper-1)
		}
	}
	if s.Items != nil {
		s.Items.keys(into, below)
	}
	for _, each := range s.AllOf {
		each.Then.keys(into, below)
	}
}

type schemaNode struct {
	Properties map[string]schemaNode       `json:"properties"`
	Items      *schemaNode                 `json:"items"`
	AllOf      []struct{ Then schemaNode } `json:"allOf"`
	Defs       map[string]schemaNode       `json:"$defs"`
}

func TestTheManualNamesEveryKey(t *testing.T) {
	var schema schemaNode
	if err := json.Unmarshal([]byte(must(t, 0, "schema").stdout), &schema); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	schema.keys(known, -1)
	for _, def := range schema.Defs {
		def.keys(known, -1)
	}
	if len(known) < 80 {
		t.Errorf("found only %d keys", len(known))
	}
	text := manual(t, "PIPELINES.md")
	for name := range known {
		if !strings.Contains(text, name) {
			t.Errorf("docs/PIPELINES.md does not name the key %s", name)
		}
	}
}
