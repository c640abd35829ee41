package document_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/document"
)

const placed = `# a comment
schedule:
  cron: "0 6 * * *"
  evaluation: {window: 5m, interval: 1h}
  trigger:
    key: x
  empty:
rules:
  - key: a
    value: 1
  - {key: b, "a.b": 2}
"odd key": [1, 2]
`

func parse(t *testing.T, src string) *document.Document {
	t.Helper()
	d, found := document.Parse("f.yaml", []byte(src))
	if d == nil {
		t.Fatalf("%v", found)
	}
	return d
}

func TestPositionsAreThoseOfTheValueOrTheNearestParent(t *testing.T) {
	d := parse(t, placed)
	tests := map[string][2]int{
		"":                             {1, 1},
		"nowhere":                      {1, 1},
		"schedule":                     {2, 1},
		"schedule.cron":                {3, 9},
		"schedule.cron.deeper":         {3, 3},
		"schedule.evaluation":          {4, 15},
		"schedule.evaluation.interval": {4, 38},
		"schedule.evaluation.absent":   {4, 3},
		"schedule.trigger":             {5, 3},
		"schedule.trigger.key":         {6, 10},
		"schedule.trigger.check":       {5, 3},
		"schedule.empty":               {7, 3},
		"rules":                        {8, 1},
		"rules[0]":                     {9, 5},
		"rules[0].value":               {10, 12},
		"rules[0].absent":              {9, 5},
		"rules[1]":                     {11, 5},
		`rules[1]["a.b"]`:              {11, 21},
		"rules[9]":                     {8, 1},
		"rules[x]":                     {8, 1},
		"rules[":                       {8, 1},
		`["odd key"][1]`:               {12, 16},
		`["odd key`:                    {1, 1},
	}
	for path, want := range tests {
		line, column := d.Position(path)
		if got := [2]int{line, column}; got != want {
			t.Errorf("%s is at %v, want %v", path, got, want)
		}
	}
}

func TestFindingsNameTheOtherPlaces(t *testing.T) {
	d := parse(t, placed)
	got := d.Resolve(
		document.Finding{Path: "schedule.evaluation.interval", Message: "is longer than the window", Also: []string{"schedule.evaluation.window", "schedule.cron"}},
		document.Finding{Path: "schedule.cron", Message: "is odd", Severity: document.Warning, Key: true},
	)
	want := []document.Problem{
		{File: "f.yaml", Line: 3, Column: 3, Path: "schedule.cron", Message: "is odd", Severity: document.Warning},
		{
			File: "f.yaml", Line: 4, Column: 38, Path: "schedule.evaluation.interval", Severity: document.Error,
			Message: "is longer than the window (see schedule.evaluation.window at 4:24) (see schedule.cron at 3:9)",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWarningsAreNotAnError(t *testing.T) {
	d := parse(t, placed)
	many := make([]document.Finding, 150)
	for i := range many {
		many[i] = document.Finding{Path: "schedule", Message: "is odd", Severity: document.Warning}
	}
	for _, p := range d.Resolve(many...) {
		if p.Severity != document.Warning {
			t.Errorf("warnings make the error %q", p.Message)
		}
	}
	many[149].Severity = document.Error
	told := d.Resolve(many...)
	if last := told[len(told)-1]; last.Severity != document.Error || last.Message != "and 50 more problems" {
		t.Errorf("an error among those that are only counted ends in %+v", last)
	}
}

func TestHasIsAboutWhatTheFileItselfHolds(t *testing.T) {
	d := parse(t, placed)
	for path, want := range map[string]bool{"schedule": true, "schedule.cron": true, "schedule.empty": false, "sla": false, "rules[1].key": true, "rules[2]": false} {
		if got := d.Has(path); got != want {
			t.Errorf("Has(%q) = %v", path, got)
		}
	}
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	source := "\ufeffa: 1\r\nb: ü\r\nc: 3"
	for n, want := range map[int]string{-1: "", 0: "", 1: "a: 1", 2: "b: ü", 3: "c: 3", 4: ""} {
		if got := document.SourceLine(source, n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}

func TestFindingsMoveWithTheirPaths(t *testing.T) {
	got := document.Under("job.config", []document.Finding{
		{Path: "", Message: "a"},
		{Path: "env", Message: "b", Also: []string{"shell", `headers["a b"]`}},
		{Path: `["odd"]`, Message: "c"},
	})
	want := []document.Finding{
		{Path: "job.config", Message: "a"},
		{Path: "job.config.env", Message: "b", Also: []string{"job.config.shell", `job.config.headers["a b"]`}},
		{Path: `job.config["odd"]`, Message: "c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPathsOfKeysLeadBackToThem(t *testing.T) {
	for _, key := range []string{"plain", "a.b", "a b", `"`, `\`, "é", "[0]", "]", "", "a\nb", "${X}"} {
		d := parse(t, fmt.Sprintf("top:\n  other: 0\n  %q: 1\n", key))
		path := document.KeyPath("top", key)
		if line, _ := d.Position(path); line != 3 || !d.Has(path) {
			t.Errorf("%s is found on line %d, has a value %v", path, line, d.Has(path))
		}
	}
	if got := document.KeyPath("a", "b c"); got != `a["b c"]` {
		t.Errorf("got %s", got)
	}
}

func TestANodeIsReadLaterAsStrictly(t *testing.T) {
	var file struct {
		Type   string        `yaml:"type"`
		Config document.Node `yaml:"config"`
	}
	d := parse(t, "type: x\nconfig:\n  id: ann\n  phon: 5\n  phone: 5\n")
	if found := d.Decode(&file); found != nil {
		t.Fatalf("%v", found)
	}
	got := d.Resolve(document.Under("config", file.Config.Decode(new(owner)))...)
	want := []document.Problem{
		{File: "f.yaml", Line: 4, Column: 3, Path: "config.phon", Message: `unknown key "phon"; did you mean "phone"?`, Severity: document.Error},
		{File: "f.yaml", Line: 5, Column: 10, Path: "config.phone", Message: `expected text, found the number 5; write "5"`, Severity: document.Error},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesShowWhatTheyHold(t *testing.T) {
	root := parse(t, "a: [1, x, ~, 2.5, true]\nb: {k: v}\n").Root()
	var kinds []document.Kind
	var said []string
	a, _ := root.Get("a")
	for _, item := range a.Items() {
		kinds = append(kinds, item.Kind())
		said = append(said, item.Describe())
	}
	if diff := cmp.Diff([]document.Kind{document.Int, document.String, document.Null, document.Float, document.Bool}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"the number 1", `the text "x"`, "nothing", "the number 2.5", "true"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, found := root.Get("c"); found {
		t.Error("found a key that is not there")
	}
}

func TestAnAbsentNodeIsNullAndReadAsAnEmptyMapping(t *testing.T) {
	var n document.Node
	_, found := n.Get("x")
	if n.Kind() != document.Null || n.Text() != "" || n.Value() != nil || n.Items() != nil || found || n.Describe() != "nothing" {
		t.Errorf("an absent node is %v", n)
	}
	if got := n.Decode(new(owner)); len(got) != 1 || got[0].Path != "id" {
		t.Errorf("got %v, want what is required to be asked for", got)
	}
}
