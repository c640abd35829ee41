package document_test

import (
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/interlock-go/interlock/internal/document"
)

const example = `# a farm of the usual size
name: hill
owner:
  id: ann
  phone: "555"
open: true
hectare: 12.5
cows: 7
milking: 12h
mode: any
soil: loam
days: [monday, tuesday]
fields:
  - key: north
    size: 3
  - key: south
    size: 4
  - key: east
  - key: west
    size: 9
labels:
  team: dairy
  tier: gold
env:
  PORT: 8080
  HOST: localhost
note:
  text: anything
  list: [1, 2, 3]
gate: green
call: [milk, --all]
tree:
  leaf: a
  twigs:
    - leaf: b
    - leaf: c
`

func BenchmarkLibraryIntoMap(b *testing.B) {
	for b.Loop() {
		var into map[string]any
		if err := yaml.Unmarshal([]byte(example), &into); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		d, found := document.Parse("f.yaml", []byte(example))
		if d == nil {
			b.Fatal(found)
		}
		var into farm
		if found := d.Decode(&into); found != nil {
			b.Fatal(found)
		}
	}
}
