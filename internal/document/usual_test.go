package document

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sameAsLibrary fails where the short way reads a text otherwise than the library does, and says whether it reads it.
func sameAsLibrary(t interface {
	Helper()
	Fatalf(string, ...any)
}, src []byte,
) bool {
	t.Helper()
	text, problem := prepare("f.yaml", src)
	if problem != nil {
		return false
	}
	root := readUsual(text)
	if root == nil {
		return false
	}
	d, problems := parseAny("f.yaml", text)
	if d == nil {
		t.Fatalf("read %q, which the library refuses: %v", text, problems)
	}
	if len(d.repeated) > 0 {
		t.Fatalf("read %q, which repeats keys: %v", text, d.repeated)
	}
	if diff := cmp.Diff(d.root, root, cmp.AllowUnexported(node{}, field{}, mark{})); diff != "" {
		t.Fatalf("%q (-library +usual):\n%s", text, diff)
	}
	return true
}

func TestUsualFilesAreReadAsTheLibraryReadsThem(t *testing.T) {
	read, all := 0, 0
	for _, dir := range []string{"../../examples", "../pipeline/testdata", "../demo/project", "testdata"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			isRead := sameAsLibrary(t, src)
			if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
				all++
				if isRead {
					read++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < all/2 {
		t.Errorf("the short way reads only %d of %d files", read, all)
	}
}

func TestUsualTextsAreRead(t *testing.T) {
	for _, text := range []string{
		"a: 1", "a: b\n", "# c\na: b # c\n\n#d\nb: c\n", "a:\n  b:\n    - c\n    - d: 1\n      e: 2\n", "a:\n- b\n- c\nd: e\n",
		"a: {b: c, d: [e, f]}\n", "a: 'x: y, {z}'\n", `a: "ü # y"` + "\n", "a: http://localhost:8080/x\n", "a: [1, -2.5, true, null]\n",
		"a:   b   # c\n", "a: { b: c , d: e }\n", "a: ['ü', b]\n", "a: 15 6 * * *\n",
		"a: it's, in ${A} [words]; more\nb: ./x\nc: [-c, \"${B}\"]\nd: für x\n",
	} {
		if !sameAsLibrary(t, []byte(text)) {
			t.Errorf("left to the library: %q", text)
		}
	}
}

func TestUnusualTextsAreLeftToTheLibrary(t *testing.T) {
	for _, text := range []string{
		"", "a", "- a\n", "a:\n", "a: b: c\n", "a: &x b\n", "a: *x\n", "a: |\n  b\n", "a: b\n  c\n", "a: 1\na: 2\n", "a:\n    b: 1\n  c: 2\n", "a: [1,\n  2]\n",
		"a: 'it''s'\n", `a: "\n"` + "\n", "a:\tb\n", "---\na: b\n", "a: !!str 1\n", "<<: {a: b}\n", "? a\n: b\n", "a: {b}\n", "a: 'x' y\n", " a: b\n", "a: b\n c: d\n",
		"a: [b, ]\n", "null: 1\n", "a: {b: 1}}\n", "a: {b: x/${DATE}}\n", "a: @x\n", "a: - b\n", "a: \"x\n", "a: b #\n c: d\n",
	} {
		if text, _ := prepare("f.yaml", []byte(text)); readUsual(text) != nil {
			t.Errorf("read %q", text)
		}
	}
}

func TestLargeAndDeepFilesAreLeftToTheLibrary(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":  "a: b #" + strings.Repeat("x", usualBytes),
		"values": "a: [1" + strings.Repeat(", 1", usualValues) + "]\n",
		"depth":  "a: " + strings.Repeat("[", usualDepth+1) + "1" + strings.Repeat("]", usualDepth+1) + "\n",
		"key":    strings.Repeat("k", usualKey+1) + ": 1\n",
	} {
		if readUsual(text) != nil {
			t.Errorf("too many %s, and read", name)
		}
	}
}

// author draws texts that look like YAML and mostly are.
type author struct{ *rapid.T }

func (a author) pick(from ...string) string { return rapid.SampledFrom(from).Draw(a.T, "piece") }

func (a author) chance(percent int) bool { return rapid.IntRange(0, 99).Draw(a.T, "chance") < percent }

func (a author) scalar() string {
	return a.pick("a", "word", "two words", "x  y", "1", "-2.5", "1e3", "true", "null", "~", "'q'", "\"r s\"", "'a: b'", "\"#\"", "http://h:1/p?q=1", "15 6 * * *", "-c", "./x",
		"it's", "für", "\u00a0", "a\u2028b", "x:y", "a#b", "2026-03-03", "08:00", "$A", "@x", "%", "a, b", "${A}", "[x", "''", "\"\"", "x%", "a & b", "<x>", "!x", "? x", "a'b", "=", ".5", "+1", "x~", "(y)")
}

// flow is a value in brackets.
func (a author) flow(depth int) string {
	if depth > 3 || a.chance(50) {
		return a.scalar()
	}
	var parts []string
	open, end := "[", "]"
	mapping := a.chance(60)
	if mapping {
		open, end = "{", "}"
	}
	for i := range rapid.IntRange(0, 3).Draw(a.T, "parts") {
		value := a.flow(depth + 1)
		if mapping {
			value = fmt.Sprintf("k%d:%s%s", i, a.pick(" ", " ", "  ", ""), value)
		}
		parts = append(parts, value)
	}
	return open + a.pick("", "", " ") + strings.Join(parts, a.pick(", ", ",", " , ")) + a.pick("", "", " ") + end
}

// block is a value by indentation, each of its lines ended.
func (a author) block(indent, depth int) string {
	var b strings.Builder
	list := depth > 0 && a.chance(40)
	for i := range rapid.IntRange(1, 3).Draw(a.T, "lines") {
		b.WriteString(a.pick("", "", "", "\n", "# c\n", "      # d\n"))
		b.WriteString(strings.Repeat(" ", indent))
		switch nested := depth < 4 && a.chance(40); {
		case list && nested:
			b.WriteString("- " + strings.TrimLeft(a.block(indent+2, depth+1), " \n"))
			continue
		case list:
			b.WriteString("- ")
		case nested:
			fmt.Fprintf(&b, "k%d:%s\n%s", i, a.pick("", "", " ", " # c"), a.block(indent+rapid.SampledFrom([]int{0, 2, 2, 4}).Draw(a.T, "deeper"), depth+1))
			continue
		default:
			fmt.Fprintf(&b, "%s:%s", a.pick("k", "key-2", "a.b", "_x", "K9", "true")+fmt.Sprint(i), a.pick(" ", " ", "  ", ""))
		}
		b.WriteString(a.flow(0) + a.pick("", "", " ", " # c", " #", "#") + "\n")
	}
	return b.String()
}

// spoiled puts something where it may not belong.
func (a author) spoiled(text string) string {
	for range rapid.IntRange(0, 2).Draw(a.T, "mistakes") {
		at := rapid.IntRange(0, len(text)).Draw(a.T, "at")
		text = text[:at] + a.pick(" ", "  ", "\n", ":", ": ", "#", " # ", "-", "- ", ",", "{", "}", "[", "]", "'", "\"", "&a ", "*a", "!", "|", ">", "?", "<<: ", "---\n", "...", "\\", "k: ", "ü") + text[at:]
	}
	return text
}

func TestWhateverIsReadTheShortWayIsWhatTheLibraryMakesOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := author{t}
		sameAsLibrary(t, []byte(a.spoiled(a.block(0, 0))))
	})
}

func FuzzUsual(f *testing.F) {
	for _, seed := range []string{
		"a: 1", "# c\na: b # c\n\n#d\nb: c\n", "a:\n  b:\n    - c\n    - d: 1\n      e: 2\n", "a:\n- b\n- c\nd: e\n", "a: {b: c, d: [e, f]}\n",
		"a: 'x: y, {z}'\nb: \"ü # y\"\nc: http://localhost:8080/x\n", "a: { b: c , d: e }\nf: 15 6 * * *\n",
		"pipeline: {id: p-1, owner: o}\nschedule: {cron: \"15 6 * * *\", timezone: Europe/Berlin}\nvalidation:\n  rules:\n    - {key: k, check: gte, field: f, value: 1000}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) { sameAsLibrary(t, src) })
}

func TestWordsAreKeptOnce(t *testing.T) {
	text := fmt.Sprint("status-", 1)
	if n := testing.AllocsPerRun(10, func() { kept(text) }); n != 0 {
		t.Errorf("%v allocations for a word that is known", n)
	}
	if long := strings.Repeat("x", shortWord+1); kept(long) != long {
		t.Error("a long text is another")
	}
}
