package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func following(id string, after ...string) string {
	return fmt.Sprintf("pipeline: {id: %s, owner: t}\nschedule: {after: [%s]}\n", id, strings.Join(after, ", "))
}

func TestTwoFilesWithOneIDAreBothRefused(t *testing.T) {
	set := load(minimal, minimal, "pipeline: {id: other, owner: t}")
	want := []string{
		`a.yaml:1:16: pipeline.id: "minimal" is also the id in b.yaml; give each pipeline a unique id`,
		`b.yaml:1:16: pipeline.id: "minimal" is also the id in a.yaml; give each pipeline a unique id`,
	}
	if diff := cmp.Diff(want, report(set)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(set.Definitions) != 1 || set.Definitions[0].ID != "other" {
		t.Errorf("got %v", set.Definitions)
	}
}

func TestCycleIsReportedInEachOfItsFiles(t *testing.T) {
	set := load(following("one", "three"), following("two", "one"), following("three", "two"), following("four", "one"))
	want := []string{
		`a.yaml:2:20: schedule.after[0]: upstreams form a cycle: one → three → two → one; none of them could ever start`,
		`b.yaml:2:20: schedule.after[0]: upstreams form a cycle: two → one → three → two; none of them could ever start`,
		`c.yaml:2:20: schedule.after[0]: upstreams form a cycle: three → two → one → three; none of them could ever start`,
	}
	if diff := cmp.Diff(want, report(set)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFileOnAnyCycleIsReported(t *testing.T) {
	set := load(following("a", "b", "d"), following("b", "c"), following("c", "a"), following("d", "c"), following("e", "a"))
	want := []string{
		`a.yaml:2:20: schedule.after[0]: upstreams form a cycle: a → b → c → a; none of them could ever start`,
		`a.yaml:2:23: schedule.after[1]: upstreams form a cycle: a → d → c → a; none of them could ever start`,
		`b.yaml:2:20: schedule.after[0]: upstreams form a cycle: b → c → a → b; none of them could ever start`,
		`c.yaml:2:20: schedule.after[0]: upstreams form a cycle: c → a → b → c; none of them could ever start`,
		`d.yaml:2:20: schedule.after[0]: upstreams form a cycle: d → c → a → d; none of them could ever start`,
	}
	if diff := cmp.Diff(want, report(set)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// web is six pipelines and the upstreams of each.
type web [6][]int

func drawWeb(t *rapid.T) (w web) {
	for i := range w {
		w[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, len(w)-1), 0, 3, rapid.ID).Draw(t, "after")
	}
	return w
}

func (w web) files() (texts []string) {
	for i, after := range w {
		var names []string
		for _, up := range after {
			names = append(names, fmt.Sprintf("p%d", up))
		}
		texts = append(texts, following(fmt.Sprintf("p%d", i), names...))
	}
	return texts
}

// leads reports whether a pipeline reaches another by upstreams, in any number of steps.
func (w web) leads(from, to int) bool {
	reached := []int{from}
	for i := 0; i < len(reached); i++ {
		for _, up := range w[reached[i]] {
			if !slices.Contains(reached, up) {
				reached = append(reached, up)
			}
		}
	}
	return slices.Contains(reached, to)
}

// An upstream is reported if and only if it leads back, and the reported path is a cycle.
func TestEveryUpstreamThatLeadsBackIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWeb(t)
		told := map[string]string{}
		for _, p := range load(w.files()...).Problems {
			told[p.File+" "+p.Path] += p.Message
		}
		for i, after := range w {
			for k, up := range after {
				message, is := told[fmt.Sprintf("%c.yaml schedule.after[%d]", 'a'+i, k)]
				switch {
				case is != w.leads(up, i):
					t.Fatalf("upstream %d of p%d is reported as %q; %v", k, i, message, w)
				case is && !w.isWayAround(message, i, up):
					t.Fatalf("upstream %d of p%d: %s; %v", k, i, message, w)
				}
			}
		}
	})
}

// isWayAround reports whether a message names a path from one pipeline to its upstream and on, back
// to itself.
func (w web) isWayAround(message string, from, first int) bool {
	_, way, _ := strings.Cut(strings.TrimSuffix(message, "; none of them could ever start"), ": ")
	var at []int
	for _, name := range strings.Split(way, " → ") {
		var i int
		if _, err := fmt.Sscanf(name, "p%d", &i); err != nil {
			return false
		}
		at = append(at, i)
	}
	for i := range at[1:] {
		if !slices.Contains(w[at[i]], at[i+1]) {
			return false
		}
	}
	return at[0] == from && at[1] == first && at[len(at)-1] == from
}

func TestReportsOnManyFilesStayShort(t *testing.T) {
	const many = 300
	var copies, ring []string
	for i := range many {
		copies = append(copies, minimal)
		ring = append(ring, following(fmt.Sprintf("p%d", i), fmt.Sprintf("p%d", (i+1)%many)))
	}
	for _, set := range []*pipeline.Set{load(copies...), load(ring...)} {
		if len(set.Problems) != many {
			t.Errorf("%d problems, want one in each file", len(set.Problems))
		}
		for _, p := range set.Problems {
			if len(p.Message) > 300 {
				t.Fatalf("a message of %d bytes", len(p.Message))
			}
		}
	}
	if got := report(load(ring...))[0]; !strings.Contains(got, " → … (300 pipelines) → ") {
		t.Errorf("got %s", got)
	}
}

func TestPipelineAfterItselfIsACycle(t *testing.T) {
	set := load(following("one", "one"))
	if got := strings.Join(report(set), "\n"); !strings.Contains(got, "one → one") || !set.Failed() {
		t.Errorf("got %s", got)
	}
}

func TestDiamondIsNotACycle(t *testing.T) {
	set := load(following("top", "left", "right"), following("left", "base"), following("right", "base"), "pipeline: {id: base, owner: t}")
	if len(set.Problems) > 0 {
		t.Error(report(set))
	}
}

func TestUpstreamMayHaveTheLongestID(t *testing.T) {
	longest := strings.Repeat("a", 128)
	set := load(following("down", longest), "pipeline: {id: "+longest+", owner: t}")
	if len(set.Problems) > 0 || len(set.Definitions) != 2 {
		t.Error(report(set))
	}
}

func TestUnknownNamesAreErrorsOnlyWhenAllFilesAreGiven(t *testing.T) {
	texts := []string{
		following("gold", "silvr"), "pipeline: {id: silver, owner: t}",
		"pipeline: {id: reader, owner: t}\nschedule: {trigger: {key: a, check: exists, from: nobody}}\n" +
			"validation: {rules: [{any: [{key: b, check: exists, from: silver}, {key: c, check: exists, from: gone}]}]}\n",
	}
	want := []string{
		`a.yaml:2:20: schedule.after[0]: there is no pipeline "silvr" among these files; did you mean "silver"?`,
		`c.yaml:2:51: schedule.trigger.from: there is no pipeline "nobody" among these files`,
		`c.yaml:3:98: validation.rules[0].any[1].from: there is no pipeline "gone" among these files`,
	}
	if diff := cmp.Diff(want, report(load(texts...))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	some := pipeline.Load(sources(texts...), pipeline.Options{Jobs: all.Kinds()})
	if some.Failed() || len(some.Problems) != 3 {
		t.Errorf("with only some files given: %v", report(some))
	}
}

// Readers of a server's problems may see only some of the pipelines.
func TestSharedProblemsSuggestNoPipelines(t *testing.T) {
	shared := pipeline.Load(sources(following("gold", "silvr"), "pipeline: {id: silver, owner: t}"), pipeline.Options{Jobs: all.Kinds(), Whole: true, Shared: true})
	want := []string{"a.yaml:2:20: schedule.after[0]: there is no pipeline \"silvr\" among these files; `interlock validate` suggests a name"}
	if diff := cmp.Diff(want, report(shared)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPipelineIsNotSuggestedAsItsOwnUpstream(t *testing.T) {
	want := []string{
		`a.yaml:2:20: schedule.after[0]: there is no pipeline "order" among these files; did you mean "borders"?`,
		`b.yaml:2:20: schedule.after[0]: there is no pipeline "order" among these files; did you mean "orders"?`,
	}
	if diff := cmp.Diff(want, report(load(following("orders", "order"), following("borders", "order")))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	alone := `a.yaml:2:20: schedule.after[0]: there is no pipeline "order" among these files`
	if diff := cmp.Diff([]string{alone}, report(load(following("orders", "order")))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestUnknownNameMayBeAFileThatCannotBeRead(t *testing.T) {
	gone := "pipeline: {id: reader, owner: t}\nvalidation: {rules: [{key: a, check: exists, from: silver}]}\n"
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"]no yaml[", following("gold", "silver")}, `there is no pipeline "silver" among these files; it may be in a.yaml, which cannot be read; correct that first`},
		{[]string{"]no yaml[", gone}, `there is no pipeline "silver" among these files; it may be in a.yaml, which cannot be read; correct that first`},
		{[]string{"]no yaml[", following("gold", "silver"), "", "pipeline: {id: silvr, owner: t}\n"}, `it may be in a.yaml, c.yaml, which cannot be read; did you mean "silvr"?`},
		{[]string{"compose: {}\n", following("gold", "silver")}, `there is no pipeline "silver" among these files`},
	} {
		set := load(c.texts...)
		if got := report(set); !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "b.yaml") && strings.HasSuffix(line, c.want) }) {
			t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), c.want)
		}
	}
}

func TestUnreadableFileCountsAsItsVersionActive(t *testing.T) {
	before := load(following("up", "far"), "pipeline: {id: far, owner: t}\n").Find("up")
	active := func(file string) *pipeline.Definition {
		if file == "a.yaml" {
			return before
		}
		return nil
	}
	for _, c := range []struct {
		name  string
		texts []string
		want  []string // problems of the other files
	}{
		{"it can be named", []string{"]", following("down", "up"), "pipeline: {id: far, owner: t}\n"}, nil},
		{"also where its id is no longer one", []string{"pipeline: {id: No Good, owner: t}\n", following("down", "up")}, nil},
		{"another file may have become it", []string{"]", "pipeline: {id: up, owner: t}\n"}, nil},
		{"it still follows", []string{"]", "pipeline: {id: down, owner: t}\n", following("far", "up")}, []string{"c.yaml:2:20: schedule.after[0]: upstreams form a cycle: far → up → far; none of them could ever start"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := pipeline.Load(sources(c.texts...), pipeline.Options{Jobs: all.Kinds(), Whole: true, Active: active})
			got := slices.DeleteFunc(report(set), func(line string) bool { return strings.HasPrefix(line, "a.yaml") })
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
