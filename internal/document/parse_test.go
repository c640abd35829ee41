package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
)

func TestWhatCannotBeReadIsOneClearProblem(t *testing.T) {
	tests := map[string]struct{ src, want string }{
		"empty":                  {"", "1:1: the file is empty"},
		"blank":                  {"\n\n   \n", "1:1: the file is empty"},
		"only a comment":         {"# later\n", "1:1: the file is empty"},
		"only a mark":            {"---\n", "1:1: the file is empty"},
		"only a BOM":             {"\ufeff", "1:1: the file is empty"},
		"list":                   {"- a\n- b\n", "1:1: expected a mapping of keys, found a list"},
		"list further down":      {"# c\n\n- a\n", "3:1: expected a mapping of keys, found a list"},
		"text":                   {"hello\n", `1:1: expected a mapping of keys, found the text "hello"`},
		"long text":              {strings.Repeat("x", 100), `1:1: expected a mapping of keys, found the text "` + strings.Repeat("x", 60) + `…"`},
		"number":                 {"5\n", "1:1: expected a mapping of keys, found the number 5"},
		"null":                   {"~\n", "1:1: expected a mapping of keys, found nothing"},
		"two documents":          {"a: 1\n---\nb: 2\n", "2:1: a second document begins here; keep one document per file"},
		"NUL":                    {"a: x\nb: y\x00z\n", "2:5: a NUL byte; a YAML file is text (saved as UTF-16?)"},
		"UTF-16":                 {"\xff\xfea\x00:\x00", "1:1: byte 0xff is not UTF-8 text; save the file as UTF-8"},
		"invalid UTF-8":          {"a: ü\nb: é\xc3(\n", "2:5: byte 0xc3 is not UTF-8 text; save the file as UTF-8"},
		"surrogate":              {"a: \xed\xa0\x80\n", "1:4: byte 0xed is not UTF-8 text; save the file as UTF-8"},
		"control character":      {"a: x\r\nb: \x1b[0m\n", `2:4: control character U+001B; write it as "\x1b" in double quotes`},
		"tab":                    {"a:\n\tb: 1\n", "2:1: is not valid YAML: a tab where YAML requires spaces; indent with spaces"},
		"open quote":             {"a: 1\nb: \"x\n", "2:4: is not valid YAML: the quote that starts here is never closed"},
		"open bracket":           {"a: [1, 2\nb: 3\n", `2:1: is not valid YAML: the list that starts with [ is not closed; expected "," or "]" here`},
		"variable in brackets":   {"a: {b: x/${DATE}, c: 1}\n", `1:11: is not valid YAML: the mapping that starts with { is not closed; expected "," or "}" here; inside brackets, put a text with ${…} in quotes`},
		"open brace and more":    {"a: {b: 1\n", "1:4: is not valid YAML: the mapping that starts with { is not closed"},
		"open brace":             {"a: {b\n", "1:5: is not valid YAML: the mapping that starts with { is not closed"},
		"second colon":           {"a: b: c\n", `1:4: is not valid YAML: a second ": " on the line; put the text in quotes, or the mapping on its own line`},
		"text after quotes":      {"a: 'x' y\n", "1:8: is not valid YAML: text after a complete value; put the whole text in quotes, or check the indentation"},
		"wrong indentation":      {"a:\n  b: 1\n c: 2\n", "3:2: is not valid YAML: does not fit here; check the indentation"},
		"escaped variable":       {"a: \"x \\${DATE}\"\n", `1:8: is not valid YAML: \$ is not a valid escape in double quotes; put the text in single quotes`},
		"escape of a pattern":    {"a: \"\\d+\"\n", `1:6: is not valid YAML: \d is not a valid escape in double quotes; put the text in single quotes`},
		"reserved character":     {"a: @x\n", "1:4: is not valid YAML: a text may not begin with this character; put it in quotes"},
		"list on the key's line": {"a: - b\n", `1:4: is not valid YAML: a list that begins on its key's line; put each "- " on its own line`},
		"unknown alias":          {"a: 1\nb: [*x]\n", "2:5: unknown alias *x; there is no anchor &x before it"},
		"alias before anchor":    {"a: *x\nb: &x 1\n", "1:4: unknown alias *x; there is no anchor &x before it"},
		"alias in itself":        {"a: &a [1, *a]\n", "1:11: alias *a is inside its own anchor &a"},
		"merge of a text":        {"a: {<<: x}\n", `1:9: << merges a mapping or a list of mappings, found the text "x"`},
		"merge of texts":         {"a: {<<: [{b: 1}, x]}\n", `1:18: << merges mappings, found the text "x"`},
		"null key":               {"a: 1\n~: 2\n", "2:1: a key must be a text, found nothing"},
		"unknown tag":            {"a: !secret x\n", `1:4: the tag "!secret" is not supported here; remove it`},
		"wrong tag":              {"a: !!int x\n", `1:4: the tag !!int does not fit the text "x"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tt.want}, problems(t, tt.src, new(map[string]any))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllBadAliasesAreTold(t *testing.T) {
	got := problems(t, "a: *x\nb: *y\n", new(map[string]any))
	want := []string{"1:4: unknown alias *x; there is no anchor &x before it", "2:4: unknown alias *y; there is no anchor &y before it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBombsEndInAnError holds files that would take minutes or gigabytes if they were read naively.
// The test's own time limit is what would fail.
func TestBombsEndInAnError(t *testing.T) {
	const mega = document.MaxBytes
	laughs := "a0: &a0 [x]\n"
	for i := range 12 {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	merges := "m0: &m0 {k: 1}\n"
	for i := range 40 {
		merges += fmt.Sprintf("m%d: &m%d {<<: *m%d, x: *m%d, y: *m%d}\n", i+1, i+1, i, i, i)
	}
	deep := ""
	for i := range 200 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	tests := map[string]struct{ src, want string }{
		"ten megabytes":     {strings.Repeat("a: bcdef\n", 10*mega/9), "the file is too large; at most 1 MiB"},
		"a million [":       {strings.Repeat("[", 1_000_000), "too complex"},
		"a million {":       {strings.Repeat("{", 1_000_000), "too complex"},
		"a: [[[[":           {"a: " + strings.Repeat("[", 500), "nested too deeply; at most 100 levels are allowed"},
		"closed brackets":   {"a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500), "nested too deeply; at most 100 levels are allowed"},
		"braces":            {strings.Repeat("{a: ", 500) + strings.Repeat("}", 500), "nested too deeply; at most 100 levels are allowed"},
		"- - - -":           {strings.Repeat("- ", 9_000) + "x", "nested too deeply; at most 100 levels are allowed"},
		"? ? ? ?":           {strings.Repeat("? ", 5_000) + "x", "nested too deeply; at most 100 levels are allowed"},
		"indentation":       {deep, "nested too deeply; at most 100 levels are allowed"},
		"many keys":         {strings.Repeat("a:\n", mega/3), "too complex"},
		"half as many keys": {strings.Repeat("a:\n", 20_000), "too complex"},
		"long key":          {strings.Repeat("k", 100_000) + ": 1\n", "a key has 100000 bytes; at most 1024"},
		"long paths":        {longPaths(), "too complex"},
		"billion laughs":    {laughs, "makes the file too large: it has more than 100000 values"},
		"merged laughs":     {merges, "makes the file too large: it has more than 100000 values"},
		"quotes":            {strings.Repeat(`"`, mega), "too complex"},
		"anchors":           {strings.Repeat("&a ", 15_000), "too complex"},
		"open quote":        {"a: '" + strings.Repeat("x", mega/2), "is never closed"},
		"zero bytes":        {strings.Repeat("\x00", mega), "NUL"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, found := document.Parse("f.yaml", []byte(tt.src))
			if d != nil || len(found) == 0 || !strings.Contains(found[0].Message, tt.want) {
				t.Errorf("got %v, want one about %q", found, tt.want)
			}
			if len(found) != 1 || len(found[0].Message) > 300 {
				t.Errorf("a report of %d problems, the first of %d bytes", len(found), len(found[0].Message))
			}
		})
	}
}

// longPaths nests long keys, with many values at the end: few bytes, but each value's path is long.
func longPaths() string {
	var b strings.Builder
	for range 80 {
		b.WriteString("{" + strings.Repeat("k", 1000) + ": ")
	}
	b.WriteString("[" + strings.Repeat("1,", 8000) + "1]" + strings.Repeat("}", 80))
	return b.String()
}

func TestLargeButHarmlessFilesAreRead(t *testing.T) {
	long := strings.Repeat("long line ", 50_000)
	tests := map[string]string{
		"long line":    "a: " + long + "\n",
		"quoted line":  "a: \"" + long + "\"\n",
		"block text":   "a: |\n" + strings.Repeat("  some line of text\n", 20_000),
		"many dates":   "a:\n" + strings.Repeat("- 2026-03-03\n", 5_000),
		"blank lines":  strings.Repeat("\n", 200_000) + "a: 1\n",
		"nested a bit": "a: " + strings.Repeat("[", 90) + strings.Repeat("]", 90) + "\n",
		"some aliases": "a: &a [1, 2, 3]\nb: [" + strings.Repeat("*a, ", 1000) + "*a]\n",
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			if found := problems(t, src, new(map[string]any)); found != nil {
				t.Errorf("%q", found)
			}
		})
	}
}

func TestYAMLMeansWhatVersion12SaysItMeans(t *testing.T) {
	src := `a: [1, +2, -3, 010, 0x1F, 0o17, 9223372036854775807]
b: [1.5, .5, 1., 1e3, -1.5E-2, 1e+2]
c: [yes, no, on, off, 1_000, 0b11, 10:30, 2026-03-03, 1.2.3, 1e, e3, ., -, +, 0x, 12abc, -.nan, "5", '~']
d: [~, null, Null, NULL]
e: [true, True, TRUE, false, False, FALSE]
f: |
  one
   two
g: >-
  folded
  text
h: plain
  over lines
i: "tab\there \u00e9 \x41"
j: 'it''s'
k: !!str 5
l: !!float 5
? m
: explicit
n: &x {p: 1, q: 2}
o: {<<: *x, q: 3}
r: {q: 4, <<: [*x, {q: 5, s: 6}]}
t: &y text
u: *y
v: http://host/#anchor # comment
w: "a: b"
`
	want := map[string]any{
		"a": []any{int64(1), int64(2), int64(-3), int64(10), int64(31), int64(15), int64(9223372036854775807)},
		"b": []any{1.5, 0.5, 1.0, 1000.0, -0.015, 100.0},
		"c": []any{"yes", "no", "on", "off", "1_000", "0b11", "10:30", "2026-03-03", "1.2.3", "1e", "e3", ".", "-", "+", "0x", "12abc", "-.nan", "5", "~"},
		"d": []any{nil, nil, nil, nil},
		"e": []any{true, true, true, false, false, false},
		"f": "one\n two\n", "g": "folded text", "h": "plain over lines", "i": "tab\there é A", "j": "it's",
		"k": "5", "l": int64(5), "m": "explicit",
		"n": map[string]any{"p": int64(1), "q": int64(2)},
		"o": map[string]any{"p": int64(1), "q": int64(3)},
		"r": map[string]any{"p": int64(1), "q": int64(4), "s": int64(6)},
		"t": "text", "u": "text", "v": "http://host/#anchor", "w": "a: b",
	}
	var got any
	if found := problems(t, src, &got); found != nil {
		t.Fatalf("%q", found)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRepeatedKeysBroughtByAnAliasAreToldOnce(t *testing.T) {
	got := problems(t, "a: &x {b: {k: 1, k: 2}}\nc: *x\nd: {e: *x}\n", new(map[string]any))
	if diff := cmp.Diff([]string{`1:18: a.b.k: repeated key "k"; first at 1:12`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
