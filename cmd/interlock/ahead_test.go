package main

import (
	"regexp"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// A write that opens a run whose gate is open starts the job in the same commit: what is told of the two has one instant.
func TestAServerStartsTheJobInTheCommitThatOpensTheRun(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"quick.yaml": `
pipeline: {id: quick, owner: me}
schedule: {trigger: {key: landed, check: exists}}
job: {type: command, config: {command: "true"}}
`}})
	s.must(exitFine, "sensor", "set", "quick", "landed#2026-03-03", "count=1")
	s.reaches("quick/stream/2026-03-03", client.Completed)
	told := func(kind string) string {
		t.Helper()
		text := s.must(exitFine, "events", "--pipeline", "quick", "--type", kind, "--format", "json").stdout
		at := regexp.MustCompile(`"time": *"([^"]+)"`).FindStringSubmatch(text)
		if at == nil {
			t.Fatalf("%s has no time:\n%s", kind, text)
		}
		return at[1]
	}
	if opened, passed := told("TRIGGER_STARTED"), told("VALIDATION_PASSED"); opened != passed {
		t.Errorf("opened at %s, and its gate was looked at again at %s", opened, passed)
	}
}
