package deploy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/interlock-go/interlock/internal/event"
)

// dimensions are the CloudWatch dimensions of the metrics.
var dimensions = map[string][]string{
	"AWS/Lambda Errors":                           {"FunctionName"},
	"AWS/Lambda Throttles":                        {"FunctionName"},
	"AWS/Lambda IteratorAge":                      {"FunctionName", "Resource"},
	"AWS/States ExecutionsFailed":                 {"StateMachineArn"},
	"AWS/States ExecutionsTimedOut":               {"StateMachineArn"},
	"AWS/States ExecutionsAborted":                {"StateMachineArn"},
	"AWS/SQS ApproximateNumberOfMessagesVisible":  {"QueueName"},
	"AWS/SQS ApproximateAgeOfOldestMessage":       {"QueueName"},
	"Interlock interlock_oldest_due_task_seconds": {"Environment"},
}

// alarms returns the alarms of the module, by name.
func alarms(t testing.TB, m *module) map[string]cty.Value {
	t.Helper()
	v, err := m.local("alarms")
	check(t, err)
	return v.AsValueMap()
}

// named returns the names of all instances of a kind of resource.
func (m *module) named(t testing.TB, kind, attribute string) []string {
	t.Helper()
	var all []string
	for _, b := range m.all(kind) {
		each, err := m.instances(b)
		check(t, err)
		for _, extra := range each {
			all = append(all, m.text(t, b, attribute, extra))
		}
	}
	return all
}

func TestAlarmsWatchWhatThereIs(t *testing.T) {
	m := least(t)
	functions, aliases := m.named(t, "aws_lambda_function", "function_name"), m.named(t, "aws_lambda_alias", "name")
	var resources []string
	for _, alias := range aliases {
		resources = append(resources, "test-interlock-stream-router:"+alias)
	}
	machine := "stateMachine:" + m.text(t, m.blocks["aws_sfn_state_machine.pipeline"], "name", nil)
	there := map[string]func(string) bool{
		"FunctionName":    func(v string) bool { return slices.Contains(functions, v) },
		"Resource":        func(v string) bool { return slices.Contains(resources, v) },
		"StateMachineArn": func(v string) bool { return strings.HasSuffix(v, ":"+machine) },
		"Environment":     func(v string) bool { return v == "test" },
		"QueueName":       func(v string) bool { return slices.Contains(m.named(t, "aws_sqs_queue", "name"), v) },
	}
	for name, a := range alarms(t, m) {
		metric := shown(a.GetAttr("namespace")) + " " + shown(a.GetAttr("metric"))
		var used []string
		for dimension, value := range a.GetAttr("dimensions").AsValueMap() {
			used = append(used, dimension)
			if is := there[dimension]; is == nil || !is(shown(value)) {
				t.Errorf("%s: there is no %s %s", name, dimension, shown(value))
			}
		}
		if diff := cmp.Diff(dimensions[metric], sorted(used)); diff != "" {
			t.Errorf("%s: %s is not known by these (-want +got):\n%s", name, metric, diff)
		}
	}
}

func TestAlarmsAreAllThere(t *testing.T) {
	m := least(t)
	got := map[string][]string{}
	for name, a := range alarms(t, m) {
		key := shown(a.GetAttr("metric")) + " ≥ " + shown(a.GetAttr("threshold")) + " in " + shown(a.GetAttr("period")) + " s"
		got[key] = sorted(append(got[key], name))
	}
	each := func(suffix string) (names []string) {
		for _, f := range lambdas {
			names = append(names, string(f)+suffix)
		}
		return names
	}
	want := map[string][]string{
		"Errors ≥ 1 in 300 s":                             each("-errors"),
		"Throttles ≥ 1 in 300 s":                          each("-throttles"),
		"ExecutionsFailed ≥ 1 in 300 s":                   {"executions-failed"},
		"ExecutionsTimedOut ≥ 1 in 300 s":                 {"executions-timed-out"},
		"ExecutionsAborted ≥ 1 in 300 s":                  {"executions-aborted"},
		"ApproximateNumberOfMessagesVisible ≥ 1 in 300 s": {"alert-dlq", "calls-dlq", "control-dlq", "joblog-dlq", "scheduler-dlq"},
		"ApproximateAgeOfOldestMessage ≥ 60 in 60 s":      {"alerts-waiting"},
		"interlock_oldest_due_task_seconds ≥ 60 in 60 s":  {"oldest-due-task"},
		"IteratorAge ≥ 300000 in 300 s":                   {"control-iterator-age", "joblog-iterator-age"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStreamsAreReadThroughTheAliasThatIsWatched(t *testing.T) {
	m := least(t)
	b := m.blocks["aws_lambda_event_source_mapping.stream"]
	for _, path := range b.Body.Attributes["function_name"].Expr.Variables() {
		if path.RootName() != "each" && path.RootName() != "aws_lambda_alias" {
			t.Errorf("the mapping calls %s", path.RootName())
		}
	}
	for name, want := range map[string]string{"batch_size": "10", "bisect_batch_on_function_error": "true", "maximum_retry_attempts": "3"} {
		if got := m.text(t, b, name, nil); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"stream", "alerts"} {
		v, err := m.eval(m.blocks["aws_lambda_event_source_mapping."+name].Body.Attributes["function_response_types"].Expr, nil)
		check(t, err)
		if !slices.Equal(texts(v), []string{"ReportBatchItemFailures"}) {
			t.Errorf("one failure of %s is a failure of all", name)
		}
	}
}

// The end of an alarm is an event like its beginning, but not a warning.
func TestChangedAlarmIsAnEventOfTheCatalogue(t *testing.T) {
	m := least(t)
	b := m.blocks["aws_cloudwatch_event_target.alarm"]
	targets, err := m.instances(b)
	check(t, err)
	for _, each := range targets {
		state, severity := "ALARM", event.Warning
		if shown(each["each"].GetAttr("value").GetAttr("state")) == "ok" {
			state, severity = "OK", event.Info
		}
		given := map[string]string{"id": "3f2a", "time": "2026-03-03T10:00:00Z", "alarm": "prod-interlock-control-dlq", "state": state}
		var text string
		for _, inner := range b.Body.Blocks {
			if inner.Type != "input_transformer" {
				continue
			}
			text = m.text(t, inner, "input_template", each)
			v, err := m.eval(inner.Body.Attributes["input_paths"].Expr, each)
			check(t, err)
			for name := range v.AsValueMap() {
				text = strings.ReplaceAll(text, "<"+name+">", given[name])
			}
		}
		var e event.Event
		check(t, json.Unmarshal([]byte(text), &e))
		if want := (event.Alarm{Alarm: given["alarm"], State: state}); e.Type != event.InfraAlarm || e.ID != "3f2a" || e.Detail.Extra != want {
			t.Errorf("got %+v", e)
		}
		if e.Detail.Severity != severity || !e.Time.Equal(e.Detail.Timestamp) {
			t.Errorf("%s: got %+v", state, e)
		}
	}
}

// An alarm may be about the function that would put it on the bus, so its notification must not
// depend on that function.
func TestChangedAlarmGoesToTheBusAndPastIt(t *testing.T) {
	m := least(t)
	targets, err := m.instances(m.blocks["aws_cloudwatch_event_target.alarm"])
	check(t, err)
	var got []string
	for _, each := range targets {
		v := each["each"].GetAttr("value")
		got = append(got, shown(v.GetAttr("state"))+" "+shown(v.GetAttr("arn")))
	}
	var want []string
	for _, state := range []string{"alarm", "ok"} {
		for _, target := range []string{"<aws_lambda_alias.live.event-sink.arn>", "<aws_lambda_alias.live.stream-router.arn>", "<aws_sqs_queue.alerts.arn>"} {
			want = append(want, state+" "+target)
		}
	}
	if diff := cmp.Diff(want, sorted(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pattern := m.text(t, m.blocks["aws_cloudwatch_event_rule.alerts"], "event_pattern", nil); !strings.Contains(pattern, `"anything-but":["INFRA_ALARM"]`) {
		t.Errorf("alarms are listed twice: %s", pattern)
	}
	called, err := m.instances(m.blocks["aws_lambda_permission.rule"])
	check(t, err)
	var may []string
	for _, each := range called {
		v := each["each"].GetAttr("value")
		may = append(may, shown(v.GetAttr("function"))+" "+shown(v.GetAttr("rule")))
	}
	wantMay := []string{
		"event-sink <aws_cloudwatch_event_rule.alarms.alarm.arn>", "event-sink <aws_cloudwatch_event_rule.alarms.ok.arn>",
		"event-sink <aws_cloudwatch_event_rule.all.arn>", "stream-router <aws_cloudwatch_event_rule.alarms.alarm.arn>",
		"stream-router <aws_cloudwatch_event_rule.alarms.ok.arn>", "watchdog <aws_cloudwatch_event_rule.pulse.arn>",
		"watchdog <aws_cloudwatch_event_rule.watchdog.arn>",
	}
	if diff := cmp.Diff(wantMay, sorted(may)); diff != "" {
		t.Errorf("who may be called by which rule (-want +got):\n%s", diff)
	}
}
