package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// openEnded matches resources whose last part has no name yet when Terraform runs: the streams of a
// log group, what the functions create, versions of functions, and the streams that a table gets.
var openEnded = regexp.MustCompile(`:log-group:.*:\*$|:schedule/test-interlock/\*$|/jobruns/\*$|:execution:.*:\*$|:function:clean:\*$|\.arn>/stream/\*$`)

func TestResourcesAreNamed(t *testing.T) {
	m := everything(t)
	callers := append(texts(m.given["job_secret_arns"]), texts(m.given["job_parameter_arns"])...)
	for _, g := range m.grants(t) {
		for _, r := range g.resources {
			if r != "*" && strings.Contains(r, "*") && !slices.Contains(callers, r) && !openEnded.MatchString(r) {
				t.Errorf("%s: %v on %s, which has a name", g.document, g.actions, r)
			}
		}
	}
}

func TestIndexesThatFunctionsReadAreThoseOfTheTables(t *testing.T) {
	m := least(t)
	listed, err := m.local("indexes")
	check(t, err)
	for name, b := range m.all("aws_dynamodb_table") {
		var want []string
		for _, kind := range []string{"local_secondary_index", "global_secondary_index"} {
			for _, index := range blocksOf(b.Body, kind) {
				want = append(want, m.text(t, index, "name", nil))
			}
		}
		if diff := cmp.Diff(sorted(want), texts(listed.GetAttr(name))); diff != "" {
			t.Errorf("local.indexes of %s (-want +got):\n%s", name, diff)
		}
	}
}

// Another account's rule could otherwise invoke a function through EventBridge.
func TestInvokePermissionsNameTheirRule(t *testing.T) {
	m := everything(t)
	n := 0
	for name, b := range m.all("aws_lambda_permission") {
		all, err := m.instances(b)
		check(t, err)
		for _, each := range all {
			n++
			source := m.text(t, b, "source_arn", each)
			if principal := m.text(t, b, "principal", each); principal != "events.amazonaws.com" || !strings.HasPrefix(source, "<aws_cloudwatch_event_rule.") && source != "<unknown>" {
				t.Errorf("%s: %s may invoke for %q", name, principal, source)
			}
		}
		if !slices.Contains(needs(b.Body.Attributes["qualifier"].Expr), "aws_lambda_alias.live") {
			t.Errorf("%s allows more than the alias live", name)
		}
	}
	if n < 8 {
		t.Errorf("only %d permissions", n)
	}
}

// Each service assumes its role only for Interlock's own resource. Lambda has no such condition.
func TestRolesAreAssumedForTheirResource(t *testing.T) {
	m := least(t)
	b := m.blocks["data.aws_iam_policy_document.assume"]
	all, err := m.instances(b)
	check(t, err)
	for _, each := range all {
		var conditions []string
		for _, inner := range blocksOf(blocksOf(b.Body, "statement")[0].Body, "dynamic") {
			for _, g := range m.dynamic(t, inner, each) {
				conditions = append(conditions, m.text(t, &hclsyntax.Block{Body: g.body}, "variable", g.extra))
			}
		}
		want := []string{"aws:SourceArn", "aws:SourceAccount"}
		if service := shown(each["each"].GetAttr("key")); service != "lambda" && !slices.Equal(conditions, want) {
			t.Errorf("%s: conditions on %v, want %v", service, conditions, want)
		}
	}
}
