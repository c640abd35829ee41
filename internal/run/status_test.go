package run_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/run"
)

func TestEachStatusIsOpenOrEnded(t *testing.T) {
	want := map[run.Status]bool{
		run.Pending: true, run.Triggering: true, run.Running: true, run.Failed: true, run.JobPollExhausted: true,
		run.Completed: false, run.FailedFinal: false, run.ValidationExhausted: false, run.Cancelled: false,
	}
	for _, s := range run.Statuses() {
		open, known := want[s]
		if !known || s.Open() != open || s.Ended() == open {
			t.Errorf("%s: open %v, ended %v, want open %v", s, s.Open(), s.Ended(), open)
		}
		delete(want, s)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	for _, s := range []run.Status{"", "pending", "DONE"} {
		if s.Open() || s.Ended() {
			t.Errorf("%q is not a state, but open %v, ended %v", s, s.Open(), s.Ended())
		}
	}
}

func TestEveryStatusCanBeReached(t *testing.T) {
	reached := map[run.Status]bool{"": true}
	for range run.Transitions() {
		for _, tr := range run.Transitions() {
			if reached[tr.From] {
				reached[tr.To] = true
			}
		}
	}
	for _, s := range run.Statuses() {
		if !reached[s] {
			t.Errorf("%s cannot be reached", s)
		}
	}
}

func TestEveryOpenStatusCanEnd(t *testing.T) {
	for _, s := range run.Statuses() {
		ends := !s.Open()
		for _, tr := range run.Transitions() {
			ends = ends || tr.From == s && tr.To.Ended()
		}
		if !ends {
			t.Errorf("no transition ends a run in %s", s)
		}
	}
}

func TestOnlyRerunAndReopenedLeaveAnEndedState(t *testing.T) {
	for _, tr := range run.Transitions() {
		if !tr.From.Ended() {
			continue
		}
		rerun := tr.On == run.OnRerun
		reopened := tr.On == run.OnReopened && tr.From == run.ValidationExhausted
		if !rerun && !reopened || tr.To != run.Pending {
			t.Errorf("%s leaves an ended state: %s to %s", tr.On, tr.From, tr.To)
		}
	}
}

func TestEachEventHasOneTargetState(t *testing.T) {
	to := map[run.On]run.Status{}
	seen := map[run.Transition]bool{}
	for _, tr := range run.Transitions() {
		if old, ok := to[tr.On]; ok && old != tr.To {
			t.Errorf("%q leads to %s and to %s", tr.On, old, tr.To)
		}
		to[tr.On] = tr.To
		if seen[tr] {
			t.Errorf("%v is listed twice", tr)
		}
		seen[tr] = true
	}
}

// People read the drawing at Status, so it must show exactly the transitions of the table.
func TestDrawingShowsEveryTransitionAndNoOther(t *testing.T) {
	drawn := map[run.Transition]bool{}
	for line := range strings.Lines(statusComment(t)) {
		for _, tr := range arrows(line) {
			drawn[tr] = true
		}
	}
	listed := map[run.Transition]bool{}
	for _, tr := range run.Transitions() {
		listed[tr] = true
	}
	if diff := cmp.Diff(listed, drawn); diff != "" {
		t.Errorf("table (-) and drawing (+) differ:\n%s", diff)
	}
}

func statusComment(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "status.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
			if gen.Specs[0].(*ast.TypeSpec).Name.Name == "Status" {
				return gen.Doc.Text()
			}
		}
	}
	t.Fatal("status.go declares no type Status")
	return ""
}

var arrow = regexp.MustCompile(` ──([a-z ]+)──> `)

// arrows parses "A ──x──> B ──y──> C".
func arrows(line string) []run.Transition {
	line = strings.TrimSpace(line)
	labels := arrow.FindAllStringSubmatch(line, -1)
	states := arrow.Split(line, -1)
	var found []run.Transition
	for i, label := range labels {
		for _, from := range named(states[i]) {
			found = append(found, run.Transition{From: from, To: run.Status(states[i+1]), On: run.On(label[1])})
		}
	}
	return found
}

func named(s string) []run.Status {
	var all []run.Status
	for _, status := range run.Statuses() {
		if s == "any open state" && status.Open() || s == "any ended state" && status.Ended() {
			all = append(all, status)
		}
	}
	switch {
	case all != nil:
		return all
	case s == "(no run)":
		return []run.Status{""}
	default:
		return []run.Status{run.Status(s)}
	}
}
