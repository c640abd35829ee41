package controller_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/controller"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// declared lists the constants of type TaskKind in package store.
func declared(t *testing.T) []store.TaskKind {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../store/task.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []store.TaskKind
	ast.Inspect(file, func(n ast.Node) bool {
		v, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := v.Type.(*ast.Ident); is && of.Name == "TaskKind" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, store.TaskKind(text))
		}
		return true
	})
	return all
}

func sorted(kinds []store.TaskKind) []store.TaskKind {
	slices.Sort(kinds)
	return kinds
}

func TestEachKindOfTaskThatFallsDueIsInOneClass(t *testing.T) {
	want := slices.DeleteFunc(declared(t), func(kind store.TaskKind) bool { return kind == store.Turn })
	got := controller.Of(controller.Steps, controller.Urgent, controller.Timers, controller.Probes, controller.Changes)
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("(-declared +in a class):\n%s", diff)
	}
}

// passing is an evaluator for which every probe passes.
type passing struct{}

func (passing) Evaluate(context.Context, probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Pass}, nil
}

func TestControllerCarriesOutWhatItsPartsAllow(t *testing.T) {
	s := memory.New()
	parts := controller.Parts{Store: s, Catalog: catalog.New(s, nil), Now: time.Now}
	hosts := []store.TaskKind{store.HandleChange, store.Deliver}
	all := controller.Of(controller.Steps, controller.Urgent, controller.Timers, controller.Probes, controller.Changes)
	for name, c := range map[string]struct {
		change func(p *controller.Parts)
		not    []store.TaskKind
	}{
		"everything":   {func(p *controller.Parts) { p.Probes = passing{} }, nil},
		"no probes":    {func(*controller.Parts) {}, []store.TaskKind{store.RunProbe}},
		"no own steps": {func(p *controller.Parts) { p.Probes, p.Elsewhere = passing{}, []store.TaskKind{store.Advance} }, []store.TaskKind{store.Advance}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts
			c.change(&p)
			of := controller.New(p)
			want := slices.DeleteFunc(slices.Clone(all), func(kind store.TaskKind) bool { return slices.Contains(append(c.not, hosts...), kind) })
			if diff := cmp.Diff(want, of.Kinds()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, kind := range append(c.not, "not invented yet") {
				if err := of.Perform(t.Context(), store.Claim{Task: store.Task{Kind: kind}}); err == nil || !strings.Contains(err.Error(), "does not know") {
					t.Errorf("performed %s: %v", kind, err)
				}
			}
		})
	}
}
