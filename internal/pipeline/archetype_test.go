package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
)

const freshSource = `name: fresh-source
parameters:
  path: {type: string}
  maxAge: {type: duration, default: 1h}
  least: {type: integer, default: 10}
probes:
  - key: landing
    command: [check, "${with.path}/in"]
    interval: 1m
rules:
  - {key: landing, check: age_lt, field: newest, value: "${with.maxAge}"}
  - {key: landing, check: gte, field: count, value: "${with.least}"}
`

func loadWith(archetype, text string) *pipeline.Set {
	return pipeline.Load(sources(text), pipeline.Options{
		Jobs: all.Kinds(), Whole: true,
		Archetypes: []pipeline.Source{{File: "arch.yaml", Data: []byte(archetype)}},
	})
}

func TestArchetypeAddsItsProbesAndRules(t *testing.T) {
	set := loadWith(freshSource, minimal+"archetype: fresh-source\nwith: {path: /data, least: 3}\nvalidation: {rules: [{key: own, check: exists}]}\n")
	if set.Failed() {
		t.Fatal(report(set))
	}
	d := set.Definitions[0]
	want := []pipeline.Probe{{
		Key: "landing", Command: []string{"check", "/data/in"}, Interval: time.Minute, TTL: 2 * time.Minute, Timeout: 30 * time.Second,
	}}
	if diff := cmp.Diff(want, d.Probes); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	facts := map[sensor.Key]sensor.Fields{
		"landing": {"newest": noon.Add(-time.Minute).Format(time.RFC3339), "count": int64(3)},
		"own":     {},
	}
	if got := decide(d.Gate, facts); got != rule.Pass {
		t.Errorf("gate on good facts: %v", got)
	}
	facts["landing"]["count"] = int64(2)
	if got := decide(d.Gate, facts); got != rule.Fail {
		t.Errorf("gate on too few files: %v, want fail", got)
	}
}

func TestProblemsOfAnArchetypeNameBothFiles(t *testing.T) {
	for _, c := range []struct{ name, archetype, pipeline, want string }{
		{"missing parameter", freshSource, "archetype: fresh-source\n", `a.yaml:2:12: archetype: archetype "fresh-source", at arch.yaml:3:9: needs the parameter with.path: a string`},
		{"unknown parameter", freshSource, "archetype: fresh-source\nwith: {path: a, maxage: 1h}\n", `a.yaml:3:25: with.maxage: archetype "fresh-source", at arch.yaml:2:1: has no parameter "maxage"; did you mean "maxAge"?`},
		{"wrong type", freshSource, "archetype: fresh-source\nwith: {path: a, least: many}\n", `a.yaml:3:24: with.least: many is not allowed; it must be an integer (a parameter of archetype "fresh-source", at arch.yaml:5:10)`},
		{"unknown archetype", freshSource, "archetype: fresh-sauce\n", `a.yaml:2:12: archetype: there is no archetype "fresh-sauce"; did you mean "fresh-source"?`},
		{
			"bad rule", strings.Replace(freshSource, "age_lt, field: newest, value: \"${with.maxAge}\"", "gte, field: newest, value: \"${with.path}\"", 1),
			"archetype: fresh-source\nwith: {path: abc}\n", `a.yaml:2:12: archetype: archetype "fresh-source", at arch.yaml:11:`,
		},
		{
			"unknown variable", strings.Replace(freshSource, "with.maxAge", "with.maxage", 1),
			"archetype: fresh-source\nwith: {path: abc}\n", `unknown parameter ${with.maxage}`,
		},
		{"with without archetype", freshSource, "with: {path: abc}\n", `add archetype: NAME`},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := loadWith(c.archetype, minimal+c.pipeline)
			if got := strings.Join(report(set), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant %q in it", got, c.want)
			}
			if len(set.Definitions) != 0 {
				t.Error("the pipeline was accepted")
			}
		})
	}
}

func TestUnusedArchetypeIsChecked(t *testing.T) {
	for _, c := range []struct{ name, old, made, want string }{
		{"unknown check", "check: gte", "check: gtee", `arch.yaml:12:27: rules[1].check: unknown value "gtee"; did you mean "gte"?`},
		{"unknown key of a rule", "field: count", "feild: count", `arch.yaml:12:32: rules[1].feild: unknown key "feild"; did you mean "field"?`},
		{"what a rule lacks", ", field: count", "", `arch.yaml:12:5: rules[1].field: is required: the field of the reading that gte checks`},
		{"a default that does not fit", "default: 10", "default: many", `arch.yaml:5:35: parameters.least.default: many is not allowed; it must be an integer`},
		{"a choice that does not fit", "default: 10", "enum: [3, many]", `arch.yaml:5:36: parameters.least.enum[1]: many is not allowed; it must be an integer`},
		{"a parameter that is not closed", "with.least}", "with.least", `arch.yaml:12:53: rules[1].value: "${with.least" is not closed by "}"`},
		{"unknown parameter", "with.least", "with.last", `arch.yaml:12:53: rules[1].value: unknown parameter ${with.last}; use one of least, maxAge, path`},
		{"a probe with two ways", "    interval: 1m", "    url: https://a.example.com", `arch.yaml:7:5: probes[0]: needs one of command, url and builtin`},
		{"a probe without a key", "- key: landing", "- config: {}", `arch.yaml:7:5: probes[0].key: is required: The sensor key that its answers are written to`},
		{"rules that are no list", freshSource[strings.Index(freshSource, "rules:"):], "rules: {}\n", `arch.yaml:10:8: rules: expected a list, found a mapping`},
		{"a value that only the pipeline knows", "value: \"${with.least}\"", "value: \"${with.path}\"", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := loadWith(strings.Replace(freshSource, c.old, c.made, 1), minimal)
			got := report(set)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) == 0 || got[0] != c.want) {
				t.Errorf("got\n%s\nwant %s", strings.Join(got, "\n"), c.want)
			}
			if len(set.Definitions) != 1 {
				t.Error("the pipeline that does not use it was rejected")
			}
		})
	}
}

func TestParametersAreFormattedAsPeopleWriteThem(t *testing.T) {
	const archetype = `name: a
parameters:
  share: {type: number, enum: [1, 12345678.5]}
probes:
  - {key: x, command: [check, "--least=${with.share}", '\${with.share}']}
`
	for share, want := range map[string]string{"1.0": "--least=1", "12345678.5": "--least=12345678.5"} {
		set := loadWith(archetype, minimal+"archetype: a\nwith: {share: "+share+"}\n")
		if set.Failed() {
			t.Errorf("%s: %v", share, report(set))
			continue
		}
		if diff := cmp.Diff([]string{"check", want, `\${with.share}`}, set.Definitions[0].Probes[0].Command); diff != "" {
			t.Errorf("%s (-want +got):\n%s", share, diff)
		}
	}
}

func TestParameterWithABlankRemainsOneWord(t *testing.T) {
	for _, c := range []struct {
		command string
		want    []string
	}{
		{`"check ${with.path}/in --all"`, []string{"check", "it's a b/in", "--all"}},
		{`[check, "${with.path}"]`, []string{"check", "it's a b"}},
		{`"${with.line}"`, []string{"check", "c d"}}, // the parameter is the command
	} {
		archetype := "name: a\nparameters: {path: {}, line: {}}\nprobes: [{key: x, command: " + c.command + "}]\n"
		set := loadWith(archetype, minimal+"archetype: a\nwith: {path: \"it's a b\", line: check 'c d'}\n")
		if set.Failed() {
			t.Errorf("%s: %v", c.command, report(set))
			continue
		}
		if diff := cmp.Diff(c.want, set.Definitions[0].Probes[0].Command); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.command, diff)
		}
	}
}

func TestArchetypeWithErrorsIsNotCalledUnknown(t *testing.T) {
	set := loadWith(strings.Replace(freshSource, "check: gte", "check: gtee", 1), minimal+"archetype: fresh-source\nwith: {path: a}\n")
	want := []string{
		`a.yaml:2:12: archetype: archetype "fresh-source" has errors; correct arch.yaml first`,
		`arch.yaml:12:27: rules[1].check: unknown value "gtee"; did you mean "gte"?`,
	}
	if diff := cmp.Diff(want, report(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const olderArchetype = `name: batch
requiredTraits:
  - {type: freshness, defaultConfig: {lag: 300, zone: utc}, defaultTtl: 120, defaultTimeout: 10}
  - {type: volume}
  - {type: schema}
optionalTraits:
  - {type: cost}
readinessRule: READY
`

const olderPipeline = minimal + `archetype: batch
traits:
  freshness: {evaluator: ./fresh.sh --now, config: {lag: 60}}
  volume: {evaluator: [./volume.sh, "a b"], ttl: 90s}
  schema: {evaluator: "https://checks.example.com/schema"}
  cost: {evaluator: ./cost.sh}
`

func TestOlderTraitsBecomeProbesAndRules(t *testing.T) {
	set := loadWith(strings.Replace(olderArchetype, "READY", "all-required-pass", 1), olderPipeline)
	if set.Failed() {
		t.Fatal(report(set))
	}
	d := set.Definitions[0]
	half, often := 30*time.Second, 5*time.Minute
	want := []pipeline.Probe{
		{Key: "freshness", Command: []string{"./fresh.sh", "--now"}, Config: map[string]any{"lag": int64(60), "zone": "utc"}, Interval: often, TTL: 2 * time.Minute, Timeout: 10 * time.Second},
		{Key: "volume", Command: []string{"./volume.sh", "a b"}, Config: map[string]any{}, Interval: often, TTL: 90 * time.Second, Timeout: half},
		{Key: "schema", URL: "https://checks.example.com/schema", Config: map[string]any{}, Interval: often, TTL: 10 * time.Minute, Timeout: half},
		{Key: "cost", Command: []string{"./cost.sh"}, Config: map[string]any{}, Interval: often, TTL: 10 * time.Minute, Timeout: half},
	}
	if diff := cmp.Diff(want, d.Probes); diff != "" {
		t.Errorf("probes (-want +got):\n%s", diff)
	}
	if leaves := d.Gate.Explain(snapshot(d.Gate, nil), noon).Leaves; len(leaves) != 4 || leaves[3].Rule.Level != rule.Advisory {
		t.Errorf("got leaves %+v, want three required and one advisory", leaves)
	}
}

func TestTraitIsEvaluatedAtTheWatchInterval(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                         5 * time.Minute,
		"watch: {interval: 90s}\n": 90 * time.Second,
		"watch: {interval: 2m}\n":  2 * time.Minute,
		"schedule: {evaluation: {interval: 1m}}\n": time.Minute,
	} {
		set := load(minimal + text + "traits: {volume: {evaluator: ./volume.sh, ttl: 1h}, own: {evaluator: ./own.sh, interval: 7s}}\n")
		if set.Failed() {
			t.Fatal(report(set))
		}
		for _, p := range set.Definitions[0].Probes {
			if want := map[string]time.Duration{"volume": want, "own": 7 * time.Second}[p.Key]; p.Interval != want {
				t.Errorf("%q: %s is evaluated each %s, want %s", text, p.Key, p.Interval, want)
			}
		}
	}
}

func TestReadinessRuleSaysHowManyTraitsMustPass(t *testing.T) {
	for _, c := range []struct {
		ready string
		need  int
	}{
		{"all-required-pass", 3},
		{"majority-pass", 2},
		{"{type: majority-pass, threshold: 1}", 1},
		{"{type: majority-pass, threshold: 0.9}", 3},
		{"{type: majority-pass, threshold: 0.3}", 1},
	} {
		set := loadWith(strings.Replace(olderArchetype, "READY", c.ready, 1), olderPipeline)
		if set.Failed() {
			t.Fatal(report(set))
		}
		facts := map[sensor.Key]sensor.Fields{}
		for passed, name := range []sensor.Key{"", "freshness", "volume", "schema"} {
			if name != "" {
				facts[name] = sensor.Fields{"status": "PASS"}
			}
			open := decide(set.Definitions[0].Gate, facts) == rule.Pass
			if open != (passed >= c.need) {
				t.Errorf("%s: open is %t with %d of 3 passed", c.ready, open, passed)
			}
		}
	}
}

func TestTooHighThresholdRequiresAll(t *testing.T) {
	set := loadWith(strings.Replace(olderArchetype, "READY", "{type: majority-pass, threshold: 1e19}", 1), olderPipeline)
	if set.Failed() {
		t.Fatal(report(set))
	}
	facts := map[sensor.Key]sensor.Fields{"freshness": {"status": "PASS"}, "volume": {"status": "PASS"}, "schema": {"status": "FAIL"}}
	if got := decide(set.Definitions[0].Gate, facts); got != rule.Fail {
		t.Errorf("with two of three: %v, want fail", got)
	}
}

func TestTraitProblemsAreReportedAtTheirPosition(t *testing.T) {
	for _, c := range []struct {
		name, archetype, pipeline string
		want                      []string
	}{
		{"name in the archetype", "name: a\nrequiredTraits:\n  - {type: a b}\n", "archetype: a\n", []string{
			`a.yaml:2:12: archetype: archetype "a" has errors; correct arch.yaml first`,
			`arch.yaml:3:12: requiredTraits[0].type: sensor key "a b" has ' ' in it; a key is 1 to 128 letters, digits and . _ / -`,
		}},
		{"variable in the archetype", "name: a\noptionalTraits:\n  - {type: b, defaultEvaluator: x, defaultConfig: {day: \"${DAT}\"}}\n", "archetype: a\n", []string{
			`a.yaml:2:12: archetype: archetype "a" has errors; correct arch.yaml first`,
			`arch.yaml:3:57: optionalTraits[0].defaultConfig.day: unknown variable ${DAT}; did you mean ${DATE}?`,
		}},
		{"name in the pipeline", "name: a\n", "traits:\n  a b: {evaluator: x}\n", []string{
			`a.yaml:3:8: traits["a b"]: sensor key "a b" has ' ' in it; a key is 1 to 128 letters, digits and . _ / -`,
		}},
		{"evaluator in the pipeline", "name: a\n", "traits:\n  b: {evaluator: ''}\n", []string{
			`a.yaml:3:18: traits.b.evaluator: is empty; name a program`,
		}},
		{"what a builtin lacks", "name: a\nrequiredTraits:\n  - {type: b, defaultEvaluator: builtin:file-freshness}\n", "archetype: a\ntraits:\n  b: {config: {path: /d}}\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, report(loadWith(c.archetype, minimal+c.pipeline))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequiredTraitNeedsAnEvaluator(t *testing.T) {
	set := loadWith(strings.Replace(olderArchetype, "READY", "all-required-pass", 1), minimal+"archetype: batch\ntraits:\n  volume: {evaluator: ./v}\n")
	got := strings.Join(report(set), "\n")
	for _, name := range []string{"freshness", "schema"} {
		if !strings.Contains(got, `the trait "`+name+`" needs an evaluator`) {
			t.Errorf("%s is not mentioned in\n%s", name, got)
		}
	}
	if strings.Contains(got, "cost") {
		t.Errorf("the optional trait was required:\n%s", got)
	}
}

var noon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// snapshot returns each fact as an undated reading written at noon.
func snapshot(g *rule.Gate, facts map[sensor.Key]sensor.Fields) rule.Snapshot {
	var s rule.Snapshot
	for _, ref := range g.Refs() {
		var seen sensor.Seen
		if fields, ok := facts[ref.Key]; ok {
			seen.Reading = &sensor.Reading{Key: ref.Key, Fields: fields, UpdatedAt: noon, Version: 1}
		}
		s = append(s, seen)
	}
	return s
}

func decide(g *rule.Gate, facts map[sensor.Key]sensor.Fields) rule.Outcome {
	return g.Decide(snapshot(g, facts), noon)
}

func TestCalendarWithErrorsIsNotCalledUnknown(t *testing.T) {
	for calendar, want := range map[string]string{
		"name: us\ndates: [2026-13-01]\n": `calendar "us" has errors; correct cal.yaml first`,
		"nam: us\n":                       `there is no calendar "us"; cal.yaml has errors and may define it: correct it first`,
		"]":                               `there is no calendar "us"; cal.yaml has errors and may define it: correct it first`,
	} {
		set := pipeline.Load(sources(minimal+"exclusions: {calendar: us}\n"), pipeline.Options{Calendars: []pipeline.Source{{File: "cal.yaml", Data: []byte(calendar)}}})
		if got := report(set); len(got) < 2 || got[0] != "a.yaml:2:24: exclusions.calendar: "+want {
			t.Errorf("%q:\n%s", calendar, strings.Join(got, "\n"))
		}
	}
}
