package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// reload reads texts, some of them for the second time. It returns the set, and how many
// definitions were known.
func reload(before map[string]*pipeline.Definition, texts ...string) (set *pipeline.Set, reused int) {
	set = pipeline.Load(sources(texts...), pipeline.Options{Jobs: all.Kinds(), Whole: true, Known: func(src pipeline.Source) *pipeline.Definition {
		return before[src.File+string(src.Data)]
	}})
	for _, d := range set.Definitions {
		for _, k := range before {
			if d == k {
				reused++
			}
		}
	}
	return set, reused
}

// known returns what texts were read into.
func known(texts ...string) map[string]*pipeline.Definition {
	all, set := map[string]*pipeline.Definition{}, load(texts...)
	for _, src := range sources(texts...) {
		for _, d := range set.Definitions {
			if d.File == src.File {
				all[src.File+string(src.Data)] = d
			}
		}
	}
	return all
}

// undatedStatus is a rule that causes a warning.
const undatedStatus = "schedule: {cron: '@daily'}\nvalidation: {rules: [{key: ready, check: equals, field: status, value: done}]}\n"

func TestKnownFileIsNotReadAgain(t *testing.T) {
	texts := []string{minimal, following("next", "minimal"), "pipeline: {id: warned, owner: t}\n" + undatedStatus}
	set, reused := reload(known(texts...), texts...)
	if reused != 3 {
		t.Errorf("%d of 3 definitions were reused", reused)
	}
	if diff := cmp.Diff(report(load(texts...)), report(set)); diff != "" || len(set.Problems) != 1 {
		t.Errorf("problems (-read +known):\n%s", diff)
	}
}

func TestKnownFileIsStillCheckedWithOthers(t *testing.T) {
	reads := "pipeline: {id: reads, owner: t}\nschedule: {trigger: {key: a, check: exists, from: minimal}}\n" +
		"validation: {rules: [{any: [{key: b, check: exists, from: minimal}, {key: c, check: exists}]}]}\npostRun: {rules: [{key: d, check: exists, from: minimal}]}\n"
	before := []string{minimal, following("next", "minimal"), reads}
	for name, after := range map[string][]string{
		"its upstream is gone":    {"pipeline: {id: other, owner: t}\n", before[1], reads},
		"its id is taken":         {minimal, before[1], "pipeline: {id: next, owner: t}\n"},
		"its upstream follows it": {following("minimal", "next"), before[1], reads},
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := reload(known(before...), after...)
			if diff := cmp.Diff(report(load(after...)), report(set)); diff != "" || len(set.Problems) == 0 {
				t.Errorf("problems (-read +known):\n%s", diff)
			}
		})
	}
}

// Whatever changes, rereading only the changed files gives the same result as reading everything.
func TestKnownFilesChangeNothing(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		id := rapid.SampledFrom([]string{"a", "b", "c"})
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return "pipeline: {id: " + id.Draw(t, "id") + ", owner: t}\n"
		case 1:
			return "pipeline: {id: " + id.Draw(t, "id") + "}\n"
		case 2:
			return "pipeline: {id: " + id.Draw(t, "id") + ", owner: t}\nvalidation: {rules: [{key: k, check: exists, from: " + id.Draw(t, "from") + "}]}\n"
		case 3:
			return "]"
		case 4:
			return "pipeline: {id: " + id.Draw(t, "id") + ", owner: t}\n" + undatedStatus
		}
		return following(id.Draw(t, "id"), id.Draw(t, "after"))
	})
	texts := rapid.SliceOfN(text, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts.Draw(t, "before"), texts.Draw(t, "after")
		got, _ := reload(known(before...), after...)
		want := load(after...)
		if diff := cmp.Diff(report(want), report(got)); diff != "" {
			t.Errorf("problems (-read +known):\n%s", diff)
		}
		if diff := cmp.Diff(want.Refused, got.Refused); diff != "" {
			t.Errorf("refused (-read +known):\n%s", diff)
		}
		if len(want.Definitions) != len(got.Definitions) {
			t.Fatalf("%d definitions, want %d", len(got.Definitions), len(want.Definitions))
		}
		for i, d := range want.Definitions {
			if d.ID != got.Definitions[i].ID || d.File != got.Definitions[i].File {
				t.Errorf("definition %d is %s of %s, want %s of %s", i, got.Definitions[i].ID, got.Definitions[i].File, d.ID, d.File)
			}
		}
	})
}
