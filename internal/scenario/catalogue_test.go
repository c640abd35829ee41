package scenario_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/event"
)

// untold are the events that no story can produce, and why.
var untold = map[event.Type]string{
	event.InfraAlarm:            "only a platform with alarms of its own has it",
	event.SensorRejected:        "only where producers write into the store themselves",
	event.WatchdogDegraded:      "needs a store that fails: internal/watchdog",
	event.Audit:                 "requests are recorded by the API: internal/api",
	event.BaselineCaptureFailed: "needs readings of hundreds of kilobytes: internal/orchestrator",
}

func TestScenariosCoverEveryEventType(t *testing.T) {
	told := map[event.Type]bool{}
	for _, s := range stories(t) {
		file, err := os.Open(filepath.Join(folder, s.name+".events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var e event.Event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("%s: %v", file.Name(), err)
			}
			told[e.Type] = true
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
		file.Close()
	}
	for _, g := range event.Catalogue() {
		for _, entry := range g.Entries {
			if why := untold[entry.Type]; told[entry.Type] == (why != "") {
				t.Errorf("%s emitted: %t; reason why not: %q", entry.Type, told[entry.Type], why)
			}
		}
	}
}

func TestEveryLogBelongsToAStory(t *testing.T) {
	known := map[string]bool{}
	for _, s := range stories(t) {
		known[s.name] = true
	}
	logs, err := filepath.Glob(filepath.Join(folder, "*.events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		if name := strings.TrimSuffix(filepath.Base(path), ".events.jsonl"); !known[name] {
			t.Errorf("%s belongs to no story; take it away", path)
		}
	}
}

func TestStoryThatMakesNoSenseIsRefusedAtItsPlace(t *testing.T) {
	const begin = "story: s\npromises: p\nbegins: 2026-03-03 06:00:45\nfiles: {a: x}\n"
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {begin + "steps: [{pas: true}]", `bad.yaml:5:10: steps[0].pas: unknown key "pas"; did you mean "pass"?`},
		"two actions":       {begin + "steps:\n- {pass: true, stop: true}", "bad.yaml:6:3: steps[0]: a step is one action, found 2: pass, stop"},
		"no action":         {begin + "steps:\n- {at: \"06:10\"}", "bad.yaml:6:3: steps[0]: a step is one action, found 0: "},
		"no such time":      {begin + "steps:\n- {at: noon, pass: true}", `bad.yaml:6:8: steps[0].at: "noon" is no time; write 06:10, 06:10:30, 2026-03-03 06:10:00 or +10m`},
		"no such beginning": {strings.Replace(begin, "2026-03-03 06:00:45", "today", 1) + "steps: [{pass: true}]", `bad.yaml:3:9: begins: "today" is no instant; write 2026-03-03 06:00:30`},
	} {
		_, problems := parse("bad.yaml", []byte(c.text))
		if len(problems) != 1 || problems[0] != c.want {
			t.Errorf("%s: %q, want %q", name, problems, c.want)
		}
	}
}
