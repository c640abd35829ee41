package document_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
)

// printer writes a random file and remembers where it put each value.
type printer struct {
	t      *rapid.T
	text   strings.Builder
	line   int
	column int
	places map[string][2]int
}

func (p *printer) write(s string) {
	p.text.WriteString(s)
	for _, part := range strings.SplitAfter(s, "\n") {
		p.column += utf8.RuneCountInString(part)
		if strings.HasSuffix(part, "\n") {
			p.line++
			p.column = 1
		}
	}
}

func (p *printer) here() [2]int { return [2]int{p.line, p.column} }

func (p *printer) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(p.t, label) }

// entries writes a mapping's keys at an indentation, each on its own line, with comments and blank
// lines between.
func (p *printer) entries(path string, indent, depth int) {
	for i := range 1 + p.pick("keys", 4) {
		if i > 0 || depth == 0 {
			p.write([]string{"", "", "\n", "# a note: [\n", strings.Repeat(" ", indent) + "# note\n"}[p.pick("gap", 5)])
			p.write(strings.Repeat(" ", indent))
		}
		name := fmt.Sprintf("%s%d", []string{"k", "ключ", "a b", "x.y"}[p.pick("name", 4)], i)
		at := p.here()
		p.write([]string{name, `"` + name + `"`, "'" + name + "'"}[p.pick("quotes", 3)])
		p.write(":")
		p.value(document.KeyPath(path, name), at, indent, depth)
	}
}

func (p *printer) value(path string, key [2]int, indent, depth int) {
	shape := p.pick("shape", 9)
	if depth > 3 {
		shape = 3 + shape%6
	}
	switch shape {
	case 0:
		p.places[path] = key
		p.write("\n" + strings.Repeat(" ", indent+2))
		p.entries(path, indent+2, depth+1)
	case 1:
		p.places[path] = key
		p.write("\n")
		p.list(path, indent+2*p.pick("indented", 2), depth+1)
	case 2:
		p.write(" ")
		p.places[path] = p.here()
		p.flow(path, depth+1)
		p.write("\n")
	case 3:
		p.places[path] = key
		p.write("\n")
	case 4:
		p.write(" ")
		p.places[path] = p.here()
		blank := strings.Repeat(" ", indent+2)
		p.write("|\n" + blank + "some: text\n\n" + blank + "  more\n")
	default:
		p.write([]string{" ", "   ", "\t", " \t"}[p.pick("space", 4)])
		p.places[path] = p.here()
		p.write(p.scalar() + []string{"\n", " # note\n", "  \n", "\t\n"}[p.pick("end", 4)])
	}
}

func (p *printer) scalar() string {
	return rapid.SampledFrom([]string{"5", "text", "two words", `"quoted: #"`, "'it''s'", "1.5", "true", "~", "héé", "k0", "a a", "a-b", "http://x/y", `"\u00e9\n"`, "[]", "{}"}).Draw(p.t, "scalar")
}

func (p *printer) list(path string, indent, depth int) {
	for i := range 1 + p.pick("items", 3) {
		p.write(strings.Repeat(" ", indent) + "- ")
		item := fmt.Sprintf("%s[%d]", path, i)
		p.places[item] = p.here()
		if p.pick("mapping", 2) == 0 {
			p.entries(item, indent+2, depth+1)
			continue
		}
		p.write(p.scalar() + "\n")
	}
}

func (p *printer) flow(path string, depth int) {
	mapping := p.pick("mapping", 2) == 0
	p.write([]string{"[", "{"}[btoi(mapping)])
	for i := range p.pick("members", 4) {
		if i > 0 {
			p.write(",")
		}
		p.write([]string{"", " ", "\n" + strings.Repeat(" ", 20)}[p.pick("space", 3)])
		member := fmt.Sprintf("%s[%d]", path, i)
		if mapping {
			name := fmt.Sprintf("ü%d", i)
			member = document.KeyPath(path, name)
			p.write(name + ": ")
		}
		p.places[member] = p.here()
		if depth < 5 && p.pick("nest", 4) == 0 {
			p.flow(member, depth+1)
			continue
		}
		p.write(p.scalar() + []string{"", " ", "  "}[p.pick("space", 3)])
	}
	p.write([]string{"]", "}"}[btoi(mapping)])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestEveryValueIsFoundWhereItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := printer{t: t, line: 1, column: 1, places: map[string][2]int{}}
		p.entries("", 0, 0)
		d, found := document.Parse("f.yaml", []byte(p.text.String()))
		if d == nil {
			t.Fatalf("%v in\n%s", found, p.text.String())
		}
		for path, want := range p.places {
			line, column := d.Position(path)
			if got := [2]int{line, column}; got != want {
				t.Fatalf("%s is at %v, want %v, in\n%s", path, got, want, p.text.String())
			}
		}
	})
}
