package document_test

import (
	"testing"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/document"
)

// FuzzParse reads anything at all: no panic, and every problem at a place that is in the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		head, placed, "- - - a", "a: &x [*x]", "a: *y", "? a\n: b", "a: |2\n  x", "%YAML 1.2\n---\na: 1\n...", "<<: {a: 1}", "{a: [b, {c: d}]}",
		"a: !!str 5", "note: [1e3, .nan, 0x]", "owner: {id: &i ann, *i : x}", "\"\\u0000\": 1", "a:\n- b\n-\n", "raw: 'a\n\n  b'\ncall: >+\n\n x\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, found := document.Parse("f.yaml", src)
		if (d == nil) != (len(found) > 0) {
			t.Fatalf("document %v with problems %v", d != nil, found)
		}
		if d != nil {
			found = d.Decode(new(farm))
			d.Decode(new(any))
			walk(t, d, d.Root(), "")
		}
		for _, p := range found {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || p.Severity != document.Error || !utf8.ValidString(p.Message) {
				t.Errorf("not a problem to show: %#v", p)
			}
		}
		if len(found) > 101 {
			t.Errorf("%d problems", len(found))
		}
	})
}

// walk asks every value for all it can tell.
func walk(t *testing.T, d *document.Document, n document.Node, path string) {
	if line, column := d.Position(path); line < 1 || column < 1 {
		t.Errorf("%s is at %d:%d", path, line, column)
	}
	if d.Has(path) != (n.Kind() != document.Null) {
		t.Errorf("%s: Has says %v of %s", path, d.Has(path), n.Describe())
	}
	fields, _ := n.Value().(map[string]any)
	for key := range fields {
		child, _ := n.Get(key)
		walk(t, d, child, document.KeyPath(path, key))
	}
}
