package awslambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// idle accepts every AWS call of the functions and does nothing.
type idle struct{}

func (idle) Start(context.Context, string, string) (time.Time, error)     { return time.Now(), nil }
func (idle) Put(context.Context, string, time.Time, string, string) error { return nil }
func (idle) Delete(context.Context, string) error                         { return nil }
func (idle) Call(context.Context, string, []byte) ([]byte, error)         { return []byte("{}"), nil }
func (idle) Send(context.Context, string, []byte) error                   { return nil }
func (idle) Publish(context.Context, []event.Event) error                 { return nil }

// deployment is a warm stream-router on tables with the given number of pipelines.
type deployment struct {
	*awslambda.Router
	data  *dynamo.Store
	calls *atomic.Int64 // of DynamoDB
}

// asked counts the DynamoDB calls.
type asked struct{ calls *atomic.Int64 }

func (a asked) Do(r *http.Request) (*http.Response, error) {
	a.calls.Add(1)
	return http.DefaultClient.Do(r)
}

func deployMany(b *testing.B, pipelines int) deployment {
	b.Helper()
	environment, c := dynamotest.Still(b)
	d := deployment{calls: &atomic.Int64{}}
	c.HTTPClient = asked{d.calls}
	d.data = dynamo.New(c, environment, dynamo.Options{})
	d.Router = d.function(applyFiles(b, d.data, pipelines))
	routeOne(b, d.Router, 0)
	return d
}

// function returns a stream-router with a loaded catalog.
func (d deployment) function(known *catalog.Catalog) *awslambda.Router {
	return &awslambda.Router{Streams: awslambda.Tables{Store: d.data}, Bus: idle{}, Relay: &awslambda.Relay{
		Host: awslambda.NewHost(awslambda.Parts{
			Settings: awslambda.Settings{TimeLimit: 4 * time.Hour, Watch: 5 * time.Minute}, Store: d.data, Catalog: known,
			Now: func() time.Time { return noon }, Logger: slog.New(slog.DiscardHandler), Overview: d.data,
		}),
		Executions: idle{}, Entries: idle{}, Invoker: idle{},
	}}
}

// routeOne has the function handle one sensor record that starts nothing.
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

// many is the number of pipelines of a large deployment.
func many(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("INTERLOCK_BENCH_PIPELINES"))
	if err != nil {
		return 10_000
	}
	return n
}

// BenchmarkSensorRecord compares one sensor record in a deployment of many pipelines with one in a
// deployment of a single pipeline: the ratio of the medians, measured alternately.
func BenchmarkSensorRecord(b *testing.B) {
	few, lots := deployMany(b, 1), deployMany(b, many(b))
	const rounds = 200
	for b.Loop() {
		var alone, among []time.Duration
		for n := range rounds {
			alone = append(alone, routeOne(b, few.Router, n+1))
			among = append(among, routeOne(b, lots.Router, n+1))
		}
		slices.Sort(alone)
		slices.Sort(among)
		b.ReportMetric(float64(among[rounds/2])/float64(alone[rounds/2]), "ratio")
		b.ReportMetric(float64(alone[rounds/2].Microseconds())/1000, "ms-of-one")
		b.ReportMetric(float64(many(b)), "pipelines")
		lots.measureWatchdog(b)
	}
}

// measureWatchdog measures a pass over all pipelines, by a cold function and by the same function a
// moment later, and counts their DynamoDB calls. The passes must find nothing.
func (d deployment) measureWatchdog(b *testing.B) {
	b.Helper()
	liveThrough(b, d.data, d.Catalog)
	watch := awslambda.NewWatch(d.function(catalog.New(d.data, all.Kinds())))
	for _, name := range []string{"first", "next"} {
		before, began := d.calls.Load(), time.Now()
		reply, err := watch.Pass(context.Background())
		b.ReportMetric(time.Since(began).Seconds(), "s-of-"+name+"-pass")
		b.ReportMetric(float64(d.calls.Load()-before), "calls-of-"+name+"-pass")
		if err != nil {
			b.Fatal(err)
		}
		for check, n := range reply.Findings {
			if n > 0 {
				b.Fatalf("found %d %s, want none", n, check)
			}
		}
	}
}

// BenchmarkEventSink compares how many events per second the event-sink stores for 50 callers and
// for one. Each call takes at least as long as DynamoDB takes from a function: a local database
// answers faster than a network.
func BenchmarkEventSink(b *testing.B) {
	environment, c := dynamotest.Still(b)
	c.HTTPClient = distant{}
	sink := awslambda.Sink{Log: dynamo.New(c, environment, dynamo.Options{})}
	keep := func(n int) {
		d := awslambda.Delivered{
			ID: fmt.Sprint("e", n), Source: "interlock", Type: "JOB_COMPLETED", Time: noon.Format(time.RFC3339), Resources: []string{},
			Detail: json.RawMessage(fmt.Sprintf(`{"pipelineId": "p%d", "scheduleId": "cron", "date": "2026-03-03", "message": "done", "timestamp": %q}`, n%20, noon.Format(time.RFC3339))),
		}
		if err := sink.Keep(context.Background(), d); err != nil {
			b.Error(err)
		}
	}
	const callers = 50
	rate := func(callers, events, from int) float64 {
		began := time.Now()
		var all sync.WaitGroup
		var next atomic.Int64
		for range callers {
			all.Go(func() {
				for n := next.Add(1); n <= int64(events); n = next.Add(1) {
					keep(from + int(n))
				}
			})
		}
		all.Wait()
		return float64(events) / time.Since(began).Seconds()
	}
	for b.Loop() {
		one := rate(1, 50, 0)
		many := rate(callers, 1000, 1000)
		b.ReportMetric(one, "events/s-of-one")
		b.ReportMetric(many, "events/s-of-50")
		b.ReportMetric(many/one, "ratio")
	}
}

// distant adds the latency of DynamoDB over a network.
type distant struct{}

func (distant) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(30 * time.Millisecond)
	return http.DefaultClient.Do(r)
}
