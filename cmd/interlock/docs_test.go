package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manual is the page about pipeline files.
func manual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/PIPELINES.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheExamplesOfTheManualAreRight(t *testing.T) {
	project := t.TempDir()
	blocks := strings.Split(manual(t), "```yaml\n")[1:]
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
	if got := interlock("validate", project); got.code != 0 || len(blocks) < 5 {
		t.Errorf("%d examples, exit code %d\n%s%s", len(blocks), got.code, got.stdout, got.stderr)
	}
}

// keys gathers the names of all keys that a schema knows, so many levels below, or all of them if that is negative;
// of a config only its own.
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
	text := manual(t)
	for name := range known {
		if !strings.Contains(text, name) {
			t.Errorf("docs/PIPELINES.md does not name the key %s", name)
		}
	}
}
