package deploy

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var update = flag.Bool("update", false, "write the generated part of the module's README anew")

const readme = terraformDir + "/README.md"

// generatedMark precedes the generated part, which reaches to the end of the file.
const generatedMark = "<!-- Generated: go test ./internal/deploy -run README -update -->\n"

func TestREADMEListsInputsAndOutputs(t *testing.T) {
	m := least(t)
	written, got, found := strings.Cut(read(t, readme), generatedMark)
	if !found {
		t.Fatalf("%s has no line %s", readme, generatedMark)
	}
	want := m.reference(t)
	if *update {
		check(t, os.WriteFile(filepath.Join(root, filepath.FromSlash(readme)), []byte(written+generatedMark+want), 0o644))
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: go test ./internal/deploy -run README -update (-want +got):\n%s", readme, diff)
	}
}

// The module's constraint, the example's and the words of both pages are the same.
func TestVersionsAreTheSameEverywhere(t *testing.T) {
	var constraints []string
	for _, dir := range []string{terraformDir, "examples/aws"} {
		m := parse(t, dir, nil)
		providers := blocksOf(m.blocks["terraform"].Body, "required_providers")[0]
		aws, err := m.eval(providers.Body.Attributes["aws"].Expr, nil)
		check(t, err)
		constraints = append(constraints, m.text(t, m.blocks["terraform"], "required_version", nil)+", aws "+shown(aws.GetAttr("version")))
	}
	if want := ">= 1.9, aws >= 5.82, < 7.0"; constraints[0] != want || constraints[1] != want {
		t.Errorf("%q, want %s twice", constraints, want)
	}
	for page, words := range map[string][]string{
		readme:        {"Terraform 1.9 or later", "version 5.82 or later of the AWS provider, or 6"},
		"docs/AWS.md": {"Terraform 1.9 or later", "versions 5.82 and later of the AWS provider, and with 6"},
	} {
		text := strings.Join(strings.Fields(read(t, page)), " ")
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not say %q", page, w)
			}
		}
	}
}

// reference lists the inputs and outputs of a module.
func (m *module) reference(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("\n## Inputs\n\n| Name | Type | Default | |\n|---|---|---|---|\n")
	inputs := m.all("var")
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		value := "required"
		if a := inputs[name].Body.Attributes["default"]; a != nil {
			value = m.source(t, a.Expr)
		}
		fmt.Fprintf(&out, "| `%s` | `%s` | %s | %s |\n", name, m.source(t, inputs[name].Body.Attributes["type"].Expr), value, m.described(t, inputs[name]))
	}
	out.WriteString("\n## Outputs\n\n| Name | |\n|---|---|\n")
	outputs := m.all("output")
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", name, m.described(t, outputs[name]))
	}
	return out.String()
}

func (m *module) described(t testing.TB, b *hclsyntax.Block) string {
	return strings.ReplaceAll(m.text(t, b, "description", nil), "|", "\\|")
}

// source returns the text of an expression on one line.
func (m *module) source(t testing.TB, e hclsyntax.Expression) string {
	text := e.Range().SliceBytes([]byte(read(t, m.dir+"/"+e.Range().Filename)))
	return strings.Join(strings.Fields(string(text)), " ")
}
