package deploy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// state is the part of a state of the machine that these tests check.
type state struct {
	Type    string
	Next    string
	Default string
	Choices []struct{ Next string }
}

// bare matches a template variable that stands for a number.
var bare = regexp.MustCompile(`"\$\{[a-z_]+\}"|\$\{[a-z_]+\}`)

func states(t testing.TB) map[string]state {
	t.Helper()
	text := bare.ReplaceAllStringFunc(read(t, "deploy/statemachine.asl.json"), func(found string) string {
		if strings.HasPrefix(found, `"`) {
			return found
		}
		return "1"
	})
	var machine struct{ States map[string]state }
	check(t, json.Unmarshal([]byte(text), &machine))
	return machine.States
}

// The path of a run through the machine, and the additional path of each further poll.
var (
	shortest = strings.Fields(`InitEvalLoop Evaluate IsReady CheckSLA ScheduleSLAAlerts InitJobPollLoop WaitForJob CheckJob
		IsJobDone CheckCancelSLA CancelSLASchedules Done`)
	lookAtGate = strings.Fields("IsReady WaitInterval IncrementElapsed CheckWindowExhausted Evaluate IsReady")
	lookAtJob  = strings.Fields("IsJobDone WaitForJob CheckJob IsJobDone")
)

// walk follows a path through the machine and counts the function calls on it.
func walk(t *testing.T, machine map[string]state, way []string) (calls int) {
	t.Helper()
	for i, name := range way {
		s, there := machine[name]
		if !there {
			t.Errorf("there is no state %s", name)
		}
		if s.Type == "Task" {
			calls++
		}
		if i+1 == len(way) {
			continue
		}
		next := []string{s.Next, s.Default}
		for _, c := range s.Choices {
			next = append(next, c.Next)
		}
		if !slices.Contains(next, way[i+1]) {
			t.Errorf("%s does not lead to %s", name, way[i+1])
		}
	}
	return calls
}

func TestPriceOfARunIsWhatTheManualSays(t *testing.T) {
	machine, manual := states(t), read(t, "docs/AWS.md")
	once := walk(t, machine, shortest)
	gate, job := walk(t, machine, lookAtGate), walk(t, machine, lookAtJob)
	for what, n := range map[string][2]int{
		"gate open at once, job done at the first poll":                                       {0, 0},
		"the same, ten evaluations before the gate opens":                                     {10, 0},
		"gate open at once, ten-minute job polled every 30 s, durations known (5 more polls)": {0, 5},
		"the same, durations not known, or `learnPolls: false` (19 more polls)":               {0, 19},
	} {
		entered := len(shortest) + n[0]*(len(lookAtGate)-1) + n[1]*(len(lookAtJob)-1)
		line := fmt.Sprintf("| %s | %d,000 | %d,000 |", what, entered, once+n[0]*gate+n[1]*job)
		if !strings.Contains(manual, line) {
			t.Errorf("docs/AWS.md does not say: %s", line)
		}
	}
}

// phrases maps the phrases of the manual to permissions.
var phrases = map[string]string{
	"PutEvents": "events:PutEvents", "StartExecution": "states:StartExecution", "Invoke of the orchestrator": "lambda:InvokeFunction",
	"Create-, Update- and DeleteSchedule": "scheduler:CreateSchedule", "SendMessage": "sqs:SendMessage", "receives messages": "sqs:ReceiveMessage",
	"reads the streams": "dynamodb:GetRecords",
}

func TestManualSaysWhoMayDoWhat(t *testing.T) {
	m, manual := least(t), read(t, "docs/AWS.md")
	for _, f := range lambdas {
		_, rest, _ := strings.Cut(manual, "\n| "+string(f)+" | ")
		line, _, _ := strings.Cut(rest, "\n")
		granted := m.granted(t, string(f))
		for words, action := range phrases {
			if says, does := strings.Contains(line, words), may(granted, action); says != does {
				t.Errorf("%s, %s: docs/AWS.md says %t, and it is %t", f, words, says, does)
			}
		}
		for _, table := range dynamo.Tables() {
			says := strings.Contains(line, "reads and writes all four tables") || strings.Contains(line, "reads and writes "+table.Name)
			if does := may(granted, "dynamodb:PutItem", "aws_dynamodb_table."+table.Name+"."); says != does {
				t.Errorf("%s writes %s: docs/AWS.md says %t, and it is %t", f, table.Name, says, does)
			}
		}
	}
}
