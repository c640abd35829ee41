package deploy

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	runs "github.com/interlock-go/interlock/internal/run"
)

// watch is an alarm as Terraform defines it.
type watch struct {
	name, namespace, metric, statistic string
	dimensions                         map[string]string
	threshold                          float64
	period                             time.Duration
	periods                            int
	below, missingBreaches, filled     bool
}

var fill = regexp.MustCompile(`^FILL\(([a-z]+), 0\)$`)

// watches returns the alarms of the module.
func watches(t *testing.T) (all []watch) {
	t.Helper()
	m := everything(t)
	m.answers = map[string]cty.Value{
		"data.aws_caller_identity.current.account_id": cty.StringVal("123456789012"), "data.aws_partition.current.partition": cty.StringVal("aws"),
		"data.aws_region.current.id": cty.StringVal("eu-west-1"),
	}
	for name, b := range m.all("aws_cloudwatch_metric_alarm") {
		each, err := m.instances(b)
		check(t, err)
		for _, one := range each {
			text := func(attribute string) string { return m.text(t, b, attribute, one) }
			w := watch{
				name: text("alarm_name"), threshold: number(t, text("threshold")), periods: int(number(t, text("evaluation_periods"))),
				below: text("comparison_operator") == "LessThanThreshold", missingBreaches: text("treat_missing_data") == "breaching",
			}
			from, statistic, metric := b, "statistic", "metric_name"
			if name == "silent" {
				queries := blocksOf(b.Body, "metric_query")
				w.filled = fill.MatchString(m.text(t, queries[0], "expression", one))
				from, statistic = blocksOf(queries[1].Body, "metric")[0], "stat"
			}
			w.namespace, w.metric = m.text(t, from, "namespace", one), m.text(t, from, metric, one)
			w.statistic, w.period = m.text(t, from, statistic, one), time.Duration(number(t, m.text(t, from, "period", one)))*time.Second
			w.dimensions = map[string]string{}
			v, err := m.eval(from.Body.Attributes["dimensions"].Expr, one)
			check(t, err)
			for name, value := range v.AsValueMap() {
				w.dimensions[name] = shown(value)
			}
			all = append(all, w)
		}
	}
	return all
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	check(t, err)
	return n
}

// delay is how long CloudWatch takes to show a metric.
const delay = time.Minute

// ring returns when an alarm first rings. CloudWatch decides every minute about the periods before
// it.
func (w watch) ring(data []awslambdatest.Datum, from, to time.Time) (time.Time, bool) {
	for end := from.Truncate(time.Minute).Add(time.Minute); !end.Add(delay).After(to); end = end.Add(time.Minute) {
		breached := 0
		for n := range w.periods {
			if w.breached(data, end.Add(-time.Duration(n)*w.period)) {
				breached++
			}
		}
		if breached == w.periods {
			return end.Add(delay), true
		}
	}
	return time.Time{}, false
}

// breached reports whether the period that ends then breaches the threshold.
func (w watch) breached(data []awslambdatest.Datum, end time.Time) bool {
	var sum, largest, count float64
	for _, d := range data {
		if d.Namespace == w.namespace && d.Name == w.metric && maps.Equal(d.Dimensions, w.dimensions) && !d.At.Before(end.Add(-w.period)) && d.At.Before(end) {
			sum, count, largest = sum+d.Value, count+1, max(largest, d.Value)
		}
	}
	if count == 0 && !w.filled {
		return w.missingBreaches
	}
	value := map[string]float64{"Sum": sum, "Maximum": largest, "SampleCount": count}[w.statistic]
	if w.below {
		return value < w.threshold
	}
	return value >= w.threshold
}

// ending is a job that ends at the first poll.
type ending struct{ how job.Status }

func (ending) Start(_ context.Context, a job.Attempt) (job.Started, error) {
	return job.Started{Handle: runs.Handle(a.ID)}, nil
}

func (e ending) Status(context.Context, job.Attempt, runs.Handle) (job.Status, error) {
	return e.how, nil
}

var (
	succeeding = ending{job.Status{Done: true, Result: runs.ResultSuccess}}
	failing    = ending{job.Status{Done: true, Result: runs.ResultFail, Category: runs.Permanent, Message: "no such table"}} // which is an alert
)

// deployed is a deployment with one pipeline.
func deployed(t *testing.T, begins time.Time, of job.Type) *awslambdatest.World {
	t.Helper()
	w := awslambdatest.New(t, awslambdatest.Options{
		Begins: begins, Watch: 5 * time.Minute, Jobs: map[string]job.Type{"step-function": of},
		Tables: func(func() time.Time) awslambdatest.Tables { return awslambdatest.NewMemory() }, Wrong: func(string, error) {},
	})
	w.Start()
	check(t, w.PutFiles(catalog.Files{Pipelines: []pipeline.Source{{File: "orders.yaml", Data: []byte(nightly)}}}))
	return w
}

const nightly = `pipeline: {id: orders, owner: data}
schedule: {cron: "0 6 * * *"}
sla: {deadline: "07:00", expectedDuration: 20m}
job: {type: step-function, config: {stateMachineARN: "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"}}
`

// A function is down for ten minutes, in each way: an alarm rings within three minutes of the first
// call that it misses.
func TestAnAlarmRingsForEachFunctionThatIsDown(t *testing.T) {
	all := watches(t)
	quiet := time.Date(2026, 3, 3, 5, 29, 45, 0, time.UTC)
	six := time.Date(2026, 3, 3, 6, 0, 0, 0, time.UTC)
	for _, f := range lambdas {
		for _, how := range []awslambdatest.Outage{awslambdatest.Fails, awslambdatest.Throttles, awslambdatest.Gone} {
			t.Run(fmt.Sprintf("%s %s", f, how), func(t *testing.T) {
				t.Parallel()
				w := deployed(t, quiet, failing)
				w.AdvanceTo(six.Add(-10 * time.Second))
				w.Down(f, how)
				w.AdvanceTo(six.Add(10 * time.Minute))
				if w.Missed.IsZero() {
					t.Fatal("the function was not needed")
				}
				var rings []string
				first := w.Now()
				for _, one := range all {
					if at, rang := one.ring(w.Data, w.Missed, w.Now()); rang {
						rings = append(rings, strings.TrimPrefix(one.name, "test-interlock-")+" "+at.Format(time.TimeOnly))
						if at.Before(first) {
							first = at
						}
					}
				}
				slices.Sort(rings)
				t.Logf("missed at %s; %s", w.Missed.Format(time.TimeOnly), strings.Join(rings, ", "))
				if took := first.Sub(w.Missed); len(rings) == 0 || took > 3*time.Minute {
					t.Errorf("the first alarm rings after %s: %v", took, rings)
				}
			})
		}
	}
}

// A run completes before its deadline, and then its deadline passes.
func TestNoAlarmRingsOnAQuietMorning(t *testing.T) {
	begins := time.Date(2026, 3, 3, 5, 29, 45, 0, time.UTC)
	w := deployed(t, begins, succeeding)
	w.AdvanceTo(begins.Add(2 * time.Hour))
	if len(w.Ended()) != 1 {
		t.Fatalf("executions ended as %v", w.Ended())
	}
	for _, one := range watches(t) {
		if at, rang := one.ring(w.Data, begins.Add(3*time.Minute), w.Now()); rang {
			t.Errorf("%s rings at %s", one.name, at.Format(time.TimeOnly))
		}
	}
}
