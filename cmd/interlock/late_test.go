//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// TestChangedInputOfACompletedRunIsLateData changes a rule's input after its run has used it.
func TestChangedInputOfACompletedRunIsLateData(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	g := newGround(t, builtBinary(t), "")
	t.Parallel()
	const file = `schedule: {trigger: {key: landed, check: exists}, period: day}
validation: {rules: [{key: rows, check: gte, field: count, value: 10}]%s}
job: {type: command, config: {command: "true"}, pollInterval: 1s, maxDriftReruns: 1}
`
	follows := map[string]string{"usual": "", "reported": ", lateData: report", "again": ", lateData: rerun", "ignored": ", lateData: ignore"}
	for id, late := range follows {
		g.pipeline(id, fmt.Sprintf(file, late))
	}
	g.pipeline("dashboards", "schedule: {after: [usual], period: day}\n")
	d := g.start()
	for id := range follows {
		d.put(id, "rows#2026-03-03", map[string]any{"count": 12})
		d.put(id, "landed#2026-03-03", map[string]any{"ok": true})
	}
	for id := range follows {
		d.reaches(id+"/stream/2026-03-03", client.Completed)
	}
	for _, count := range []int{12, 13, 14} { // the first is what the run has used
		for id := range follows {
			d.put(id, "rows#2026-03-03", map[string]any{"count": count, "note": count}) // no rule reads the note
		}
	}
	for _, id := range []string{"usual", "reported", "again"} {
		until(t, id+" has late data", func() bool { return d.told("LATE_DATA_ARRIVAL", id) > 0 })
	}
	until(t, "it runs again", func() bool {
		got := d.reaches("again/stream/2026-03-03", client.Completed)
		return got.Attempt == 2
	})
	for id, want := range map[string]int{"usual": 1, "reported": 1, "ignored": 0} {
		if n := d.told("LATE_DATA_ARRIVAL", id); n != want {
			t.Errorf("%s: late data was reported %d times, want %d", id, n, want)
		}
		if got := d.reaches(id+"/stream/2026-03-03", client.Completed); got.Attempt != 1 {
			t.Errorf("%s: it has run %d times", id, got.Attempt)
		}
	}
	for _, e := range d.events() {
		if e.Type != "LATE_DATA_ARRIVAL" || e.Detail.Pipeline != "usual" {
			continue
		}
		if !in(string(e.Raw), `"key":"rows"`, `"was":{"count":12}`, `"now":{"count":1`, `"downstream":["dashboards"]`, `"severity":"info"`) {
			t.Errorf("it says %s", e.Raw)
		}
	}
}
