package pipeline_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

func TestStatusOfAProbeNeedsNoAgeBesideIt(t *testing.T) {
	set := load(minimal + "probes: [{key: a, command: x}]\nvalidation: {rules: [{key: a, check: equals, field: status, value: PASS}]}\n")
	if got := report(set); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestBuiltinProbesTakeTheirConfigFromAnArchetypeToo(t *testing.T) {
	const landing = `name: landing
parameters: {path: {type: string}, maxAge: {type: duration, default: 2h}}
probes:
  - {key: landing, builtin: file-freshness, interval: 1m, config: {path: "${with.path}/dt=${DATE}", maxAge: "${with.maxAge}", minFiles: 3}}
rules:
  - {key: landing, check: equals, field: status, value: PASS}
`
	set := loadWith(landing, minimal+"archetype: landing\nwith: {path: /data}\n")
	if set.Failed() {
		t.Fatal(report(set))
	}
	got, findings := set.Definitions[0].Probes[0].Builtin.Config(set.Definitions[0].Probes[0].Config)
	age := document.Duration(2 * time.Hour)
	want := &pipeline.FileFreshnessConfig{Path: "/data/dt=${DATE}", Pattern: "*", MaxAge: &age, MinFiles: 3}
	if diff := cmp.Diff(want, got); diff != "" || len(findings) > 0 {
		t.Errorf("%v (-want +got):\n%s", findings, diff)
	}
}

func TestProbeURLMayContainVariablesAnywhere(t *testing.T) {
	d := one(t, minimal+"probes: [{key: a, url: 'https://${env:HOST}/a'}, {key: b, url: '${env:BASE}/b'}]\n")
	if len(d.Probes) != 2 || d.Probes[0].URL != "https://${env:HOST}/a" {
		t.Errorf("got %+v", d.Probes)
	}
	set := load(minimal + "probes: [{key: a, url: 'https://:443/a'}]\n")
	if got := strings.Join(report(set), "\n"); !strings.Contains(got, `"https://:443/a" is not an absolute http or https address`) {
		t.Errorf("got %q", got)
	}
}

func TestTraitMayHaveABuiltinEvaluator(t *testing.T) {
	set := load(minimal + "traits: {landing: {evaluator: \"builtin:file-freshness\", config: {path: /data}}}\n")
	if set.Failed() || set.Definitions[0].Probes[0].Builtin != pipeline.FileFreshness {
		t.Errorf("got %v, %+v", report(set), set.Definitions)
	}
}

// forms draws some traits and writes them twice: as traits of an archetype, and as probes and
// rules.
func forms(t *rapid.T) (older, archetype, newer string, keys []sensor.Key) {
	required := rapid.IntRange(1, 5).Draw(t, "required")
	optional := rapid.IntRange(0, 2).Draw(t, "optional")
	var announced [2]string
	var traits, probes, rules, shown strings.Builder
	for i := range required + optional {
		key := fmt.Sprintf("trait-%d", i)
		keys = append(keys, sensor.Key(key))
		at, ttl := 0, rapid.IntRange(1, 600).Draw(t, "ttl")
		passes := fmt.Sprintf("{key: %s, check: equals, field: status, value: PASS", key)
		if i < required {
			fmt.Fprintf(&rules, "      - %s}\n", passes)
		} else {
			at = 1
			fmt.Fprintf(&shown, "    - %s, level: advisory}\n", passes)
		}
		announced[at] += fmt.Sprintf("  - {type: %s, defaultTtl: %d}\n", key, ttl)
		fmt.Fprintf(&traits, "  %s: {evaluator: [check, %s]}\n", key, key)
		fmt.Fprintf(&probes, "  - {key: %s, command: [check, %s], interval: 5m, ttl: %ds}\n", key, key, ttl)
	}
	ready, group := "all-required-pass", "    - all:\n"+rules.String()
	if rapid.Bool().Draw(t, "majority") {
		n := required/2 + 1
		ready = "majority-pass"
		if rapid.Bool().Draw(t, "threshold given") {
			n = rapid.IntRange(1, required).Draw(t, "threshold")
			ready = fmt.Sprintf("{type: majority-pass, threshold: %d}", n)
		}
		group = fmt.Sprintf("    - atLeast:\n        n: %d\n        of:\n%s", n, strings.ReplaceAll(rules.String(), "      -", "          -"))
	}
	archetype = "name: batch\nrequiredTraits:\n" + announced[0] + "readinessRule: " + ready + "\n"
	if announced[1] != "" {
		archetype += "optionalTraits:\n" + announced[1]
	}
	older = minimal + "archetype: batch\ntraits:\n" + traits.String()
	newer = minimal + "probes:\n" + probes.String() + "validation:\n  rules:\n" + group + shown.String()
	return older, archetype, newer, keys
}

// someFacts draws possible probe results: an answer, an odd one, an expired one, or nothing.
func someFacts(t *rapid.T, keys []sensor.Key) map[sensor.Key]*sensor.Reading {
	facts := map[sensor.Key]*sensor.Reading{}
	for _, key := range keys {
		status := rapid.SampledFrom([]any{"PASS", "PASS", "PASS", "FAIL", "pass", int64(1), nil, "nothing"}).Draw(t, "status")
		if status == "nothing" {
			continue
		}
		left := rapid.IntRange(-2, 10).Draw(t, "left")
		facts[key] = &sensor.Reading{
			Key: key, Fields: sensor.Fields{"status": status}, UpdatedAt: noon.Add(-time.Minute), Version: 1, ExpiresAt: noon.Add(time.Duration(left) * time.Minute),
		}
	}
	return facts
}

func TestTraitsAndProbesGiveTheSameVerdictOnTheSameFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		older, archetype, newer, keys := forms(t)
		sets := [2]*pipeline.Set{loadWith(archetype, older), loadWith(archetype, newer)}
		for _, set := range sets {
			if set.Failed() {
				t.Fatalf("%v in\n%s\n%s\n%s", report(set), archetype, older, newer)
			}
		}
		was, is := sets[0].Definitions[0], sets[1].Definitions[0]
		same := cmp.FilterValues(func(a, b map[string]any) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
		if diff := cmp.Diff(was.Probes, is.Probes, same); diff != "" {
			t.Fatalf("probes (-traits +probes):\n%s", diff)
		}
		for range 5 {
			facts := someFacts(t, keys)
			if a, b := verdict(was.Gate, facts), verdict(is.Gate, facts); a != b {
				t.Fatalf("on %v traits say %v, probes %v:\n%s\n%s\n%s", facts, a, b, archetype, older, newer)
			}
		}
	})
}

func verdict(g *rule.Gate, facts map[sensor.Key]*sensor.Reading) rule.Outcome {
	var s rule.Snapshot
	for _, ref := range g.Refs() {
		s = append(s, sensor.Seen{Reading: facts[ref.Key]})
	}
	return g.Decide(s, noon)
}
