package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func following(id string, after ...string) string {
	return fmt.Sprintf("pipeline: {id: %s, owner: t}\nschedule: {after: [%s]}\n", id, strings.Join(after, ", "))
}

func TestTwoFilesWithOneIDAreBothRefused(t *testing.T) {
	set := load(minimal, minimal, "pipeline: {id: other, owner: t}")
	want := []string{
		`a.yaml:1:16: pipeline.id: "minimal" is also the id in b.yaml; give each pipeline its own`,
		`b.yaml:1:16: pipeline.id: "minimal" is also the id in a.yaml; give each pipeline its own`,
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

func TestDiamondIsNoCycle(t *testing.T) {
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
		`a.yaml:2:20: schedule.after[0]: there is no pipeline "silvr" among the files given; did you mean "silver"?`,
		`c.yaml:2:51: schedule.trigger.from: there is no pipeline "nobody" among the files given`,
		`c.yaml:3:98: validation.rules[0].any[1].from: there is no pipeline "gone" among the files given`,
	}
	if diff := cmp.Diff(want, report(load(texts...))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	some := pipeline.Load(sources(texts...), pipeline.Options{Jobs: all.Kinds()})
	if some.Failed() || len(some.Problems) != 3 {
		t.Errorf("with only some files given: %v", report(some))
	}
}
