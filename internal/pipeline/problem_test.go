package pipeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProblemIsReportedAtItsPosition(t *testing.T) {
	set := load(`pipeline:
  id: Orders
  owner: ""
  tag: {a: b}
schedul:
  cron: "0 8 * * *"
schedule:
  cron: "0 25 * * *"
  timezone: Mars/Olympus
  maxActive: -1
  catchUp: newest
  trigger: {key: a, check: equal, field: b, value: 1}
  evaluation: {window: 1 hour, interval: 5m}
  exclude: {days: [someday], dates: [2026-02-30]}
sla: {deadline: "25:00", maxDuration: 25h}
validation:
  trigger: SOME
  rules: []
job:
  type: gluee
  maxRetries: 11
  maxRetries: 12
postRun:
  rules:
    - {key: out, check: gte, field: count}
`)
	want := []string{
		`a.yaml:2:7: pipeline.id: `,
		`a.yaml:3:10: pipeline.owner: `,
		`a.yaml:4:3: pipeline.tag: unknown key "tag"; did you mean "tags"?`,
		`a.yaml:5:1: schedul: unknown key "schedul"; did you mean "schedule"?`,
		`a.yaml:8:9: schedule.cron: `,
		`a.yaml:9:13: schedule.timezone: unknown time zone "Mars/Olympus"`,
		`a.yaml:10:14: schedule.maxActive: `,
		`a.yaml:11:12: schedule.catchUp: `,
		`a.yaml:12:28: schedule.trigger.check: `,
		`a.yaml:13:24: schedule.evaluation.window: `,
		`a.yaml:14:20: schedule.exclude.days[0]: "someday" is not a weekday`,
		`a.yaml:14:38: schedule.exclude.dates[0]: "2026-02-30" is not a date`,
		`a.yaml:15:17: sla.deadline: `,
		`a.yaml:15:39: sla.maxDuration: `,
		`a.yaml:17:12: validation.trigger: `,
		`a.yaml:18:10: validation.rules: `,
		`a.yaml:20:9: job.type: `,
		`a.yaml:21:15: job.maxRetries: `,
		`a.yaml:22:3: job.maxRetries: repeated key "maxRetries"; first at 21:3`,
		`a.yaml:25:7: postRun.rules[0]`,
	}
	got := report(set)
	if len(got) != len(want) {
		t.Errorf("got %d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range min(len(got), len(want)) {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d:\n got %s\nwant %s…", i, got[i], want[i])
		}
	}
}

func TestConfigAndUpstreamsAreCheckedBesideOtherMistakes(t *testing.T) {
	set := load(`pipeline: {id: a, owner: tests}
schedule: {foo: 1, after: [b, b, "B C", {pipeline: d, atLeast: 0}, a, c]}
job: {type: external, config: {heartbeat: 9s, foo: 1}}
`, "pipeline: {id: b, owner: tests}\n")
	want := []string{
		`a.yaml:2:12: schedule.foo: unknown key "foo"`,
		`a.yaml:2:31: schedule.after[1]: "b" is listed twice`,
		`a.yaml:2:34: schedule.after[2]: "B C" is not a pipeline id`,
		`a.yaml:2:64: schedule.after[3].atLeast: `,
		`a.yaml:2:68: schedule.after[4]: upstreams form a cycle: a → a`,
		`a.yaml:2:71: schedule.after[5]: there is no pipeline "c"`,
		`a.yaml:3:43: job.config.heartbeat: is 9s; must be at least 10s`,
		`a.yaml:3:47: job.config.foo: unknown key "foo"`,
	}
	got := report(set)
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d:\n got %s\nwant %s…", i, got[i], want[i])
		}
	}
}

func TestBlankOwnerIsRejected(t *testing.T) {
	got := report(load("pipeline: {id: a, owner: ' '}\n"))
	if len(got) != 1 || !strings.HasPrefix(got[0], `a.yaml:1:26: pipeline.owner: " " is not allowed; name a team or a person`) {
		t.Errorf("got %q", got)
	}
}

func TestMisspeltKeyOfAConfigIsNotAlsoMissing(t *testing.T) {
	for config, want := range map[string]string{
		"type: emr-serverless, config: {applicationID: a, executionRoleARN: b, jobDriver: {sparkSubmt: {}}}": "sparkSubmt",
		"type: databricks, config: {workspaceURL: 'https://a', tokenn: b, jobId: 7}":                         "jobId",
	} {
		for _, line := range report(load("pipeline: {id: a, owner: tests}\njob: {" + config + "}\n")) {
			if strings.Contains(line, "needs one of") || strings.Contains(line, "jobID: is required") {
				t.Errorf("%s: %s", want, line)
			}
		}
	}
}

func TestConflictingValuesNameBothPositions(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"cron with include", "schedule:\n  cron: \"0 8 * * *\"\n  include: {dates: [2026-03-31]}\n",
			`a.yaml:4:12: schedule.include: include dates cannot be combined with cron; keep one of them (see schedule.cron at 3:9)`,
		},
		{
			"window under interval", "schedule:\n  evaluation:\n    window: 1m\n    interval: 5m\n",
			`a.yaml:4:13: schedule.evaluation.window: the window of 1m is shorter than the interval of 5m; make it at least as long (see schedule.evaluation.interval at 5:15)`,
		},
		{
			"maxDuration without start condition", "sla: {maxDuration: 1h}\n",
			`a.yaml:2:20: sla.maxDuration: counts from the first reading of the start condition; add schedule.trigger (see schedule.trigger at 1:1)`,
		},
		{
			"period that holds two fires", "schedule: {cron: \"0 8,20 * * *\", period: day}\n",
			`a.yaml:2:42: schedule.period: one day would contain several fires of "0 8,20 * * *"; use period: hour (see schedule.cron at 2:18)`,
		},
		{
			"deadline of minute periods", "schedule: {cron: \"*/5 * * * *\"}\nsla: {deadline: \"10:00\"}\n",
			`a.yaml:3:17: sla.deadline: is not allowed for minute periods; use sla.maxDuration (see schedule.cron at 2:18)`,
		},
		{
			"hourly deadline of days", "schedule: {cron: \"0 8 * * *\"}\nsla: {deadline: \":30\"}\n",
			`a.yaml:3:17: sla.deadline: ":30" is only for hourly periods, and the period is day; write HH:MM, or period: hour (see schedule.cron at 2:18)`,
		},
		{
			"dry run without start condition", "dryRun: true\njob: {type: glue, config: {jobName: x}}\n",
			`a.yaml:2:9: dryRun: a dry run needs a start condition; add schedule.trigger (see schedule.trigger at 1:1)`,
		},
		{
			"dry run without job", "dryRun: true\nschedule: {trigger: {key: a, check: exists}}\n",
			`a.yaml:2:9: dryRun: a dry run needs a job; add job.type (see job.type at 1:1)`,
		},
		{
			"earliest start twice", "schedule: {time: \"07:00\", after: \"06:00\"}\n",
			`a.yaml:2:18: schedule.time: the earliest start is set twice; keep schedule.time (see schedule.after at 2:34)`,
		},
		{
			"interval twice", "schedule: {evaluation: {interval: 1m}}\nwatch: {interval: 60}\n",
			`a.yaml:3:19: watch.interval: the interval is set twice; keep schedule.evaluation.interval (see schedule.evaluation.interval at 2:35)`,
		},
		{
			"post-run window twice", "postRun: {rules: [{key: a, check: exists}], evaluation: {window: 1h}}\nwatch: {monitoring: {duration: 2h}}\n",
			`a.yaml:3:32: watch.monitoring.duration: the post-run window is set twice; keep postRun.evaluation.window (see postRun.evaluation.window at 2:66)`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{c.want}, report(load(minimal+c.text))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesNameTheRemedy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"poll window", "job: {type: glue, config: {jobName: x}, jobPollWindowSeconds: 30}\n", `job.jobPollWindowSeconds: 30 is too short; use 60 to 86400`},
		{"unknown variable", "job: {type: command, config: {command: [run, \"${DAY}\"]}}\n", `job.config.command[1]: unknown variable ${DAY}`},
		{"variable nearly right", "job: {type: command, config: {command: [run, \"${DATES}\"]}}\n", `did you mean ${DATE}?`},
		{"variable not closed", "job: {type: command, config: {command: [run, \"${DATE\"]}}\n", `"${" is not closed`},
		{"empty secret", "job: {type: http, config: {url: \"https://x.example.com\", body: \"${env:}\"}}\n", `has no name`},
		{"unknown job key", "job: {type: glue, config: {jobname: x}}\n", `did you mean "jobName"?`},
		{"job config missing", "job: {type: glue}\n", `job.config.jobName: `},
		{"bad class", "job: {type: glue, config: {jobName: x}, classify: [{category: PERMANENT}]}\n", `job.classify[0]: has neither match nor exitCode`},
		{"bad expression", "job: {type: glue, config: {jobName: x}, classify: [{match: \"(\", category: PERMANENT}]}\n", `job.classify[0].match: `},
		{"unknown calendar", "schedule: {exclude: {calendar: us}}\n", `schedule.exclude.calendar: there is no calendar "us"`},
		{"every weekday excluded", "schedule: {exclude: {weekends: true, days: [mon, tue, wed, thu, fri]}}\n", `schedule.exclude: every period of the schedule is excluded, so no run can ever open`},
		{"every fire excluded", "schedule: {cron: \"0 8 * * sat,sun\"}\nexclusions: {weekends: true}\n", `exclusions: every period of the schedule is excluded, so no run can ever open; exclude less, or pause the pipeline (see schedule.cron at 2:18)`},
		{"every include date excluded", "schedule: {include: {dates: [2026-03-03]}, exclude: {dates: [2026-03-03]}}\n", `no run can ever open; exclude less, or pause the pipeline (see schedule.include at`},
		{"date as a number", "schedule: {cron: \"0 9 * * *\", exclude: {dates: [20260303]}}\n", `schedule.exclude.dates[0]: "20260303" is not a date; write 2026-03-03`},
		{"date as digits", "schedule: {include: {dates: [\"20260303\"]}}\n", `schedule.include.dates[0]: "20260303" is not a date; write 2026-03-03`},
		{"number that is no date", "schedule: {include: {dates: [20260230]}}\n", `schedule.include.dates[0]: "20260230" is not a date; write YYYY-MM-DD`},
		{"number for a word", "schedule: {cron: \"0 9 * * *\", catchUp: 5}\n", `schedule.catchUp: unknown value "5"; use`},
		{"hourly earliest start", "schedule: {time: \":30\"}\n", `schedule.time: ":30" is a minute of every hour; write a time of day`},
		{"after as text", "schedule: {after: orders}\n", `schedule.after: expected a list of pipeline ids`},
		{"probe without target", "probes: [{key: a}]\n", `probes[0]: needs one of command, url and builtin`},
		{"probe of two kinds", "probes: [{key: a, command: x, builtin: file-freshness, config: {path: /x}}]\n", `probes[0]: needs one of command, url and builtin`},
		{"unknown builtin", "probes: [{key: a, builtin: file-fresh}]\n", `probes[0].builtin: unknown value "file-fresh"; use one of file-freshness, http-status`},
		{"unknown builtin of a trait", "traits: {a: {evaluator: \"builtin:mail\"}}\n", `traits.a.evaluator: unknown builtin probe "mail"; use one of file-freshness, http-status, sql`},
		{"builtin without its config", "probes: [{key: a, builtin: file-freshness}]\n", `probes[0].config.path: is required`},
		{"builtin with another's config", "probes: [{key: a, builtin: http-status, config: {url: \"https://x.example.com\", maxAge: 1h}}]\n", `probes[0].config.maxAge: unknown key "maxAge"`},
		{"builtin with a wrong address", "probes: [{key: a, builtin: http-status, config: {url: x.example.com}}]\n", `probes[0].config.url: "x.example.com" is not an absolute http or https address`},
		{"builtin with a wrong status", "probes: [{key: a, builtin: http-status, config: {url: \"https://x.example.com\", expect: [99]}}]\n", `probes[0].config.expect[0]: 99 is not an HTTP status`},
		{"builtin with a wrong pattern", "probes: [{key: a, builtin: file-freshness, config: {path: /x, pattern: \"[\"}}]\n", `probes[0].config.pattern: "[" is not a pattern`},
		{"probe with an unknown variable", "probes: [{key: a, command: [x, \"${RUN_ID}\"]}]\n", `probes[0].command: unknown variable ${RUN_ID}`},
		{"probe with an unknown variable deep inside", "probes: [{key: a, command: x, config: {deep: [{at: \"${DAT}\"}]}}]\n", `probes[0].config.deep[0].at: unknown variable ${DAT}; did you mean ${DATE}?`},
		{"probe's headers for a command", "probes: [{key: a, command: x, headers: {A: b}}]\n", `probes[0].headers: only a url has headers`},
		{"probe's environment for a url", "probes: [{key: a, url: \"https://x.example.com\", env: {A: b}}]\n", `probes[0].env: only a command has an environment`},
		{"probe's environment with our names", "probes: [{key: a, command: x, env: {INTERLOCK_DATE: b}}]\n", `"INTERLOCK_DATE" is not allowed`},
		{"probe twice", "probes: [{key: a, command: x}, {key: a, command: y}]\n", `two probes write the sensor "a"`},
		{"watch interval", "watch: {interval: 500ms}\n", `watch.interval: is 500ms; must be at least 1s`},
		{"neither rules nor late data", "validation: {trigger: ANY}\n", `validation.rules: is required`},
		{"no rules beside late data", "validation: {rules: [], lateData: report}\n", `validation.rules: is empty; must have at least one item`},
		{"unknown late data", "validation: {lateData: repeat}\n", `validation.lateData: unknown value "repeat"; did you mean "report"?`},
		{"probe of the engine's key", "probes: [{key: run/x, command: x}]\n", `probes[0].key: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := load(minimal + c.text)
			if got := strings.Join(report(set), "\n"); !strings.Contains(got, c.want) || !set.Failed() {
				t.Errorf("got\n%s\nwant %q in it", got, c.want)
			}
		})
	}
}

func TestWarningsDoNotFail(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"start condition that nobody asks for", "schedule: {trigger: {key: a, check: exists}}\nprobes: [{key: a, command: x}]\n", `schedule.trigger.key: the probe "a" runs only when a gate needs it`},
		{"undated status", "validation: {rules: [{key: a, check: equals, field: status, value: ok}]}\n", `an undated reading of "a" never goes stale`},
		{"poll window past the time limit", "job: {type: glue, config: {jobName: x}, jobPollWindowSeconds: 86400}\n", `exceeds the default time limit of 4h`},
		{"poll interval", "job: {type: glue, config: {jobName: x}, pollInterval: 2h}\n", `so the job is polled only once`},
		{"offset of listed days", "schedule: {include: {dates: [2026-03-03]}, offset: -1, time: \"10:00\"}\n", `schedule.offset: has no effect`},
		{"empty sla", "sla: {critical: true}\n", `has neither a deadline nor a maxDuration`},
		{"deadline at its fire", "schedule: {cron: \"0 9 * * *\", timezone: Europe/Berlin}\nsla: {deadline: \"09:00\"}\n", `sla.deadline: "09:00" is not after the run opens (09:00 Europe/Berlin), so no run can meet it; choose a later time`},
		{"deadline at an hourly fire", "schedule: {cron: \"5 * * * *\", offset: -1}\nsla: {deadline: \":05\"}\n", `sla.deadline: ":05" is not after the run opens`},
		{"deadline before schedule.time", "schedule: {trigger: {key: a, check: exists}, time: \"09:00\"}\nsla: {deadline: \"08:00\"}\n", `sla.deadline: "08:00" is not after the run opens (09:00 UTC)`},
		{"deadline at the first instant of the day", "schedule: {trigger: {key: a, check: exists}}\nsla: {deadline: \"00:00\"}\n", `choose a later time, or set sla.dayOffset: 1`},
		{"deadline of a listed day", "schedule: {include: {dates: [2026-03-03]}, time: \"10:00\"}\nsla: {deadline: \"10:00\"}\n", `sla.deadline: "10:00" is not after the run opens (10:00 UTC)`},
		{"deadline shortly before its fire", "schedule: {cron: \"0 9 * * *\"}\nsla: {deadline: \"08:30\"}\n", `sla.deadline: "08:30" is before the run opens (09:00 UTC), so the deadline is on the next day, 23h30m later`},
		{"start deadline at the fire", "schedule: {cron: \"0 9 * * *\", trigger: {key: a, check: exists, deadline: \"09:00\"}}\n", `schedule.trigger.deadline: "09:00" is when the run opens (09:00 UTC), so its start condition can never be met in time; choose a later time`},
		{"late data of nothing", "validation: {lateData: report}\n", `validation.lateData: has no effect, because no rule and no start condition reads a sensor`},
		{
			"late data without a budget", "schedule: {trigger: {key: a, check: exists}}\nvalidation: {lateData: rerun}\njob: {type: command, config: {command: [load]}, maxDriftReruns: 0}\n",
			`validation.lateData: is rerun, but job.maxDriftReruns is 0`,
		},
		{"monitoring without rules", "watch: {monitoring: {duration: 2h}}\n", `there are no postRun.rules to watch`},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := load(minimal + c.text)
			if got := strings.Join(report(set), "\n"); !strings.Contains(got, c.want) || set.Failed() || len(set.Definitions) != 1 {
				t.Errorf("got\n%s\nwant a warning with %q", got, c.want)
			}
		})
	}
}

func TestDeadlineAfterItsFireCausesNoWarning(t *testing.T) {
	for _, text := range []string{
		"schedule: {cron: \"0 9 * * *\"}\nsla: {deadline: \"09:01\"}\n",
		"schedule: {cron: \"0 22 * * *\"}\nsla: {deadline: \"06:00\"}\n", // overnight
		"schedule: {cron: \"0 9 * * *\"}\nsla: {deadline: \"08:00\", dayOffset: 1}\n",
		"schedule: {cron: \"5 * * * *\"}\nsla: {deadline: \":05\"}\n",
		"schedule: {trigger: {key: a, check: exists, deadline: \"10:00\"}}\nsla: {deadline: \"00:00\", dayOffset: 1}\n",
		"schedule: {trigger: {key: a, check: exists}, period: hour}\nsla: {deadline: \":00\"}\n",
	} {
		if set := load(minimal + text + "job: {type: command, config: {command: [load]}}\n"); len(set.Problems) > 0 {
			t.Errorf("%s: %v", text, report(set))
		}
	}
}

func TestStatusBesideAnAgeRuleCausesNoWarning(t *testing.T) {
	set := load(minimal + `schedule: {trigger: {key: b, check: exists}}
validation:
  rules:
    - {key: a, check: equals, field: status, value: ok}
    - {key: a, check: age_lt, field: updatedAt, value: 1h}
    - {key: b, check: equals, field: status, value: ok}
    - {key: c, check: equals, field: status, value: ok, level: advisory}
    - {key: d, check: gte, field: count, value: 1}
`)
	if len(set.Problems) > 0 {
		t.Error(report(set))
	}
}

func TestEmptySectionIsNotAnAbsentOne(t *testing.T) {
	for section, want := range map[string]string{
		"validation:":              `a.yaml:2:1: validation.rules: is required: The rules. Without them, lateData must be set`,
		"validation:\n  lateData:": `a.yaml:2:1: validation.rules: is required: The rules. Without them, lateData must be set`,
		"postRun:":                 `a.yaml:2:1: postRun.rules: is required: Rules, all of which must pass`,
		"job:":                     `a.yaml:2:1: job.type: is required: The kind of job`,
		"schedule:\n  include:":    `a.yaml:3:3: schedule.include.dates: is required: Dates, YYYY-MM-DD`,
		"schedule:\n  evaluation:": ``,
		"sla:":                     ``,
	} {
		if got := strings.Join(report(load("pipeline: {id: orders, owner: me}\n"+section+"\n")), "\n"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", section, got, want)
		}
	}
}
