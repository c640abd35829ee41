package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// place is the time and zone of a world: days on which clocks change, months and years end,
// weekends begin.
type place struct {
	start time.Time
	zone  string
}

func utc(year int, month time.Month, day, hour int) time.Time {
	return time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
}

var places = []place{
	{utc(2026, 3, 28, 18), "Europe/Berlin"},       // spring forward
	{utc(2026, 10, 24, 18), "Europe/Berlin"},      // fall back
	{utc(2026, 3, 8, 0), "America/New_York"},      // spring forward
	{utc(2026, 11, 1, 0), "America/New_York"},     // fall back
	{utc(2026, 4, 4, 10), "Australia/Lord_Howe"},  // by half an hour
	{utc(2024, 2, 28, 20), "UTC"},                 // a leap day
	{utc(2026, 12, 31, 12), "Asia/Kolkata"},       // the year's end
	{utc(2026, 1, 30, 21), "Pacific/Auckland"},    // a month's end on a weekend
	{utc(2026, 6, 30, 18), "America/Los_Angeles"}, // a month's end
	{utc(2026, 2, 26, 20), "UTC"},                 // into a weekend
}

// The parts of files.
const (
	budgets = "maxRetries: 2, maxCodeRetries: 1, maxDriftReruns: 1, maxManualReruns: 2, retryBackoff: 30s, pollInterval: 1m, jobPollWindowSeconds: 900"
	learns  = "job: {type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}, learnPolls: true, " + budgets + "}\n"
	machine = "job: {type: step-function, config: {stateMachineARN: 'arn:aws:states:eu-west-1:123456789012:stateMachine:x'}, " + budgets + "}\n"
	glue    = "job: {type: glue, config: {jobName: x}, " + budgets + "}\n"
	lambda  = "job: {type: lambda, config: {functionName: x, async: true}, " + budgets + "}\n"
	risky   = "job: {type: lambda, config: {functionName: x, async: true, onUnknown: retry}, " + budgets + "}\n"
	local   = "job: {type: command, config: {command: [x]}, " + budgets + "}\n"
	mute    = "job: {type: http, config: {url: 'https://mute.example.com', timeout: 5m}, jobPollWindowSeconds: 900}\n"
	outside = "job: {type: external, config: {heartbeat: 1m}, " + budgets + "}\n"
	web     = "job: {type: http, config: {url: 'https://example.com/run', timeout: 5m}, " + budgets + "}\n"
)

// handed is the pipeline whose jobs external workers run.
const handed = "handed"

// steady is the pipeline whose jobs take about the same time, and which learns it.
const steady = "settles"

// template is a pipeline of a world. Edits switch between its variants; %[1]s is the zone, %[2]s
// and %[3]s are days.
type template struct {
	id       string
	with     string // another pipeline that is chosen with it
	variants []string
}

var templates = []template{
	{id: "lands", variants: []string{
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 3, deadline: ':50'}, timezone: %[1]s, period: hour, evaluation: {window: 20m, interval: 2m}}\n" +
			"sla: {maxDuration: 40m, expectedDuration: 10m}\n" +
			"postRun: {rules: [{key: loaded, check: gte, field: count, value: 1}], driftThreshold: 5, sensorTimeout: 40m, evaluation: {window: 2h, interval: 20m}}\n" + glue,
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 3}, timezone: %[1]s, period: hour, evaluation: {window: 40m, interval: 5m}}\n" +
			"sla: {maxDuration: 30m, deadline: ':45'}\npostRun: {rules: [{key: loaded, check: exists}], sensorTimeout: 40m}\n" + glue,
	}},
	{id: "fires", variants: []string{
		"schedule: {cron: '*/20 * * * *', timezone: %[1]s, evaluation: {window: 45m, interval: 5m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 5}]}\n" + machine,
		"schedule: {cron: '*/30 * * * *', timezone: %[1]s, evaluation: {window: 30m, interval: 5m}, catchUp: latest}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 5}, {key: rows, check: age_lt, field: updatedAt, value: 3h}]}\n" + machine,
	}},
	{id: "nightly", variants: []string{
		"schedule: {cron: '30 1 * * *', timezone: %[1]s, offset: -1, exclude: {weekends: true}, trigger: {key: ready, check: equals, field: status, value: done}, evaluation: {window: 90m, interval: 10m}}\n" +
			"sla: {deadline: '03:30', expectedDuration: 30m}\n" + glue,
		"schedule: {cron: '30 1 * * *', timezone: %[1]s, offset: -1, exclude: {dates: ['%[2]s']}, trigger: {key: ready, check: equals, field: status, value: done}, evaluation: {window: 90m, interval: 10m}}\n" +
			"sla: {deadline: '04:00', critical: true}\n" + glue,
	}},
	{id: "hourly", variants: []string{
		"schedule: {cron: '5 * * * *', timezone: %[1]s, offset: -1, exclude: {dates: ['%[3]s']}, trigger: {key: ready, check: equals, field: status, value: done}, evaluation: {window: 50m, interval: 5m}}\n" +
			"sla: {deadline: ':40', expectedDuration: 15m}\n" + lambda,
		"schedule: {cron: '5 * * * *', timezone: %[1]s, offset: -1, trigger: {key: ready, check: equals, field: status, value: done}, evaluation: {window: 30m, interval: 5m}}\n" +
			"sla: {deadline: ':50'}\n" + lambda,
	}},
	{id: "plain", variants: []string{
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 3, from: lands}, timezone: %[1]s, period: hour, maxActive: 1, evaluation: {window: 30m, interval: 5m}}\n" + lambda,
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 3, from: lands}, timezone: %[1]s, period: hour, maxActive: 2, exclude: {weekends: true}, evaluation: {window: 30m, interval: 5m}}\n" + lambda,
	}},
	{id: "local", variants: []string{
		"schedule: {after: [lands], timezone: %[1]s, period: hour, evaluation: {window: 30m, interval: 5m}}\nsla: {deadline: ':30'}\n" + local,
		"schedule: {after: [lands], timezone: %[1]s, period: hour, exclude: {dates: ['%[3]s']}, evaluation: {window: 30m, interval: 5m}}\nsla: {deadline: ':40'}\n" + local,
	}},
	{id: "noted", variants: []string{
		"schedule: {trigger: {key: asked, check: exists}, timezone: %[1]s, period: hour, evaluation: {window: 20m, interval: 5m}}\nsla: {deadline: ':20'}\n",
		"schedule: {trigger: {key: asked, check: exists}, timezone: %[1]s, period: hour, evaluation: {window: 30m, interval: 5m}}\nsla: {deadline: ':10', expectedDuration: 5m}\n",
	}},
	{id: "listed", variants: []string{
		"schedule: {include: {dates: ['%[2]s', '%[3]s']}, timezone: %[1]s, time: '02:30', evaluation: {window: 90m, interval: 10m}}\nvalidation: {rules: [{key: rows, check: exists}]}\nsla: {deadline: '05:00'}\n" + glue,
		"schedule: {include: {dates: ['%[3]s']}, timezone: %[1]s, time: '02:30', evaluation: {window: 90m, interval: 10m}}\nvalidation: {rules: [{key: rows, check: exists}]}\n" + glue,
	}},
	{id: "dry", variants: []string{
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 3, from: lands}, timezone: %[1]s, period: hour, evaluation: {window: 30m, interval: 5m}}\ndryRun: true\n" + glue,
		"schedule: {trigger: {key: landed, check: gte, field: count, value: 5, from: lands}, timezone: %[1]s, period: hour, evaluation: {window: 30m, interval: 5m}}\ndryRun: true\nsla: {deadline: ':30', expectedDuration: 10m}\n" + glue,
	}},
	{id: "web", variants: []string{
		"schedule: {cron: '*/30 * * * *', timezone: %[1]s, maxActive: 1, evaluation: {window: 40m, interval: 5m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 3}]}\n" + web,
		"schedule: {cron: '15 * * * *', timezone: %[1]s, evaluation: {window: 40m, interval: 5m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 3}], lateData: rerun}\nsla: {deadline: ':30'}\n" + web,
	}},
	{id: handed, variants: []string{
		"schedule: {cron: '*/20 * * * *', timezone: %[1]s, evaluation: {window: 15m, interval: 5m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 2}]}\n" + outside,
		"schedule: {cron: '*/20 * * * *', timezone: %[1]s, maxActive: 1, evaluation: {window: 40m, interval: 5m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 2}]}\n" + outside,
	}},
	{id: "risky", variants: []string{
		"schedule: {cron: '10 * * * *', timezone: %[1]s, evaluation: {window: 40m, interval: 5m}}\n" + risky,
		"schedule: {cron: '10,40 * * * *', timezone: %[1]s, evaluation: {window: 20m, interval: 5m}}\n" + risky,
	}},
	{id: steady, variants: []string{
		"schedule: {cron: '*/20 * * * *', timezone: %[1]s, evaluation: {window: 50m, interval: 10m}}\nvalidation: {rules: [{key: rows, check: gte, field: count, value: 3, settled: 7m}]}\n" + learns,
		"schedule: {cron: '*/30 * * * *', timezone: %[1]s, evaluation: {window: 45m, interval: 10m}}\nvalidation: {preferUntil: 25m, rules: [{key: rows, check: gte, field: count, value: 2, settled: 4m}, {key: extra, check: gte, field: count, value: 6, level: preferred, settled: 5m}]}\n" + learns,
	}},
	{id: "sums", variants: []string{
		"schedule: {cron: '5 * * * *', timezone: %[1]s, offset: -1, evaluation: {window: 50m, interval: 10m}}\nvalidation: {preferUntil: ':40', rules: [{key: part, check: gte, field: count, value: 1, over: {last: 3, of: hour, atLeast: 2}}, {key: extra, check: exists, level: preferred}]}\n" + glue,
		"schedule: {cron: '10 * * * *', timezone: %[1]s, offset: -1, exclude: {dates: ['%[3]s']}, evaluation: {window: 45m, interval: 10m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 2, over: {last: 4, of: hour, atLeast: 2}, settled: 3m}]}\nsla: {deadline: ':55'}\n" + glue,
	}},
	{id: "daily", variants: []string{
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: day, evaluation: {window: 90m, interval: 15m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 1, over: {slices: hour, atLeast: 2}}]}\nsla: {deadline: '04:00'}\n" + lambda,
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: day, exclude: {weekends: true}, evaluation: {window: 90m, interval: 15m}}\nvalidation: {preferUntil: 40m, rules: [{key: part, check: gte, field: count, value: 1, over: {slices: hour, atLeast: 2}, settled: 4m}, {key: extra, check: exists, level: preferred}]}\n" + lambda,
	}},
	{id: "weekly", variants: []string{
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: week, evaluation: {window: 90m, interval: 15m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 2, over: {slices: day, atLeast: 1}}]}\nsla: {deadline: '03:00'}\n" + glue,
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: week, exclude: {weekends: true}, evaluation: {window: 90m, interval: 15m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 2, over: {slices: day, atLeast: 1}, settled: 6m}]}\n" + glue,
	}},
	{id: "monthly", variants: []string{
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: month, evaluation: {window: 80m, interval: 15m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 2, over: {last: 2, of: day, atLeast: 1}}]}\nsla: {deadline: '02:00', dayOffset: 0}\n" + local,
		"schedule: {trigger: {key: closed, check: equals, field: status, value: done}, timezone: %[1]s, period: month, exclude: {dates: ['%[2]s']}, evaluation: {window: 80m, interval: 15m}}\nvalidation: {rules: [{key: part, check: gte, field: count, value: 2, over: {slices: day, atLeast: 1}}]}\nsla: {deadline: '02:00'}\n" + local,
	}},
	{id: "gathers", variants: []string{
		"schedule: {after: [{pipeline: lands, atLeast: 2}], timezone: %[1]s, period: day, evaluation: {window: 60m, interval: 10m}}\n" + local,
		"schedule: {after: [{pipeline: lands, atLeast: 3}], timezone: %[1]s, period: day, evaluation: {window: 60m, interval: 10m}}\nvalidation: {preferUntil: 20m, rules: [{key: extra, check: exists, level: preferred}]}\nsla: {deadline: '23:00'}\n" + local,
	}},
	silent("mute1", "", "0"), silent("mute2", "mute1", "5"), silent("mute3", "mute1", "1"),
}

// silent returns a pipeline whose target accepts every call and never answers, so that each call
// holds a worker until its timeout.
func silent(id, with, minute string) template {
	return template{id: id, with: with, variants: []string{
		"schedule: {cron: '" + minute + "/20 * * * *', timezone: %[1]s, evaluation: {window: 20m, interval: 5m}}\n" + mute,
		"schedule: {cron: '" + minute + "/30 * * * *', timezone: %[1]s, maxActive: 1, evaluation: {window: 20m, interval: 5m}}\n" + mute,
	}}
}

// folder is the files of a world.
type folder struct {
	place place
	texts map[string]string
}

// set writes the file of a template.
func (f *folder) set(t template, variant int) {
	zone, err := period.LoadZone(f.place.zone)
	if err != nil {
		panic(err) // the zones are embedded
	}
	day := func(n int) string { return f.place.start.In(zone).AddDate(0, 0, n).Format(time.DateOnly) }
	// Sprintf would append a complaint about an unused argument.
	text := fmt.Sprintf(t.variants[variant]+"%[4]s", f.place.zone, day(0), day(1), "")
	text, _, _ = strings.Cut(text, "%!")
	f.texts[t.id] = fmt.Sprintf("pipeline: {id: %s, owner: tests}\n%s", t.id, text)
}

// files returns the folder as controllers read it.
func (f *folder) files() catalog.Files {
	var all catalog.Files
	for id, text := range f.texts {
		all.Pipelines = append(all.Pipelines, pipeline.Source{File: id + ".yaml", Data: []byte(text)})
	}
	slices.SortFunc(all.Pipelines, func(a, b pipeline.Source) int { return strings.Compare(a.File, b.File) })
	return all
}
