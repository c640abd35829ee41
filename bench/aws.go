package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

const (
	recordLimit  = 1.3 // at most
	watchLimit   = 60  // seconds, at most
	sinkLimit    = 5   // at least
	callLimit    = 120 // at most
	controlLimit = 18  // at most: two thirds of the records of the smallest run originally
	stateLimit   = 30  // at most
)

// awsRows measures the AWS functions against a local DynamoDB. If one measurement fails, the rows
// of the others are still returned.
func awsRows() (rows []row, err error) {
	for _, part := range []func() ([]row, error){manyRows, runRows, growthRows, sinkRows, functionRows} {
		more, failed := part()
		rows, err = append(rows, more...), errors.Join(err, failed)
	}
	return rows, err
}

// manyRows compares the cost of one sensor record in a deployment of 10,000 pipelines with one in a
// deployment of a single pipeline, and measures a watchdog pass over the 10,000.
func manyRows() ([]row, error) {
	record, err := goBenchmark("./internal/awslambda", "BenchmarkSensorRecord")
	if err != nil {
		return nil, err
	}
	return []row{
		{
			name: "stream-router: a record among many pipelines", ratio: record["ratio"], limit: recordLimit, failed: record["ratio"] > recordLimit,
			detail: fmt.Sprintf("%.0f pipelines against 1, at %.1f ms a record", record["pipelines"], record["ms-of-one"]),
		},
		{
			name: "watchdog: a pass, as part of its 60 s", ratio: record["s-of-first-pass"] / watchLimit, limit: 1, failed: record["s-of-first-pass"] > watchLimit,
			detail: fmt.Sprintf("%.1f s for %.0f pipelines that it does not know yet, %.1f s for the next pass", record["s-of-first-pass"], record["pipelines"], record["s-of-next-pass"]),
		},
		{
			name: "DynamoDB calls of a pass", ratio: record["calls-of-first-pass"], reported: true,
			detail: fmt.Sprintf("%.0f of the next pass; %.0f pipelines: cron, deadlines, sensors, upstreams, with a day's runs", record["calls-of-next-pass"], record["pipelines"]),
		},
	}, nil
}

// runRows counts the DynamoDB calls, stream records and state transitions of one run.
func runRows() ([]row, error) {
	run, err := goBenchmark("./internal/awslambda", "BenchmarkRun")
	if err != nil {
		return nil, err
	}
	return []row{
		{
			name: "DynamoDB calls of a run", ratio: run["calls"], limit: callLimit, failed: run["calls"] > callLimit,
			detail: fmt.Sprintf("%.0f of them writes; a job of 10m, polled every 30s, whose durations are known, with a deadline", run["writes"]),
		},
		{
			name: "stream records of control of a run", ratio: run["control-delivered"], limit: controlLimit, failed: run["control-delivered"] > controlLimit,
			detail: fmt.Sprintf("that pass the filters, of %.0f; and %.0f of %.0f of joblog", run["control-records"], run["joblog-delivered"], run["joblog-records"]),
		},
		{name: "state transitions of a run", ratio: run["states"], limit: stateLimit, failed: run["states"] > stateLimit, detail: "states that its execution enters"},
	}, nil
}

// growthRows measures how much a run adds to the tables.
func growthRows() ([]row, error) {
	run, err := goBenchmark("./internal/awslambda", "BenchmarkGrowth")
	if err != nil {
		return nil, err
	}
	return []row{{
		name: "MB that 1,000 runs add for ever", ratio: run["B-that-stay"] / 1000, reported: true,
		detail: fmt.Sprintf("%.1f MB more for 30 days, and %.1f MB until their ttl; without indexes", run["B-for-30-days"]/1000, run["B-until-ttl"]/1000),
	}}, nil
}

// sinkRows compares how many events a second the event-sink stores for 50 callers and for one.
func sinkRows() ([]row, error) {
	sink, err := goBenchmark("./internal/awslambda", "BenchmarkEventSink")
	if err != nil {
		return nil, err
	}
	return []row{{
		name: "event-sink: 50 callers against one", ratio: sink["ratio"], limit: sinkLimit, atLeast: true, failed: sink["ratio"] < sinkLimit,
		detail: fmt.Sprintf("%.0f events/s against %.0f, each call of DynamoDB 30 ms away", sink["events/s-of-50"], sink["events/s-of-one"]),
	}}, nil
}

// goBenchmark runs a benchmark of a package once and returns the metrics that it reports, by unit.
func goBenchmark(pkg, name string) (map[string]float64, error) {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", "^"+name+"$", "-benchtime", "1x", "-timeout", "60m", pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w\n%s", pkg, err, out)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], name) {
			continue
		}
		found := map[string]float64{}
		for i := 2; i+1 < len(words); i += 2 {
			if found[words[i+1]], err = strconv.ParseFloat(words[i], 64); err != nil {
				return nil, fmt.Errorf("read %q: %w", line, err)
			}
		}
		return found, nil
	}
	return nil, fmt.Errorf("%s of %s reported nothing; check that its tests do not skip for a missing tool\n%s", name, pkg, out)
}
