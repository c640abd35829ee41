package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	recordLimit = 1.3 // at most
	watchLimit  = 60  // seconds, at most
	sinkLimit   = 5   // at least
	initRounds  = 5
)

// functions are those of AWS.
var functions = []string{"stream-router", "orchestrator", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"}

// awsRows measures the functions of AWS on a real DynamoDB of this machine: one record of a sensor in a deployment of 10,000
// pipelines against one in a deployment of one; a pass of the watchdog over them; what a run asks of DynamoDB; and how large
// each function is and how soon it is ready.
func awsRows() ([]row, error) {
	metrics, err := goBenchmarks("./internal/awslambda", "BenchmarkSensorRecord", "BenchmarkRun", "BenchmarkEventSink")
	if err != nil {
		return nil, err
	}
	record, run, sink := metrics["BenchmarkSensorRecord"], metrics["BenchmarkRun"], metrics["BenchmarkEventSink"]
	rows := []row{
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
		{
			name: "DynamoDB calls of a run", ratio: run["calls"], reported: true,
			detail: fmt.Sprintf("%.0f of them writes; a job of 5m, looked at each 30s, with a deadline", run["writes"]),
		},
	}
	rows = append(rows, row{
		name: "stream records of a run", ratio: run["control-delivered"] + run["joblog-delivered"], reported: true,
		detail: fmt.Sprintf("that pass the filters: %.0f of %.0f of control, %.0f of %.0f of joblog", run["control-delivered"], run["control-records"], run["joblog-delivered"], run["joblog-records"]),
	}, row{
		name: "event-sink: 50 callers against one", ratio: sink["ratio"], limit: sinkLimit, atLeast: true, failed: sink["ratio"] < sinkLimit,
		detail: fmt.Sprintf("%.0f events/s against %.0f, each call of DynamoDB 30 ms away", sink["events/s-of-50"], sink["events/s-of-one"]),
	})
	sizes, err := functionRows()
	return append(rows, sizes...), err
}

// goBenchmarks runs benchmarks of a package once, and gives what they report, by name and unit.
func goBenchmarks(pkg string, names ...string) (map[string]map[string]float64, error) {
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", "^("+strings.Join(names, "|")+")$", "-benchtime", "1x", "-timeout", "60m", pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w\n%s", pkg, err, out)
	}
	found := map[string]map[string]float64{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(words[0], "-")
		found[name] = map[string]float64{}
		for i := 2; i+1 < len(words); i += 2 {
			if found[name][words[i+1]], err = strconv.ParseFloat(words[i], 64); err != nil {
				return nil, fmt.Errorf("read %q: %w", line, err)
			}
		}
	}
	for _, name := range names {
		if found[name] == nil {
			return nil, fmt.Errorf("%s of %s was not measured: is something missing that its tests need?\n%s", name, pkg, out)
		}
	}
	return found, nil
}

// functionRows builds the functions, and starts each as Lambda does.
func functionRows() ([]row, error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.Command("sh", "deploy/build.sh", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the functions: %w\n%s", err, out)
	}
	var rows []row
	for _, name := range functions {
		zip, err := os.Stat(filepath.Join(dir, name+".zip"))
		if err != nil {
			return nil, err
		}
		binary := filepath.Join(dir, name)
		if out, err := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, "./cmd/lambda/"+name).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
		took, err := initTime(binary)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
		size := float64(zip.Size()) / (1 << 20)
		rows = append(rows, row{name: name + ": MB of its zip", ratio: size, reported: true, detail: fmt.Sprintf("ready %d ms after its start, on this machine", took.Milliseconds())})
	}
	return rows, nil
}

// initTime is how long a function takes from its start until it asks for its first call; the best of some.
func initTime(binary string) (time.Duration, error) {
	var all []time.Duration
	for range initRounds {
		took, err := initOnce(binary)
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	return slices.Min(all), nil
}

func initOnce(binary string) (time.Duration, error) {
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- struct{}{}
		}
		<-r.Context().Done() // there is never a call
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = functionEnvironment(server.Listener.Addr())
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-asked:
		took := time.Since(began)
		cancel()
		<-ended
		return took, nil
	case err := <-ended:
		return 0, errors.Join(errors.New("it ended before it asked for a call"), err)
	}
}

// functionEnvironment is what a function is given where it runs.
func functionEnvironment(api net.Addr) []string {
	arn := func(of string) string { return "arn:aws:" + of + ":eu-west-1:123456789012:" }
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api.String(), "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none", "ENVIRONMENT=bench",
		"EVENT_BUS_NAME=bench", "SCHEDULER_GROUP_NAME=bench", "SCHEDULER_ROLE_ARN=" + arn("iam") + "role/bench", "STATE_MACHINE_ARN=" + arn("states") + "stateMachine:bench",
		"ORCHESTRATOR_ARN=" + arn("lambda") + "function:orchestrator", "STREAM_ROUTER_ARN=" + arn("lambda") + "function:stream-router", "SLA_MONITOR_ARN=" + arn("lambda") + "function:sla-monitor",
	}
}
