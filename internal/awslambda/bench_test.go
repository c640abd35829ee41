package awslambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// idle takes everything that functions ask of AWS.
type idle struct{}

func (idle) Start(context.Context, string, string) (time.Time, error)     { return time.Now(), nil }
func (idle) Put(context.Context, string, time.Time, string, string) error { return nil }
func (idle) Delete(context.Context, string) error                         { return nil }
func (idle) Call(context.Context, string, []byte) ([]byte, error)         { return []byte("{}"), nil }
func (idle) Send(context.Context, string, []byte) error                   { return nil }
func (idle) Publish(context.Context, []event.Event) error                 { return nil }

// streamRouter is the function on tables with that many pipelines, warm.
func streamRouter(b *testing.B, pipelines int) *awslambda.Router {
	b.Helper()
	environment, c := dynamotest.Streaming(b)
	data := dynamo.New(c, environment, dynamo.Options{})
	known := catalog.New(data, all.Kinds())
	var files catalog.Files
	for i := range pipelines {
		text := fmt.Sprintf("pipeline: {id: p%d, owner: data}\nschedule: {trigger: {key: landed, check: equals, field: status, value: ready}}\n", i)
		files.Pipelines = append(files.Pipelines, pipeline.Source{File: fmt.Sprintf("p%d.yaml", i), Data: []byte(text)})
	}
	if _, err := known.Apply(context.Background(), files, time.Now()); err != nil {
		b.Fatal(err)
	}
	r := &awslambda.Router{Streams: awslambda.Tables{Store: data}, Bus: idle{}, Relay: &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: awslambda.Settings{TimeLimit: 4 * time.Hour}, Store: data, Catalog: known, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		}),
		Executions: idle{}, Entries: idle{}, Invoker: idle{},
	}}
	routeOne(b, r, 0)
	return r
}

// routeOne has the function handle one record: a sensor that starts nothing yet.
func routeOne(b *testing.B, r *awslambda.Router, n int) time.Duration {
	b.Helper()
	payload := fmt.Sprintf(`{"Records": [{"eventName": "MODIFY", "dynamodb": {"ApproximateCreationDateTime": %d, "SequenceNumber": "%021d",
		"Keys": {"PK": {"S": "PIPELINE#p0"}, "SK": {"S": "SENSOR#landed"}},
		"NewImage": {"PK": {"S": "PIPELINE#p0"}, "SK": {"S": "SENSOR#landed"}, "date": {"S": "2026-03-03"}, "status": {"S": "loading"}, "rows": {"N": "%d"}}}}]}`,
		dawn.Unix()+int64(n), n+1, n)
	began := time.Now()
	answer, err := r.Route(context.Background(), json.RawMessage(payload))
	took := time.Since(began)
	text, _ := json.Marshal(answer)
	if err != nil || string(text) != `{"batchItemFailures":[]}` {
		b.Fatalf("%s, %v", text, err)
	}
	return took
}

// many is how many pipelines a large deployment has.
func many(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("INTERLOCK_BENCH_PIPELINES"))
	if err != nil {
		return 10_000
	}
	return n
}

// BenchmarkSensorRecord compares one record of a sensor in a deployment of many pipelines with one in a deployment of one: the
// ratio of the medians, measured in turn.
func BenchmarkSensorRecord(b *testing.B) {
	few, lots := streamRouter(b, 1), streamRouter(b, many(b))
	const rounds = 200
	for b.Loop() {
		var alone, among []time.Duration
		for n := range rounds {
			alone = append(alone, routeOne(b, few, n+1))
			among = append(among, routeOne(b, lots, n+1))
		}
		slices.Sort(alone)
		slices.Sort(among)
		b.ReportMetric(float64(among[rounds/2])/float64(alone[rounds/2]), "ratio")
		b.ReportMetric(float64(alone[rounds/2].Microseconds())/1000, "ms-of-one")
		b.ReportMetric(float64(many(b)), "pipelines")
		b.ReportMetric(watchTime(b, lots).Seconds(), "s-of-watchdog")
	}
}

// watchTime is how long the watchdog takes for a pass over all pipelines, as a function that has just begun.
func watchTime(b *testing.B, r *awslambda.Router) time.Duration {
	b.Helper()
	parts := r.Parts
	parts.Settings.Watch = 5 * time.Minute
	parts.Catalog = catalog.New(parts.Store, all.Kinds())
	fresh := &awslambda.Router{Streams: r.Streams, Bus: idle{}, Relay: &awslambda.Relay{
		Host: awslambda.NewHost(parts), Executions: idle{}, Entries: idle{}, Invoker: idle{},
	}}
	began := time.Now()
	if _, err := awslambda.NewWatch(fresh).Pass(context.Background()); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}

// BenchmarkRun counts the calls of DynamoDB that one run takes, from its fire to the end of its execution: a job of five minutes
// that is looked at each 30 seconds, and a deadline.
func BenchmarkRun(b *testing.B) {
	environment, c := dynamotest.Streaming(b)
	var tables *awslambdatest.Local
	w := deploy(b, awslambdatest.Options{Watch: 24 * time.Hour, Tables: func(now func() time.Time) awslambdatest.Tables {
		tables = awslambdatest.NewLocal(b, environment, c, now)
		return tables
	}}, daily)
	for b.Loop() {
		before := tables.Calls()
		w.at("06:30")
		all, writes := 0, 0
		for operation, n := range tables.Calls() {
			all += n - before[operation]
			if operation != "GetItem" && operation != "Query" && operation != "BatchGetItem" {
				writes += n - before[operation]
			}
		}
		b.ReportMetric(float64(all), "calls")
		b.ReportMetric(float64(writes), "writes")
		b.ReportMetric(float64(w.Called("StartExecution")), "executions")
	}
}
