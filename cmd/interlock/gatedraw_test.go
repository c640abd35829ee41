//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
)

// drawnGate is a generated pipeline whose gate is closed, but can be opened: behind each field is a
// value with which enough of its rules hold.
type drawnGate struct {
	*rand.Rand
	id, date string
	day      string            // that holds the date
	opening  string            // how its run comes to wait, or does not
	files    map[string]string // the sections of each pipeline file, by id
	readings []drawnReading    // what is stored before its gate is explained
	own      []string          // its keys
	fields   []*drawnField
	reach    map[string]client.Status // the upstream runs whose state must be reached first
	values   int
	holds    int
}

// drawnReading is a reading that is stored first.
type drawnReading struct {
	pipeline, key string
	fields        map[string]any
}

// drawnField is a field of a sensor, with the value behind it.
type drawnField struct {
	key, name, kind string
	value           any
	text            string // the value as it stands in a file
	pattern         string // a regular expression that matches the value; each field has one
}

// The openings of a drawn gate.
var openings = []string{
	"manual", "stream", "stream", "waiting", "waiting", "waiting", "paused", "excluded", "cron", "cron trigger", "deadline", "cancelled", "failed", "upstream", "upstream", "after and trigger",
}

// hourly are the openings that are drawn for hours, too.
var hourly = map[string]bool{"manual": true, "stream": true, "waiting": true, "paused": true, "excluded": true, "cancelled": true, "failed": true}

// hours reports whether the gate is that of an hour.
func (g *drawnGate) hours() bool { return g.date != g.day }

// drawGate returns the gate of a seed. It is the same in every test run.
func drawGate(seed int) *drawnGate {
	g := &drawnGate{Rand: rand.New(rand.NewPCG(uint64(seed), 34)), id: fmt.Sprintf("g%03d", seed), files: map[string]string{}, reach: map[string]client.Status{}}
	day := time.Date(2020, 1, 1+seed%25, 0, 0, 0, 0, time.UTC)
	g.day = day.Format(time.DateOnly)
	g.opening, g.date = pick(g, openings...), g.day
	if g.IntN(5) == 0 && hourly[g.opening] {
		g.date += "T07"
	}
	g.own = []string{"k", []string{"-dash", "a/b.c_d", "UPPER-9", "x"}[g.IntN(4)]}
	var rules []string
	for range 1 + g.IntN(3) {
		rules = append(rules, g.rule(2, true, true))
	}
	if g.IntN(6) == 0 {
		rules = append(rules, fmt.Sprintf("{level: advisory, key: noise, check: gt, field: n, value: %d}", g.IntN(9)))
	}
	validation := fmt.Sprintf("validation: {rules: [%s]", strings.Join(rules, ", "))
	if g.IntN(6) == 0 {
		validation = fmt.Sprintf("validation: {preferUntil: 10h, rules: [%s, %s]", strings.Join(rules, ", "), g.preferred())
	}
	if g.IntN(4) == 0 && !strings.Contains(validation, "preferred") {
		validation += ", trigger: ANY"
	}
	g.files[g.id] = g.schedule() + validation + "}\n" + g.probe()
	if g.opening == "failed" {
		g.files[g.id] += "job: {type: command, config: {command: 'false'}, pollInterval: 1s, maxRetries: 0, maxCodeRetries: 0}\n"
	}
	g.state()
	return g
}

func pick[T any](g *drawnGate, from ...T) T { return from[g.IntN(len(from))] }

// schedule returns the section that says how the run opens.
func (g *drawnGate) schedule() string {
	evaluation := "evaluation: {window: 100h, interval: 1h}"
	if g.hours() {
		evaluation = "period: hour, " + evaluation
	}
	start := func(deadline string) string {
		f := g.field("start")
		return fmt.Sprintf("trigger: {key: start, %s%s}", g.check(f, true), deadline)
	}
	switch g.opening {
	case "manual":
		return fmt.Sprintf("schedule: {%s}\n", evaluation)
	case "excluded":
		return fmt.Sprintf("schedule: {%s, %s, exclude: {dates: [%s]}}\n", start(""), evaluation, g.day)
	case "cron":
		return fmt.Sprintf("schedule: {cron: '0 6 * * *', %s}\n", evaluation)
	case "cron trigger":
		return fmt.Sprintf("schedule: {cron: '0 6 * * *', %s, %s}\n", start(""), evaluation)
	case "deadline":
		return fmt.Sprintf("schedule: {%s, %s}\n", start(", deadline: '09:00'"), evaluation)
	case "upstream":
		return fmt.Sprintf("schedule: {after: [%s], %s}\n", g.upstreams(), evaluation)
	case "after and trigger":
		return fmt.Sprintf("schedule: {%s, after: [%s], %s}\n", start(""), g.upstreams(), evaluation)
	default: // a stream
		return fmt.Sprintf("schedule: {%s, %s}\n", start(""), evaluation)
	}
}

// upstreams adds one or two upstream pipelines, and returns their names.
func (g *drawnGate) upstreams() string {
	job := "job: {type: command, config: {command: 'true'}, pollInterval: 1s}\n"
	var names []string
	for i := range 1 + g.IntN(2) {
		id := fmt.Sprintf("%s-up%d", g.id, i)
		names = append(names, id)
		start := "schedule: {trigger: {key: go, check: equals, field: on, value: true}}\n"
		switch g.IntN(7) {
		case 0: // nothing opens it but a person
			g.files[id] = job
		case 1: // it waits for its rules
			g.files[id] = start + "validation: {rules: [{key: rows, check: gt, field: n, value: 10}]}\n" + job
			g.store(id, "go#"+g.date, map[string]any{"on": true})
			g.reach[id] = client.Pending
		case 2: // its result must be reported
			g.files[id] = start
			g.store(id, "go#"+g.date, map[string]any{"on": true})
			g.reach[id] = client.Running
		case 3: // it has completed
			g.files[id] = start + job
			g.store(id, "go#"+g.date, map[string]any{"on": true})
			g.reach[id] = client.Completed
		case 4: // each of its hours counts, or two of them
			g.files[id] = strings.Replace(start, "{trigger", "{period: hour, trigger", 1) + job
			names[len(names)-1] = fmt.Sprintf("{pipeline: %s, atLeast: 2}", id)
			g.store(id, "go#"+g.date+"T00", map[string]any{"on": true})
		case 5: // it waits for an upstream of its own
			g.files[id] = fmt.Sprintf("schedule: {after: [%s-top]}\n", id) + job
			g.files[id+"-top"] = start + job
		default:
			g.files[id] = start + job
		}
	}
	return strings.Join(names, ", ")
}

// probe adds a probe to some pipelines that have a rule on it.
func (g *drawnGate) probe() string {
	if !strings.Contains(strings.Join(g.own, " "), "probed") {
		return ""
	}
	return "probes: [{key: probed, builtin: file-freshness, config: {path: /nowhere, pattern: '*', minFiles: 1}, interval: 1h}]\n"
}

// preferred returns a preferred rule.
func (g *drawnGate) preferred() string {
	f := g.field(pick(g, g.own[:2]...))
	return fmt.Sprintf("{level: preferred, key: %s, %s}", quote(f.key), g.check(f, true))
}

// rule returns a rule, or a group, that passes with the values behind the fields, or fails. Outermost
// is whether no group is around it.
func (g *drawnGate) rule(depth int, pass, outermost bool) string {
	if depth > 0 && g.IntN(2) == 0 {
		return g.group(depth-1, pass)
	}
	if !pass || !outermost {
		return g.leaf(pass)
	}
	switch g.IntN(9) {
	case 3:
		return g.run()
	case 0:
		return g.absent()
	case 1:
		return g.over()
	case 2:
		return fmt.Sprintf("{not: %s}", g.leaf(false))
	}
	return g.leaf(pass)
}

func (g *drawnGate) group(depth int, pass bool) string {
	members := func(n int, pass bool) string {
		var all []string
		for range n {
			all = append(all, g.rule(depth, pass, false))
		}
		return strings.Join(all, ", ")
	}
	switch n := 2 + g.IntN(2); g.IntN(5) {
	case 0:
		return fmt.Sprintf("{all: [%s]}", members(n, pass))
	case 1:
		if pass && g.IntN(2) == 0 { // one that no push satisfies
			g.own = append(g.own, "probed")
			return fmt.Sprintf("{any: [{key: probed, check: equals, field: status, value: PASS}, %s, {key: run/nobody, check: exists}]}", members(n, pass))
		}
		return fmt.Sprintf("{any: [%s]}", members(n, pass))
	case 2:
		return fmt.Sprintf("{atLeast: {n: %d, of: [%s]}}", 1+g.IntN(n), members(n, pass))
	case 3:
		if pass {
			return fmt.Sprintf("{any: [{key: k, check: equals, field: own%d, value: 1}, {all: [%s]}]}", g.IntN(3), members(n, pass))
		}
		return fmt.Sprintf("{any: [%s]}", members(n, pass))
	}
	return fmt.Sprintf("{not: %s}", g.rule(depth, !pass, false))
}

// run returns a rule on the run of a pipeline that another one waits for.
func (g *drawnGate) run() string {
	if g.hours() {
		return g.absent()
	}
	g.files[g.id+"-far"] = "schedule: {trigger: {key: go, check: equals, field: on, value: true}}\njob: {type: command, config: {command: 'true'}, pollInterval: 1s}\n"
	g.files[g.id+"-mid"] = fmt.Sprintf("schedule: {after: [%s-far]}\n", g.id)
	return fmt.Sprintf("{key: run/%s-far, from: %s-mid, check: equals, field: status, value: COMPLETED}", g.id, g.id)
}

// absent returns a rule that needs a reading, or a field, to be absent.
func (g *drawnGate) absent() string {
	g.holds++
	if g.IntN(2) == 0 {
		return fmt.Sprintf("{not: {key: k, check: exists, field: gone%d}}", g.holds)
	}
	key := fmt.Sprintf("hold%d", g.holds)
	for _, where := range []string{"", "#" + g.date, "#" + g.day[:7], "#" + g.day} {
		if g.IntN(2) == 0 {
			g.store(g.id, key+where, map[string]any{"why": "it's \"on\" hold"})
		}
	}
	return fmt.Sprintf("{not: {key: %s, check: exists}}", key)
}

// over returns a rule over several periods.
func (g *drawnGate) over() string {
	g.holds++
	f := g.newField(fmt.Sprintf("slice%d", g.holds))
	over := pick(g, "{slices: hour, atLeast: 3}", "{last: 3, of: day}", "{last: 4, of: day, atLeast: 2}", "{slices: hour, atLeast: 1}")
	if g.hours() {
		over = pick(g, "{last: 3, of: hour}", "{last: 4, of: hour, atLeast: 2}")
	}
	suffix := ""
	if strings.Contains(over, "hour") {
		suffix = "T05"
	}
	if g.IntN(2) == 0 {
		g.store(g.id, f.key+"#"+g.day+suffix, map[string]any{f.name: f.value})
	}
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("{not: {key: %s, %s, over: %s}}", quote(f.key), g.check(f, false), over)
	case 1:
		over += ", settled: 1s"
	}
	return fmt.Sprintf("{key: %s, %s, over: %s}", quote(f.key), g.check(f, true), over)
}

// leaf returns a rule on one reading.
func (g *drawnGate) leaf(pass bool) string {
	f := g.field(pick(g, g.own[:2]...))
	check := g.check(f, pass)
	switch g.IntN(12) {
	case 0:
		if pass {
			check += ", settled: 1s"
		}
	case 1:
		if pass {
			return fmt.Sprintf("{key: %s, check: %s}", quote(f.key), pick(g, "exists", "age_lt, value: 2h", "age_gt, value: 1s"))
		}
	case 2:
		other := g.id + "-src"
		g.files[other] = "schedule: {trigger: {key: never, check: exists}}\n"
		f := g.newField("shared")
		return fmt.Sprintf("{key: shared, from: %s, %s}", other, g.check(f, pass))
	}
	return fmt.Sprintf("{key: %s, %s}", quote(f.key), check)
}

func (g *drawnGate) store(pipeline, key string, fields map[string]any) {
	g.readings = append(g.readings, drawnReading{pipeline, key, fields})
}

// field returns a field of a key: a new one, or one that another rule reads, too.
func (g *drawnGate) field(key string) *drawnField {
	if g.IntN(3) == 0 {
		for _, f := range g.fields {
			if f.key == key {
				return f
			}
		}
	}
	return g.newField(key)
}

var fieldNames = []string{"status", "count", "my field", "totals.rows", "ünï", "-x", "$HOME", "it's", "a=b", `q"q`, "`id`", "a\\b", "日本", "x;y", "tab\tin"}

// newField returns a field with a value behind it.
func (g *drawnGate) newField(key string) *drawnField {
	g.values++
	f := &drawnField{key: key, name: pick(g, fieldNames...) + strconv.Itoa(g.values)}
	switch f.kind = pick(g, "int", "int", "float", "text", "text", "text", "bool", "time", "yaml"); f.kind {
	case "int":
		f.value = pick[int64](g, 0, 1, -1, 7, 1000, -40, 1<<53+1, 1<<62)
		f.text = fmt.Sprint(f.value)
	case "float":
		f.value = pick(g, 0.5, -2.25, 0.001, 99.9, 1e21, 12.0)
		f.text = strings.Replace(strconv.FormatFloat(f.value.(float64), 'g', -1, 64), "e+", "e", 1)
	case "text":
		t := pick(g, texts...)
		f.value, f.text, f.pattern = t.text, quote(t.text), t.pattern
	case "bool":
		f.value = g.IntN(2) == 0
		f.text = fmt.Sprint(f.value)
	case "time":
		f.value = time.Hour
	case "yaml":
		y := pick(g, yamls...)
		f.value, f.text = y.value, y.text
	}
	g.fields = append(g.fields, f)
	return f
}

// texts are values with an expression that matches them.
var texts = []struct{ text, pattern string }{
	{"ready", "^ready$"},
	{"it's \"ready\"", `^it's "(ready|done)"$`},
	{"a b  c", `^\w \w\s{2,}\w$`},
	{"$(rm -rf /) `x` $HOME", `^\$\(.*\$HOME$`},
	{"line one\nline two", `(?m)^line two$`},
	{"Grüße, 世界 🚀", `^\p{L}+, \p{Han}+`},
	{"-n", "^-[a-z]$"},
	{"true", "^(true|false)$"},
	{"42", "^[0-9]{2,4}$"},
	{"null", "(?i)^NULL$"},
	{"", "^$"},
	{"  padded ", `^\s+padded\s$`},
	{"v1.22.333", `^v\d+(\.\d+){2}$`},
	{"back\\slash", `\\`},
	{"a-b_c", `\bb_c\b`},
	{"2020-01-01", `^\d{4}-(0[1-9]|1[0-2])-\d{2}$`},
	{"x=y;z", `^[^a-w]+$`},
	{"tab\there", `\t`},
	{"ABC-12", `^[A-Z]{3}-[1-9]+[^\d]*$`},
}

// yamls are values that a file can write in other ways.
var yamls = []struct {
	text  string
	value any
}{
	{"0x1F", 31}, {"1e3", 1000}, {".5", 0.5}, {"2026-01-02", "2026-01-02"}, {"-0.0", 0}, {"+12", 12}, {"'007'", "007"}, {"\"1e3\"", "1e3"}, {"yes it is", "yes it is"}, {"\"a\\u00e9\\tb\"", "aé\tb"},
}

// check returns the rest of a rule on a field that passes with the value behind it, or fails.
func (g *drawnGate) check(f *drawnField, pass bool) string {
	name := "field: " + quote(f.name)
	if pass && g.IntN(8) == 0 {
		return "check: exists, " + name
	}
	rest := ""
	switch f.kind {
	case "int", "float":
		rest = g.numeric(f, pass)
	case "time":
		rest = map[bool]string{true: pick(g, "age_lt, value: 2h", "age_gt, value: 30m"), false: pick(g, "age_lt, value: 30m", "age_gt, value: 2h")}[pass]
	default:
		rest = g.same(f, pass)
		if f.pattern != "" && g.IntN(2) == 0 {
			rest = "matches, value: " + quote(map[bool]string{true: f.pattern, false: "^never[x-z]$"}[pass])
		}
	}
	return fmt.Sprintf("check: %s, %s", rest, name)
}

func (g *drawnGate) same(f *drawnField, pass bool) string {
	if pass {
		return pick(g, "equals, value: "+f.text, fmt.Sprintf("in, value: [%s, other]", f.text), "not_equals, value: different")
	}
	return pick(g, "equals, value: different", "in, value: [different, 17]", "not_equals, value: "+f.text)
}

// numeric returns a check with a bound at the value behind a field, or beside it.
func (g *drawnGate) numeric(f *drawnField, pass bool) string {
	above, below := "1e300", "-1e300"
	if n, whole := f.value.(int64); whole {
		above, below = strconv.FormatInt(n+1, 10), strconv.FormatInt(n-1, 10)
	} else if v := f.value.(float64); v < 1e20 {
		above, below = strconv.FormatFloat(v+0.5, 'f', -1, 64), strconv.FormatFloat(v-0.5, 'f', -1, 64)
	}
	if pass {
		return pick(g, "gt, value: "+below, "gte, value: "+f.text, "lt, value: "+above, "lte, value: "+f.text, g.same(f, true))
	}
	return pick(g, "gt, value: "+f.text, "gte, value: "+above, "lt, value: "+f.text, "lte, value: "+below, g.same(f, false))
}

// state stores readings that are wrong in some way, or right, or missing.
func (g *drawnGate) state() {
	all := map[string]map[string]any{}
	for _, f := range g.fields {
		where := f.key + pick(g, "", "#"+g.date, "#"+g.day)
		if all[where] == nil {
			all[where] = map[string]any{}
		}
		if f.kind != "time" && g.IntN(3) > 0 {
			all[where][f.name] = pick(g, f.value, any("wrong"), any(nil), any(-5), any([]any{1}), any(false))
		}
	}
	for _, key := range []string{g.own[0], g.own[1], "shared"} {
		for _, where := range slices.Compact([]string{key, key + "#" + g.day, key + "#" + g.date}) {
			owner := g.id
			if key == "shared" {
				owner = g.id + "-src"
			}
			if fields := all[where]; len(fields) > 0 && g.IntN(3) > 0 {
				fields["note"] = pick(g, any("as before"), any(map[string]any{"by": "etl"}), any([]any{1, "two"}))
				g.store(owner, where, fields)
			}
		}
	}
}

// quote writes a text for a YAML file.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(data)
}
