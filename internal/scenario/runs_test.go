package scenario_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareRuns compares a log with the one beside the story, run by run, in order and without times:
// a platform that evaluates at other moments emits the same events for each run, only not at the
// same instants.
func compareRuns(t *testing.T, s story, log string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(folder, s.name+".events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byRun(t, string(want)), byRun(t, log)); diff != "" {
		t.Errorf("the events of runs differ (-want +got):\n%s", diff)
	}
}

// byRun splits a log by run, or by pipeline for events without a run.
func byRun(t *testing.T, log string) map[string][]string {
	t.Helper()
	runs := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		var e struct {
			Type   string         `json:"detail-type"`
			Detail map[string]any `json:"detail"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		run := fmt.Sprintf("%v/%v/%v", e.Detail["pipelineId"], e.Detail["scheduleId"], e.Detail["date"])
		told := e.Type
		for _, name := range slices.Sorted(maps.Keys(e.Detail)) {
			if !timed[name] {
				told += fmt.Sprintf(" %s=%s", name, timeless(fmt.Sprint(e.Detail[name])))
			}
		}
		runs[run] = append(runs[run], told)
	}
	return runs
}

// timed are the fields that are instants or derived from them.
var timed = map[string]bool{
	"timestamp": true, "durationSeconds": true, "lateSeconds": true, "nextAttemptAt": true, "estimatedCompletion": true, "marginSeconds": true,
}

// instants matches times and durations in texts.
var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b(\d+h)?(\d+m)?\d+(\.\d+)?(s|ms|m|h)\b`)

// deployed matches the name of a file that became a row.
var deployed = regexp.MustCompile(`\b(?:pipeline|calendar|archetype|source)/([a-z0-9._-]+)`)

func timeless(text string) string {
	return deployed.ReplaceAllString(instants.ReplaceAllString(text, "…"), "$1.yaml")
}
