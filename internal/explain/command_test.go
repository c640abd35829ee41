package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/explain"
)

func TestNothingIsPushedWhereNoCommandOpensTheGate(t *testing.T) {
	for name, rules := range map[string]string{
		"every text matches":   `{not: {key: k, check: matches, field: s, value: ".*"}}`,
		"they contradict":      "{key: k, check: gt, field: n, value: 5}, {key: k, check: lt, field: n, value: 5}",
		"no pipeline runs":     "{key: run/nobody, check: equals, field: status, value: COMPLETED}",
		"above all numbers":    "{key: k, check: gt, field: n, value: 1.7976931348623157e308}",
		"a run is never so":    "{key: run/nobody, check: equals, field: status, value: LOST}",
		"present and absent":   "{key: k, check: exists}, {not: {key: k, check: exists}}",
		"one value, not it":    "{key: k, check: equals, field: s, value: a}, {key: k, check: not_equals, field: s, value: a}",
		"a part of the others": "{key: ok, check: exists}, {not: {key: k, check: matches, field: s, value: \".*\"}}",
	} {
		t.Run(name, func(t *testing.T) {
			w := gated(t, rules)
			x := w.explain("gated", "2026-03-03")
			w.says(x, explain.Waiting, "no command opens the gate")
			if strings.Contains(x.Text(), "      interlock ") {
				t.Errorf("a command is printed:\n%s", x.Text())
			}
		})
	}
}

func TestAgeBetweenTwoBoundsIsAnInstantBetweenThem(t *testing.T) {
	w := gated(t, "{key: k, check: age_lt, field: at, value: 2h}, {key: k, check: age_gt, field: at, value: 30m}")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 at=2026-03-03T08:10:00Z\n")
}

func TestCommandsQuoteForTheShell(t *testing.T) {
	for value, want := range map[string]string{
		`"it's"`:              `'s=it'\''s'`,
		`"$HOME"`:             `'s=$HOME'`,
		`"a\nb"`:              `s='"a\nb"'`,
		`"42"`:                `s='"42"'`,
		`42`:                  `s=42`,
		`9223372036854775807`: `s=9223372036854775807`,
		`""`:                  `s=`,
	} {
		w := gated(t, "{key: -k, check: equals, field: s, value: "+value+"}")
		w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set -- gated -k#2026-03-03 "+want+"\n")
	}
}

func TestPushKeepsTheOtherFieldsOfTheReading(t *testing.T) {
	w := gated(t, "{key: k, check: gt, field: n, value: 5}")
	w.Write("gated", "k#2026-03-03", "host=a", "n=1")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "interlock sensor set gated k#2026-03-03 n=6 host=a\n")
}

func TestGateOpensAtTheInstantAtWhichAnAgePasses(t *testing.T) {
	w := newWorld(t, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}, evaluation: {interval: 40m}}\n"+
		"validation: {rules: [{key: k, check: age_gt, value: 10m}]}\n")
	w.Write("gated", "k#2026-03-03", "n=1")
	w.Write("gated", "go#2026-03-03", "on=true")
	w.says(w.explain("gated", "2026-03-03"), explain.Waiting, "time: k passes at 2026-03-03T09:20:01Z")
	w.Pass(10*time.Minute + time.Second)
	w.says(w.explain("gated", "2026-03-03"), explain.Running)
}

func TestPreferUntilCountsFromTheExpectedOpening(t *testing.T) {
	w := newWorld(t, "pipeline: {id: gated, owner: data}\nschedule: {trigger: {key: go, check: exists}}\n"+
		"validation: {preferUntil: 30m, rules: [{key: k, check: exists, level: preferred}]}\n")
	w.says(w.explain("gated", "2026-03-03"), explain.NotOpened, "preferred rules close the gate until 2026-03-03T09:40:00Z",
		"interlock sensor set gated k#2026-03-03 ready=true")
}
