package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// grant is a statement of a policy.
type grant struct {
	document, effect   string
	actions, resources []string
}

// keyPolicy is the policy of the key itself: "*" means that key.
const keyPolicy = "key"

// grants returns all statements of all policy documents.
func (m *module) grants(t testing.TB) []grant {
	t.Helper()
	var all []grant
	for name, b := range m.all("data.aws_iam_policy_document") {
		each, err := m.instances(b)
		check(t, err)
		for _, extra := range each {
			all = append(all, m.statements(t, name, b, extra)...)
		}
	}
	return all
}

func (m *module) statements(t testing.TB, name string, b *hclsyntax.Block, extra map[string]cty.Value) []grant {
	t.Helper()
	var all []grant
	for _, inner := range b.Body.Blocks {
		bodies := []generated{{inner.Body, extra}}
		if inner.Type == "dynamic" {
			bodies = m.dynamic(t, inner, extra)
		}
		for _, g := range bodies {
			all = append(all, m.statement(t, name, g))
		}
	}
	return all
}

func (m *module) statement(t testing.TB, name string, from generated) grant {
	t.Helper()
	list := func(attribute string) []string {
		a := from.body.Attributes[attribute]
		if a == nil {
			return nil // a trust policy, which has no resource
		}
		v, err := m.eval(a.Expr, from.extra)
		check(t, err)
		return texts(v)
	}
	return grant{document: name, effect: m.text(t, &hclsyntax.Block{Body: from.body}, "effect", from.extra), actions: list("actions"), resources: list("resources")}
}

// unnamed are actions, the first of their statements, on resources without a name that a policy
// could contain: network interfaces before they exist, traces, and an account's log deliveries.
var unnamed = map[string]bool{
	"ec2:AssignPrivateIpAddresses": true, "xray:PutTelemetryRecords": true, "xray:GetSamplingRules": true, "logs:CreateLogDelivery": true,
}

func TestNoPermissionIsForEverything(t *testing.T) {
	for _, g := range everything(t).grants(t) {
		for _, r := range g.resources {
			if r == "*" && g.document != keyPolicy && g.effect != "Deny" && !unnamed[g.actions[0]] {
				t.Errorf("%s: %v on everything", g.document, g.actions)
			}
			if strings.HasPrefix(r, "arn:") && strings.Contains(strings.Join(strings.SplitN(r, ":", 6)[:5], ":"), "*") {
				t.Errorf("%s: %v on %s, whose account, region or service may be any", g.document, g.actions, r)
			}
		}
		for _, a := range g.actions {
			if strings.Contains(a, "*") && g.effect != "Deny" && !(g.document == keyPolicy && a == "kms:*") {
				t.Errorf("%s: actions without their names: %s", g.document, a)
			}
		}
	}
}

// documents returns the policy documents that make up a function's policy.
func (m *module) documentsOf(t testing.TB, name string) []string {
	t.Helper()
	all := []string{name}
	a := m.blocks["data.aws_iam_policy_document."+name].Body.Attributes["source_policy_documents"]
	if a == nil {
		return all
	}
	for _, path := range a.Expr.Variables() {
		if path.RootName() == "data" {
			all = append(all, m.documentsOf(t, stepsOf(path)[1])...)
		}
	}
	return all
}

// granted returns a function's permissions: action and resource, one per line.
func (m *module) granted(t testing.TB, of string) []string {
	t.Helper()
	documents := m.documentsOf(t, strings.ReplaceAll(of, "-", "_"))
	var all []string
	for _, g := range m.grants(t) {
		if !slices.Contains(documents, g.document) {
			continue
		}
		for _, a := range g.actions {
			for _, r := range g.resources {
				all = append(all, a+" "+r)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// services are the modules of the SDK, by the prefix of their permissions.
var services = map[string]string{
	"dynamodb": "dynamodb", "eventbridge": "events", "scheduler": "scheduler", "sfn": "states", "lambda": "lambda", "secretsmanager": "secretsmanager", "sqs": "sqs",
	"glue": "glue", "emr": "elasticmapreduce", "emrserverless": "emr-serverless", "cloudwatchlogs": "logs",
}

// permission maps SDK calls to permissions with another name.
var permission = map[string][]string{
	"lambda:Invoke": {"lambda:InvokeFunction"},
	"dynamodb:TransactWriteItems": {
		"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem",
	},
	"scheduler:CreateSchedule": {"scheduler:CreateSchedule", "iam:PassRole"},
}

// may reports whether one of the permissions allows that action on a resource that contains all
// words.
func may(granted []string, action string, words ...string) bool {
	return slices.ContainsFunc(granted, func(line string) bool {
		what, resource, _ := strings.Cut(line, " ")
		return what == action && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(resource, w) })
	})
}

// A function with one purpose has access to one table only. awslambdatest shows that this is
// enough: it gives the functions no other.
func TestFunctionsThatDoOneThingHaveOneTable(t *testing.T) {
	m := everything(t)
	for name, own := range map[string]string{"event-sink": dynamo.Events, "alert-dispatcher": dynamo.Events, "sla-monitor": dynamo.Control} {
		for _, line := range m.granted(t, name) {
			if strings.Contains(line, "aws_dynamodb_table.") && !strings.Contains(line, "aws_dynamodb_table."+own+".") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// The event-sink appends: it reads the position of the last event, or whether one exists, and
// deletes nothing.
func TestEventSinkOnlyAppends(t *testing.T) {
	var got []string
	for _, line := range everything(t).granted(t, "event-sink") {
		if action, resource, _ := strings.Cut(line, " "); strings.HasPrefix(action, "dynamodb:") {
			got = append(got, action+" "+resource)
		}
	}
	want := []string{
		"dynamodb:GetItem <aws_dynamodb_table.events.arn>", "dynamodb:PutItem <aws_dynamodb_table.events.arn>",
		"dynamodb:UpdateItem <aws_dynamodb_table.events.arn>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Events and the notes about alerts are in different partitions of one table. The tests of the
// functions show that these are enough.
func TestFunctionsHaveTheirPartitionsOfTheEventsTable(t *testing.T) {
	m := everything(t)
	for f, want := range awslambdatest.Partitions {
		var got [][]string
		for _, b := range blocksOf(m.blocks["data.aws_iam_policy_document."+strings.ReplaceAll(string(f), "-", "_")].Body, "statement") {
			for _, c := range blocksOf(b.Body, "condition") {
				if m.text(t, c, "variable", nil) == "dynamodb:LeadingKeys" {
					v, err := m.eval(c.Body.Attributes["values"].Expr, nil)
					check(t, err)
					got = append(got, texts(v))
				}
			}
		}
		if diff := cmp.Diff([][]string{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
}

func TestOnlyTheOrchestratorStartsJobs(t *testing.T) {
	m := everything(t)
	for _, name := range []string{"stream-router", "sla-monitor", "watchdog", "event-sink", "alert-dispatcher"} {
		for _, line := range m.granted(t, name) {
			if strings.Contains(line, " arn:aws:") && !strings.Contains(line, ":secret:") && !strings.HasPrefix(line, "kms:Decrypt ") {
				t.Errorf("%s may: %s", name, line)
			}
		}
	}
}

func TestJobsNeedToBeAllowed(t *testing.T) {
	given := map[string]cty.Value{}
	m := everything(t)
	for name, v := range m.given {
		if !strings.HasPrefix(name, "enable_") {
			given[name] = v
		}
	}
	v, err := parse(t, terraformDir, given).eval(m.blocks["data.aws_iam_policy_document.orchestrator"].Body.Attributes["source_policy_documents"].Expr, nil)
	check(t, err)
	if n := v.LengthInt(); n != 3 {
		t.Errorf("%d documents with no job type allowed: %s", n, texts(v))
	}
	v, err = m.eval(m.blocks["data.aws_iam_policy_document.orchestrator"].Body.Attributes["source_policy_documents"].Expr, nil)
	check(t, err)
	if n := v.LengthInt(); n != 3+len(triggers) {
		t.Errorf("%d documents with all job types allowed: %s", n, texts(v))
	}
}
