package document_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
)

func text(s string) document.TextOrList {
	return document.TextOrList{Values: []string{s}, IsText: true}
}

func TestATextIsSplitIntoWords(t *testing.T) {
	tests := map[string][]string{
		"a":                        {"a"},
		"  a \t b\nc ":             {"a", "b", "c"},
		`a 'b c' "d e"`:            {"a", "b c", "d e"},
		`a'b'"c"d`:                 {"abcd"},
		`a '' ""`:                  {"a", "", ""},
		`a\ b \"c \\`:              {"a b", `"c`, `\`},
		`"a\"b\\c\n"`:              {`a"b\c\n`},
		`'a\b"c'`:                  {`a\b"c`},
		`x ${DATE}`:                {"x", "${DATE}"},
		`x ${file:/a b/c} y`:       {"x", "${file:/a b/c}", "y"},
		`x "${file:/a b}"`:         {"x", "${file:/a b}"},
		`x \${DATE}`:               {"x", `\${DATE}`},
		`x "\${DATE}"`:             {"x", `\${DATE}`},
		`x "\$HOME"`:               {"x", `$HOME`},
		`a | b > c; d && e *`:      {"a", "|", "b", ">", "c;", "d", "&&", "e", "*"},
		`π 'é ü'`:                  {"π", "é ü"},
		`x ${DATE`:                 {"x", "${DATE"},
		`python -c 'print("a b")'`: {"python", "-c", `print("a b")`},
	}
	for in, want := range tests {
		got, err := text(in).Words()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

// TestQuotedWordsComeBack says that splitting undoes quoting, whatever the words are.
func TestQuotedWordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z "\\$|\n{}é]{0,6}`), 1, 4).Draw(t, "words")
		line := ""
		for _, w := range words {
			line += "'" + w + "' "
		}
		got, err := text(line).Words()
		if err != nil || !cmp.Equal(got, words) {
			t.Fatalf("%q became %q, %v", line, got, err)
		}
	})
}

func TestAQuoteThatStaysOpenIsAnError(t *testing.T) {
	for in, want := range map[string]string{"a 'b": "single quote", `a "b`: "double quote", `a "b\"`: "double quote", `a \`: "backslash"} {
		if got, err := text(in).Words(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, %v", in, got, err)
		}
	}
}

func TestExpandedNodesKeepTheirPlaces(t *testing.T) {
	d := parse(t, "fields:\n- key: ${name}\n  size: ${size}\nlabels: {a: plain, b: '${none}'}\n")
	expanded, found := d.Root().Expand(func(text string) (any, error) {
		values := map[string]any{"${name}": "north", "${size}": int64(0), "plain": "plain"}
		if v, ok := values[text]; ok {
			return v, nil
		}
		return nil, errNoSuch
	})
	if diff := cmp.Diff([]document.Finding{{Path: "labels.b", Message: "no such parameter"}}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fields, _ := expanded.Get("fields")
	var into []plot
	got := d.Resolve(document.Under("fields", fields.Decode(&into))...)
	want := []document.Problem{{File: "f.yaml", Line: 3, Column: 9, Path: "fields[0].size", Message: "is 0; must be at least 1", Severity: document.Error}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if into[0].Key != "north" {
		t.Errorf("got %+v", into)
	}
}

var errNoSuch = errors.New("no such parameter")

func TestAnExpandedNumberIsWrittenAsPeopleWriteIt(t *testing.T) {
	d := parse(t, "key: ${rows}\n")
	expanded, _ := d.Root().Expand(func(string) (any, error) { return 12e6 + 0.5, nil })
	var into plot
	if found := expanded.Decode(&into); len(found) != 1 || !strings.Contains(found[0].Message, "the number 12000000.5;") {
		t.Errorf("got %v", found)
	}
}
