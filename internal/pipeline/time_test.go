package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func loadTimes(t *testing.T, texts ...string) *pipeline.Set {
	t.Helper()
	var sources []pipeline.Source
	for i, text := range texts {
		sources = append(sources, pipeline.Source{File: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return pipeline.Load(sources, pipeline.Options{Jobs: all.Kinds(), Whole: true})
}

const timed = `
pipeline: {id: gold, owner: data}
schedule: {cron: "0 6 * * *", evaluation: {window: 5h}, after: [{pipeline: bronze, atLeast: 22}, silver]}
validation:
  preferUntil: "09:00"
  rules:
    - {key: landed, check: exists, over: {slices: hour, atLeast: 22}, settled: 15m}
    - {key: prices, check: exists, level: preferred}
`

const (
	hourlyBronze = "pipeline: {id: bronze, owner: data}\nschedule: {cron: '0 * * * *'}\n"
	dailySilver  = "pipeline: {id: silver, owner: data}\nschedule: {cron: '0 3 * * *'}\n"
)

func TestRulesOverTimeLoad(t *testing.T) {
	set := loadTimes(t, timed, hourlyBronze, dailySilver)
	if len(set.Problems) != 0 {
		t.Fatalf("problems: %v", set.Problems)
	}
	for _, d := range set.Definitions {
		if d.ID != "gold" {
			continue
		}
		if len(d.After) != 2 || d.AtLeast["bronze"] != 22 || d.AtLeast["silver"] != 0 {
			t.Errorf("after %v, at least %v", d.After, d.AtLeast)
		}
		p := d.Schedule.PeriodAt(time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC))
		if until := d.PreferUntil(p, time.Time{}); until.Format("15:04") != "09:00" || !d.Gate.Prefers() {
			t.Errorf("prefers until %s", until)
		}
	}
}

func TestMistakesAboutTimeAreExplained(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`preferUntil: "09:00"`, "", "8:43: validation.rules[1].level: is preferred, but validation.preferUntil is missing"},
		{`preferUntil: "09:00"`, "preferUntil: soon", `neither a time such as "09:00" or ":30" nor a duration such as 45m`},
		{`preferUntil: "09:00"`, "preferUntil: 6h", "its window ends after 5h"},
		{", level: preferred", "", "validation.preferUntil: has no effect"},
		{"level: preferred", "level: prefered", `did you mean "preferred"?`},
		{"slices: hour", "slices: hours", `did you mean "hour"?`},
		{"slices: hour", "slice: hour", `did you mean "slices"?`},
		{"slices: hour", "slices: week", "a day contains no weeks"},
		{"atLeast: 22}, settled", "atLeast: 26}, settled", "is 26, but a day has at most 25 hours"},
		{"settled: 15m", "settled: 0s", "settled: is 0s; must be above 0s"},
		{"settled: 15m", "setled: 15m", `did you mean "settled"?`},
		{"{pipeline: bronze, atLeast: 22}", "{pipeline: bronze, atleast: 22}", `did you mean "atLeast"?`},
		{"{pipeline: bronze, atLeast: 22}", "{atLeast: 22}", "schedule.after[0].pipeline: is required"},
		{"{pipeline: bronze, atLeast: 22}", "{pipeline: bronz, atLeast: 22}", `did you mean "bronze"?`},
		{"after: [{pipeline: bronze, atLeast: 22}, silver]", "after: [bronze, {pipeline: silver, atLeast: 2}]", "atLeast: 2 has no effect: silver runs for each day"},
		{"{pipeline: bronze, atLeast: 22}", "{pipeline: bronze, atLeast: 30}", "cannot be reached: a day has at most 25 hours"},
	} {
		set := loadTimes(t, strings.Replace(timed, c.old, c.new, 1), hourlyBronze, dailySilver)
		var found []string
		for _, p := range set.Problems {
			found = append(found, p.String())
		}
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("%s → %s: %q does not say %q", c.old, c.new, found, c.want)
		}
	}
}

func TestAQuarterIsCheckedLikeTheOtherSizes(t *testing.T) {
	const quarterly = `
pipeline: {id: books, owner: finance}
schedule: {cron: "0 6 5 1,4,7,10 *", period: quarter, offset: -1, after: [{pipeline: silver, atLeast: 80}]}
sla: {deadline: "12:00", dayOffset: 9}
validation:
  rules:
    - {key: closed, check: exists, over: {slices: month}}
    - {key: rates, check: exists, over: {last: 4, of: quarter}}
job: {type: command, config: {command: [close]}}
`
	if set := loadTimes(t, quarterly, dailySilver); len(set.Problems) != 0 {
		t.Errorf("problems: %v", set.Problems)
	}
	for _, c := range []struct{ old, new, want string }{
		{"1,4,7,10 *", "* *", `one quarter would contain several fires of "0 6 5 * *"; use period: day`},
		{"5 1,4,7,10 *", "L 1,4,7,10 *", "is not after the run opens (06:00 UTC)"},
		{"0 6 5 1,4,7,10 *", "0 6 * * FRI#3", `one quarter would contain several fires of "0 6 * * FRI#3"; use period: day`},
		{"0 6 5 1,4,7,10 *", "0 6 5L * *", `L stands alone`},
		{"period: quarter", "period: quarters", `did you mean "quarter"?`},
		{"slices: month", "slices: quarter", "slices"},
		{"slices: month", "slices: hour", "a quarter has up to 2209 hours, but at most 1500 are allowed"},
		{"slices: month", "slices: month, atLeast: 4", "is 4, but a quarter has at most 3 months"},
		{"slices: month", "slices: week, atLeast: 14", ""},
		{"slices: month", "slices: week, atLeast: 15", "is 15, but a quarter has at most 14 weeks"},
		{"atLeast: 80", "atLeast: 93", "cannot be reached: a quarter has at most 92 days"},
		{`"12:00"`, `":30"`, `":30" is only for hourly periods, and the period is quarter`},
		{"dayOffset: 9", "dayOffset: 400", "dayOffset"},
	} {
		set := loadTimes(t, strings.Replace(quarterly, c.old, c.new, 1), dailySilver)
		var found []string
		for _, p := range set.Problems {
			found = append(found, p.String())
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s → %s: %q does not say %q", c.old, c.new, found, c.want)
		}
	}
}

func TestIncludeDatesThatHaveAllPassedAreAWarning(t *testing.T) {
	const listed = "pipeline: {id: p, owner: d}\nschedule: {timezone: America/New_York, include: {dates: [2026-03-05, 2026-03-03]}%s}\n"
	const warning = "schedule.include.dates: have all passed, the last one that is not excluded on "
	for _, c := range []struct{ name, also, now, want string }{
		{"before the last", "", "2026-03-05T04:00:00Z", ""},
		{"on the last day of the zone", "", "2026-03-06T04:59:59Z", ""},
		{"after it", "", "2026-03-06T05:00:00Z", warning + "2026-03-05"},
		{"the last day is excluded", ", exclude: {days: [thursday]}", "2026-03-04T05:00:00Z", warning + "2026-03-03"},
		{"the last day is excluded, not yet the other", ", exclude: {days: [thursday]}", "2026-03-04T04:00:00Z", ""},
		{"a start condition opens them", ", trigger: {key: a, check: exists}", "2026-04-01T00:00:00Z", warning + "2026-03-05"},
		{"the dates of quarters", ", period: quarter", "2026-03-31T00:00:00Z", warning + "2026-03-05"},
		{"no instant", "", "", ""},
	} {
		opts := pipeline.Options{Whole: true}
		if c.now != "" {
			var err error
			if opts.Now, err = time.Parse(time.RFC3339, c.now); err != nil {
				t.Fatal(err)
			}
		}
		set := pipeline.Load([]pipeline.Source{{File: "p.yaml", Data: fmt.Appendf(nil, listed, c.also)}}, opts)
		var found []string
		for _, p := range set.Problems {
			found = append(found, p.String())
		}
		if all := strings.Join(found, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" || set.Failed() {
			t.Errorf("%s: %q, want %q", c.name, all, c.want)
		}
	}
}

func TestADeadlineWithoutAJobIsAWarning(t *testing.T) {
	const text = "pipeline: {id: p, owner: d}\nschedule: {trigger: {key: a, check: exists}}\nsla: {%s}\n%s"
	const remedy = "report with `interlock job complete RUN success`, or add a job"
	for _, c := range []struct {
		sla, job string
		want     []string
	}{
		{`deadline: "09:00"`, "", []string{"sla.deadline: is breached even if the data comes in time"}},
		{"maxDuration: 2h", "", []string{"sla.maxDuration: is breached even if the data comes in time"}},
		{`maxDuration: 2h, deadline: "09:00"`, "", []string{"sla.deadline: is", "sla.maxDuration: is"}},
		{`deadline: "09:00"`, "job: {type: command, config: {command: [load]}}\n", nil},
	} {
		set := pipeline.Load([]pipeline.Source{{File: "p.yaml", Data: fmt.Appendf(nil, text, c.sla, c.job)}}, pipeline.Options{Jobs: all.Kinds(), Whole: true})
		if len(set.Problems) != len(c.want) || set.Failed() {
			t.Errorf("%s: %v", c.sla, set.Problems)
		}
		for _, want := range c.want {
			if !slices.ContainsFunc(set.Problems, func(p document.Problem) bool {
				return strings.Contains(p.String(), want) && strings.Contains(p.String(), remedy)
			}) {
				t.Errorf("%s: %v does not say %q", c.sla, set.Problems, want)
			}
		}
	}
}

func TestPostRunRulesDoNotWait(t *testing.T) {
	set := loadTimes(t, "pipeline: {id: p, owner: d}\nschedule: {cron: '0 6 * * *'}\npostRun: {rules: [{key: a, check: exists, settled: 5m}]}\n")
	if len(set.Problems) != 1 || !strings.Contains(set.Problems[0].String(), "postRun.rules[0].settled: is allowed only in validation.rules") {
		t.Errorf("%v", set.Problems)
	}
}
