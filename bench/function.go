package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// functions are the AWS functions, each with a payload that it answers with empty tables.
var functions = []struct{ name, call string }{
	{"stream-router", `{"Records": []}`},
	{"orchestrator", `{"mode": "evaluate", "pipelineId": "orders", "scheduleId": "cron", "date": "2026-03-03", "attempt": 1}`},
	{"sla-monitor", `{"mode": "schedule", "pipelineId": "orders", "scheduleId": "cron", "date": "2026-03-03"}`},
	{"watchdog", `{}`},
	{"event-sink", `{"id": "e1", "source": "interlock", "detail-type": "JOB_COMPLETED", "time": "2026-03-03T06:00:00Z", "resources": [],
		"detail": {"pipelineId": "orders", "scheduleId": "cron", "date": "2026-03-03", "message": "done", "timestamp": "2026-03-03T06:00:00Z"}}`},
	{"alert-dispatcher", `{"Records": []}`},
}

// functionRows builds the functions and starts each one as Lambda does.
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
	for _, f := range functions {
		zip, err := os.Stat(filepath.Join(dir, f.name+".zip"))
		if err != nil {
			return rows, err
		}
		binary := filepath.Join(dir, f.name)
		if out, err := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, "./cmd/lambda/"+f.name).CombinedOutput(); err != nil {
			return rows, fmt.Errorf("build %s: %w\n%s", f.name, err, out)
		}
		start, err := quickestStart(binary, f.call)
		if err != nil {
			return rows, fmt.Errorf("start %s: %w", f.name, err)
		}
		rows = append(rows, row{
			name: f.name + ": cold start, ms", ratio: float64(start.answered.Microseconds()) / 1000, reported: true,
			detail: fmt.Sprintf("until its first answer, %.0f ms until it asked for a call, on this machine; %.1f MB of zip",
				float64(start.asked.Microseconds())/1000, float64(zip.Size())/(1<<20)),
		})
	}
	return rows, nil
}

// coldStart is the time from a function's start until it asked for its first call, and until it
// answered it.
type coldStart struct{ asked, answered time.Duration }

// quickestStart returns the best of several starts, because other processes share the machine.
func quickestStart(binary, call string) (coldStart, error) {
	var all []coldStart
	for range 5 {
		one, err := startFunction(binary, call)
		if err != nil {
			return coldStart{}, err
		}
		all = append(all, one)
	}
	return slices.MinFunc(all, func(a, b coldStart) int { return int(a.answered - b.answered) }), nil
}

// lambdaAPI is the Lambda runtime API with one call, and AWS services without any data.
type lambdaAPI struct {
	call     string
	began    time.Time
	asked    atomic.Int64 // how long after that it asked for the call
	answered chan error
}

func (l *lambdaAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/invocation/next"):
		if !l.asked.CompareAndSwap(0, int64(time.Since(l.began))) {
			<-r.Context().Done() // there is no second call
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", arn("lambda")+"function:bench")
		fmt.Fprint(w, l.call)
	case strings.HasSuffix(path, "/response"):
		w.WriteHeader(http.StatusAccepted)
		l.answered <- nil
	case strings.HasSuffix(path, "/error"):
		text, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		l.answered <- fmt.Errorf("it failed: %s", text)
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, "{}")
	}
}

func startFunction(binary, call string) (took coldStart, err error) {
	l := &lambdaAPI{call: call, answered: make(chan error, 1)}
	server := httptest.NewServer(l)
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = functionEnvironment(server.Listener.Addr().String())
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	l.began = time.Now()
	if err := cmd.Start(); err != nil {
		return took, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-l.answered:
		took = coldStart{asked: time.Duration(l.asked.Load()), answered: time.Since(l.began)}
		cancel()
		<-ended
		return took, err
	case err := <-ended:
		return took, fmt.Errorf("it ended before it answered a call: %v: %s", err, said.String())
	}
}

func arn(of string) string { return "arn:aws:" + of + ":eu-west-1:123456789012:" }

// functionEnvironment returns the environment variables of a deployed function.
func functionEnvironment(api string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api, "AWS_ENDPOINT_URL=http://" + api, "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none", "ENVIRONMENT=bench",
		"ALERT_QUEUE_URL=http://" + api + "/queue", "EVENT_BUS_NAME=bench", "SCHEDULER_GROUP_NAME=bench", "SCHEDULER_ROLE_ARN=" + arn("iam") + "role/bench", "SCHEDULER_DLQ_ARN=" + arn("sqs") + "bench", "STATE_MACHINE_ARN=" + arn("states") + "stateMachine:bench",
		"ORCHESTRATOR_ARN=" + arn("lambda") + "function:orchestrator", "STREAM_ROUTER_ARN=" + arn("lambda") + "function:stream-router", "SLA_MONITOR_ARN=" + arn("lambda") + "function:sla-monitor",
	}
}
