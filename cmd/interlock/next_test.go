package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slots runs next and returns each item as one line: fireAt date excluded warnAt breachAt.
func slots(t *testing.T, file string, args ...string) []string {
	t.Helper()
	got := must(t, 0, append([]string{"next", file, "--format", "json"}, args...)...)
	var items []map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &items); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	var lines []string
	for _, item := range items {
		if diff := cmp.Diff([]string{"breachAt", "date", "excluded", "fireAt", "reason", "warnAt"}, sortedKeys(item)); diff != "" {
			t.Fatalf("keys (-want +got):\n%s", diff)
		}
		lines = append(lines, fmt.Sprint(item["fireAt"], " ", item["date"], " ", item["excluded"], " ", item["warnAt"], " ", item["breachAt"]))
	}
	return lines
}

func TestNextListsComingPeriods(t *testing.T) {
	daily := "testdata/pipelines/daily.yaml"
	hourly := "testdata/pipelines/hourly.yaml"
	tests := []struct {
		name string
		file string
		args []string
		want []string
	}{
		{"a wall clock fire in the spring gap comes at the next instant there is", daily, []string{"--from", "2026-03-07", "--count", "3"}, []string{
			"2026-03-07T07:30:00Z 2026-03-07 false 2026-03-07T10:15:00Z 2026-03-07T11:00:00Z",
			"2026-03-08T07:00:00Z 2026-03-08 false 2026-03-08T09:15:00Z 2026-03-08T10:00:00Z",
			"2026-03-09T06:30:00Z 2026-03-09 false 2026-03-09T09:15:00Z 2026-03-09T10:00:00Z",
		}},
		{"a wall clock fire keeps its local time in autumn", daily, []string{"--from", "2026-10-31", "--count", "3"}, []string{
			"2026-10-31T06:30:00Z 2026-10-31 false 2026-10-31T09:15:00Z 2026-10-31T10:00:00Z",
			"2026-11-01T07:30:00Z 2026-11-01 false 2026-11-01T10:15:00Z 2026-11-01T11:00:00Z",
			"2026-11-02T07:30:00Z 2026-11-02 false 2026-11-02T10:15:00Z 2026-11-02T11:00:00Z",
		}},
		{"the repeated hour has its own period", hourly, []string{"--from", "2026-11-01T05:30:00Z", "--count", "4"}, []string{
			"2026-11-01T06:05:00Z 2026-11-01T01 false <nil> 2026-11-01T06:45:00Z",
			"2026-11-01T07:05:00Z 2026-11-01T01-05:00 false <nil> 2026-11-01T07:45:00Z",
			"2026-11-01T08:05:00Z 2026-11-01T02 false <nil> 2026-11-01T08:45:00Z",
			"2026-11-01T09:05:00Z 2026-11-01T03 false <nil> 2026-11-01T09:45:00Z",
		}},
		{"from is inclusive", daily, []string{"--from", "2026-03-07T07:30:00Z", "--count", "1"}, []string{
			"2026-03-07T07:30:00Z 2026-03-07 false 2026-03-07T10:15:00Z 2026-03-07T11:00:00Z",
		}},
		{"from now", daily, []string{"--count", "1"}, []string{
			"2026-03-04T07:30:00Z 2026-03-04 false 2026-03-04T10:15:00Z 2026-03-04T11:00:00Z",
		}},
		{"what a sensor opens has no fires", "testdata/pipelines/stream.yaml", []string{"--from", "2026-03-03", "--count", "2"}, []string{
			"<nil> 2026-03-03 false 2026-03-02T22:30:00Z 2026-03-02T23:00:00Z",
			"<nil> 2026-03-04 false 2026-03-03T22:30:00Z 2026-03-03T23:00:00Z",
		}},
		{"a dry run has no deadlines", "testdata/pipelines/rehearsal.yaml", []string{"--from", "2026-03-03", "--count", "1"}, []string{
			"<nil> 2026-03-03 false <nil> <nil>",
		}},
		{"what only people open is not expected", "testdata/pipelines/manual.yaml", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, slots(t, tt.file, tt.args...)); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExcludedPeriodsAreListedWithoutDeadlines(t *testing.T) {
	got := slots(t, "testdata/pipelines/hourly.yaml", "--from", "2026-03-09T04:00:00Z", "--count", "2")
	want := []string{
		"2026-03-09T04:05:00Z 2026-03-08T23 false <nil> 2026-03-09T04:45:00Z",
		"2026-03-09T05:05:00Z 2026-03-09T00 true <nil> <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	text := must(t, 0, "next", "testdata/pipelines/orders.yaml", "--from", "2026-12-25", "--count", "1", "--format", "json").stdout
	if !strings.Contains(text, `"reason": "calendar \"holidays\""`) {
		t.Errorf("no reason: %s", text)
	}
}

func TestTheDefaultIsTen(t *testing.T) {
	if got := slots(t, "testdata/pipelines/daily.yaml"); len(got) != 10 {
		t.Errorf("%d slots", len(got))
	}
}

func TestManyRareFiresEndWithTheCalendar(t *testing.T) {
	file := write(t, "leap.yaml", "pipeline: {id: leap, owner: data}\nschedule: {cron: \"0 0 29 2 *\"}\nsla: {deadline: \"06:00\"}\n")
	got := slots(t, file, "--count", "10000")
	if len(got) < 1900 || len(got) > 2000 || !strings.Contains(got[len(got)-1], " 9996-02-29 ") {
		t.Errorf("%d slots, the last %s", len(got), got[len(got)-1])
	}
}

func TestIncludeDatesRunOut(t *testing.T) {
	file := write(t, "listed.yaml", "pipeline: {id: listed, owner: data}\nschedule: {time: \"09:00\", include: {dates: [2026-03-01, 2026-03-10, 2026-03-20]}}\n")
	want := []string{"2026-03-10T09:00:00Z 2026-03-10 false <nil> <nil>", "2026-03-20T09:00:00Z 2026-03-20 false <nil> <nil>"}
	if diff := cmp.Diff(want, slots(t, file)); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	if got := must(t, 0, "next", file, "--from", "2027-01-01"); !strings.Contains(got.stdout, "There are no further periods") {
		t.Errorf("got %s", got.stdout)
	}
	if got := must(t, 0, "next", file, "--from", "2027-01-01", "--format", "json"); got.stdout != "[]\n" {
		t.Errorf("got %s", got.stdout)
	}
}

func TestMissingCalendarIsAnError(t *testing.T) {
	file := write(t, "resting.yaml", resting)
	got := must(t, 2, "next", file)
	if !strings.Contains(got.stderr, "--calendars") || !strings.Contains(got.stderr, "closed") {
		t.Errorf("got %s", got.stderr)
	}
	must(t, 0, "next", file, "--calendars", folder(t, "closed.yaml", closed))
}
