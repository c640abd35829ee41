package awslambda_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/lifecycle"
	"github.com/interlock-go/interlock/internal/run"
)

// state is the part of a state that the tests check.
type state struct {
	Type, Resource, Next, Default string
	ResultPath                    string
	Parameters                    map[string]any
	Choices                       []json.RawMessage
	Retry                         []struct {
		ErrorEquals                  []string
		IntervalSeconds, MaxAttempts int
		BackoffRate                  float64
	}
	Catch []struct {
		ErrorEquals []string
		Next        string
	}
}

type definition struct {
	StartAt        string
	TimeoutSeconds int
	States         map[string]state
}

const (
	testTimeout = 7200
	testTries   = 5
)

func machine(t *testing.T) (definition, []byte) {
	t.Helper()
	text := awslambdatest.Definition(t, "statemachine.asl.json", testTimeout, testTries)
	var d definition
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d, text
}

func TestStateMachineIsValid(t *testing.T) {
	_, text := machine(t)
	awslambdatest.Validate(t, text)
}

func TestStateMachineHasTheDocumentedStates(t *testing.T) {
	d, _ := machine(t)
	for _, name := range strings.Fields(`InitEvalLoop Evaluate IsReady WaitInterval IncrementElapsed CheckWindowExhausted ValidationExhausted
		Trigger HasTriggerResult CheckSLA ScheduleSLAAlerts InitJobPollLoop WaitForJob CheckJob IsJobDone IncrementJobPollElapsed
		CheckJobPollExhausted JobPollExhausted InjectTimeoutEvent CompleteTrigger CheckCancelSLA CancelSLASchedules InfraFailure Done`) {
		if _, there := d.States[name]; !there {
			t.Errorf("there is no state %s", name)
		}
	}
}

func TestTimeLimitAndRetriesComeFromVariables(t *testing.T) {
	d, _ := machine(t)
	if d.TimeoutSeconds != testTimeout {
		t.Errorf("the time limit is %d, want %d", d.TimeoutSeconds, testTimeout)
	}
	trigger := d.States["Trigger"].Retry
	if last := trigger[len(trigger)-1]; last.MaxAttempts != testTries || last.IntervalSeconds != 30 || last.BackoffRate != 2 {
		t.Errorf("a start is repeated as %+v", last)
	}
}

// fields returns the JSON names of a type's fields, and whether each is always present.
func fields(v any) map[string]bool {
	all := map[string]bool{}
	kind := reflect.TypeOf(v)
	for i := range kind.NumField() {
		name, options, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		all[name] = options == ""
	}
	return all
}

// paths matches the data paths that the machine reads.
var paths = regexp.MustCompile(`\$\.[A-Za-z.]+`)

func TestEveryPathReadIsInTheReplies(t *testing.T) {
	_, text := machine(t)
	known := map[string]bool{"$.loop": true, "$.loop.turns": true, "$.step": true, "$.error": true, "$.slaEntries": true, "$.recorded": true}
	for prefix, v := range map[string]any{"$.": awslambda.ExecutionInput{}, "$.step.": awslambda.OrchestratorReply{}, "$.error.": awslambda.Failure{}} {
		for name, always := range fields(v) {
			known[prefix+name] = always
		}
	}
	for _, path := range paths.FindAllString(string(text), -1) {
		if !known[path] {
			t.Errorf("%s is not in every reply", path)
		}
	}
}

func TestEveryCallIsValidForItsFunction(t *testing.T) {
	d, _ := machine(t)
	modes := map[string]bool{awslambda.ScheduleAlerts: true, awslambda.CancelAlerts: true}
	for _, kind := range []lifecycle.Kind{
		lifecycle.Evaluate, lifecycle.Trigger, lifecycle.CheckJob, lifecycle.ValidationExhausted,
		lifecycle.JobPollExhausted, lifecycle.CompleteTrigger, lifecycle.InfraFailure,
	} {
		modes[string(kind)] = true
	}
	for name, s := range d.States {
		if s.Type != "Task" {
			continue
		}
		takes := fields(awslambda.OrchestratorRequest{})
		if strings.Contains(s.Resource, "sla-monitor") {
			takes = fields(awslambda.SLARequest{})
		}
		for p := range s.Parameters {
			if _, is := takes[strings.TrimSuffix(p, ".$")]; !is {
				t.Errorf("%s passes its function the unknown field %s", name, p)
			}
		}
		if mode, _ := s.Parameters["mode"].(string); !modes[mode] {
			t.Errorf("%s uses the unknown mode %q", name, mode)
		}
	}
}

// compared matches the value that a Choice compares a variable with.
var compared = regexp.MustCompile(`"Variable":\s*"(\$\.step\.[a-z]+)",\s*"StringEquals":\s*"([^"]+)"`)

func TestChoicesCompareOnlyWithPossibleValues(t *testing.T) {
	_, text := machine(t)
	values := map[string][]string{"$.step.event": {"none"}, "$.step.next": {string(lifecycle.None), string(lifecycle.ValidationExhausted), string(lifecycle.JobPollExhausted), string(lifecycle.Wait)}}
	for _, s := range run.Statuses() {
		values["$.step.status"] = append(values["$.step.status"], string(s))
	}
	found := compared.FindAllSubmatch(text, -1)
	if len(found) < 10 {
		t.Fatalf("found %d comparisons", len(found))
	}
	for _, m := range found {
		if !slices.Contains(values[string(m[1])], string(m[2])) {
			t.Errorf("%s is never %q", m[1], m[2])
		}
	}
}

func TestNoFailureOfATaskIsSilent(t *testing.T) {
	d, _ := machine(t)
	records := map[string]bool{"RecordFailure": true, "RecordSLAFailure": true}
	for name, s := range d.States {
		if s.Type != "Task" {
			continue
		}
		if len(s.Catch) != 1 || !slices.Equal(s.Catch[0].ErrorEquals, []string{"States.ALL"}) {
			t.Errorf("%s does not catch every failure: %+v", name, s.Catch)
			continue
		}
		// If recording a failure fails too, the execution ends as failed, and an alarm fires. A
		// schedule that cannot be deleted finds nothing to do; the function's own alarm fires.
		if to := s.Catch[0].Next; !records[to] && name != "CancelSLASchedules" && (!records[name] || d.States[to].Type != "Fail") {
			t.Errorf("a failure of %s leads to %s, which records nothing", name, to)
		}
		i := slices.IndexFunc(s.Retry, func(r struct {
			ErrorEquals                  []string
			IntervalSeconds, MaxAttempts int
			BackoffRate                  float64
		},
		) bool {
			return slices.Contains(r.ErrorEquals, "Lambda.ServiceException")
		})
		if i < 0 || s.Retry[i].IntervalSeconds != 2 || s.Retry[i].MaxAttempts != 3 || s.Retry[i].BackoffRate != 2 {
			t.Errorf("%s does not repeat a failure of the service as it should: %+v", name, s.Retry)
		}
	}
}

// follows returns the states that a state leads to.
func follows(t *testing.T, s state) []string {
	t.Helper()
	all := []string{s.Next, s.Default}
	for _, c := range s.Catch {
		all = append(all, c.Next)
	}
	for _, text := range s.Choices {
		var c struct{ Next string }
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Next)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// A poll that finds the job running leads to the next one without being counted: polls are at least a
// thousandth of the poll window apart.
func TestEveryOtherLoopIsCounted(t *testing.T) {
	d, _ := machine(t)
	counts := map[string]bool{"IncrementElapsed": true, "IncrementJobPollElapsed": true}
	done := d.States["IsJobDone"]
	done.Choices = slices.DeleteFunc(done.Choices, func(c json.RawMessage) bool {
		text := string(c)
		return strings.Contains(text, `"WaitForJob"`) && strings.Contains(text, `"wait"`)
	})
	d.States["IsJobDone"] = done
	var walk func(name string, path []string)
	walk = func(name string, path []string) {
		if counts[name] {
			return
		}
		if slices.Contains(path, name) {
			t.Errorf("a loop without a counter: %s", strings.Join(append(path, name), " → "))
			return
		}
		for _, next := range follows(t, d.States[name]) {
			walk(next, append(slices.Clip(path), name))
		}
	}
	walk(d.StartAt, nil)
	for name := range counts {
		for _, next := range follows(t, d.States[name]) {
			walk(next, nil)
			if !strings.Contains(string(slices.Concat(d.States[next].Choices...)), `"NumericGreaterThanEquals"`) {
				t.Errorf("%s is followed by %s, which checks no limit", name, next)
			}
		}
	}
}

// Entering and leaving a state adds two events to the history, and a call adds three more.
func TestHistoryStaysBelowItsLimit(t *testing.T) {
	const limit = 25_000
	d, text := machine(t)
	turns := limitOf(t, text, "NumericGreaterThanEquals", 2)
	beforePolls := limitOf(t, text, "NumericGreaterThan", 1)
	weight := func(names ...string) (events int) {
		for _, name := range names {
			events += 2
			if d.States[name].Type == "Task" {
				events += 3
			}
		}
		return events
	}
	refused := weight("Trigger", "HasTriggerResult", "WaitToStart", "IncrementElapsed", "CheckWindowExhausted")
	turn := max(
		weight("Evaluate", "IsReady", "WaitInterval", "IncrementElapsed", "CheckWindowExhausted"), refused,
		(weight("Evaluate", "IsReady")+2*refused+1)/2, // a gate that closes again whenever a rejected start is to be repeated
		weight("CheckJob", "IsJobDone", "IncrementJobPollElapsed", "CheckJobPollExhausted", "WaitForJob"),
	)
	once := weight(slices.Collect(maps.Keys(d.States))...)
	polls := awslambda.MaxTurns * weight("CheckJob", "IsJobDone", "WaitForJob")
	for what, all := range map[string]int{"its turns": turns * turn, "its turns and then its polls": beforePolls*turn + polls} {
		if all += once; all > limit*19/20 {
			t.Errorf("%s make %d events, more than the limit of %d minus room for retries", what, all, limit)
		}
	}
	for name, s := range d.States {
		if slices.Contains(follows(t, s), "InitJobPollLoop") && !slices.Contains([]string{"CheckSLA", "ScheduleSLAAlerts", "RecordSLAFailure"}, name) {
			t.Errorf("%s leads to the polls past CheckSLA, which limits the turns before them", name)
		}
	}
}

// limitOf returns the number that a comparison has in all of its so many places.
func limitOf(t *testing.T, text []byte, comparison string, places int) (limit int) {
	t.Helper()
	m := regexp.MustCompile(`"`+comparison+`":\s*(\d+)`).FindAllSubmatch(text, -1)
	if len(m) != places || string(m[0][1]) != string(m[places-1][1]) {
		t.Fatalf("%s: the limits are %q", comparison, m)
	}
	if err := json.Unmarshal(m[0][1], &limit); err != nil {
		t.Fatal(err)
	}
	return limit
}

func TestEveryStateLeadsToAnEnd(t *testing.T) {
	d, _ := machine(t)
	ends := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name, s := range d.States {
			if ends[name] {
				continue
			}
			if s.Type == "Succeed" || s.Type == "Fail" || slices.ContainsFunc(follows(t, s), func(n string) bool { return ends[n] }) {
				ends[name], changed = true, true
			}
		}
	}
	for name := range d.States {
		if !ends[name] {
			t.Errorf("%s leads to no end", name)
		}
	}
}
