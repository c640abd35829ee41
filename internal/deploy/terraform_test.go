package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

const terraformDir = "deploy/terraform"

func arns(list ...string) cty.Value {
	var all []cty.Value
	for _, arn := range list {
		all = append(all, cty.StringVal(arn))
	}
	return cty.ListVal(all)
}

// everything is the module with all options turned on.
func everything(t testing.TB) *module {
	t.Helper()
	example, err := filepath.Abs(filepath.Join(root, "examples", "aws"))
	check(t, err)
	given := map[string]cty.Value{
		"environment": cty.StringVal("test"), "dist_path": cty.StringVal("dist"),
		"pipelines_path": cty.StringVal(filepath.Join(example, "pipelines")), "calendars_path": cty.StringVal(filepath.Join(example, "calendars")),
		"sources_path": cty.StringVal(filepath.Join(example, "sources")),
		"source_events": cty.MapVal(map[string]cty.Value{"landing": cty.ObjectVal(map[string]cty.Value{
			"pattern": cty.StringVal(`{"source":["aws.s3"]}`), "event_bus_name": cty.StringVal("files"),
		})}),
		"glue_job_arns":                      arns("arn:aws:glue:eu-central-1:1:job/orders"),
		"emr_cluster_arns":                   arns("arn:aws:elasticmapreduce:eu-central-1:1:cluster/j-1"),
		"emr_serverless_application_arns":    arns("arn:aws:emr-serverless:eu-central-1:1:/applications/a"),
		"emr_serverless_execution_role_arns": arns("arn:aws:iam::1:role/spark"),
		"sfn_trigger_arns":                   arns("arn:aws:states:eu-central-1:1:stateMachine:nightly"),
		"lambda_trigger_arns":                arns("arn:aws:lambda:eu-central-1:1:function:clean"),
		"slack_secret_arn":                   cty.StringVal("arn:aws:secretsmanager:eu-central-1:1:secret:slack"),
		"slack_channel_id":                   cty.StringVal("C1"),
		"job_environment":                    cty.MapVal(map[string]cty.Value{"JOBS_TOKEN": cty.StringVal("sesame")}),
		"egress_allow":                       arns("10.0.0.0/8"),
		"permissions_boundary_arn":           cty.StringVal("arn:aws:iam::1:policy/boundary"),
		"job_secret_arns":                    arns("arn:aws:secretsmanager:eu-central-1:1:secret:jobs-*"),
		"job_parameter_arns":                 arns("arn:aws:ssm:eu-central-1:1:parameter/jobs/token"),
		"job_secret_kms_key_arns":            arns("arn:aws:kms:eu-central-1:1:key/2"),
		"heartbeat_url":                      cty.StringVal("https://beats.example/1"),
		"xray_tracing":                       cty.True,
		"reserved_concurrency":               cty.MapVal(map[string]cty.Value{"event-sink": cty.NumberIntVal(20)}),
		"vpc_config": cty.MapVal(map[string]cty.Value{"orchestrator": cty.ObjectVal(map[string]cty.Value{
			"subnet_ids": arns("subnet-1"), "security_group_ids": arns("sg-1"),
		})}),
		"enable_command_trigger":   cty.True,
		"slack_secret_kms_key_arn": cty.StringVal("arn:aws:kms:eu-central-1:1:key/3"),
		"sns_alarm_topic_arn":      cty.StringVal("arn:aws:sns:eu-central-1:1:alarms"),
	}
	for _, kind := range triggers {
		given["enable_"+kind+"_trigger"] = cty.True
	}
	return parse(t, terraformDir, given)
}

// triggers are the job types that need permissions.
var triggers = []string{"glue", "emr", "emr_serverless", "sfn", "lambda"}

// least is the module with only its required variables.
func least(t testing.TB) *module {
	t.Helper()
	return parse(t, terraformDir, map[string]cty.Value{"environment": cty.StringVal("test"), "dist_path": cty.StringVal("dist"), "alarms": cty.StringVal("none")})
}

func TestEveryExpressionOfTheModuleHasAValue(t *testing.T) {
	for name, m := range map[string]*module{"with everything": everything(t), "with nothing": least(t)} {
		t.Run(name, func(t *testing.T) {
			for local := range m.locals {
				if _, err := m.local(local); err != nil {
					t.Errorf("local.%s: %v", local, err)
				}
			}
			for address, b := range m.blocks {
				if address == "terraform" || strings.HasPrefix(address, "var.") || strings.HasPrefix(address, "output.") {
					continue
				}
				all, err := m.instances(b)
				if err != nil {
					t.Errorf("%s: %v", address, err)
				}
				for _, each := range all {
					m.evalAll(t, address, b.Body, each)
				}
			}
		})
	}
}

// evalAll evaluates every attribute of a block and of those inside.
func (m *module) evalAll(t *testing.T, address string, body *hclsyntax.Body, extra map[string]cty.Value) {
	t.Helper()
	for name, a := range body.Attributes {
		if name == "depends_on" || name == "for_each" || name == "when" { // of a provisioner
			continue
		}
		if _, err := m.eval(a.Expr, extra); err != nil {
			t.Errorf("%s: %s: %v", address, name, err)
		}
	}
	for _, b := range body.Blocks {
		if b.Type != "dynamic" {
			m.evalAll(t, address+" "+b.Type, b.Body, extra)
			continue
		}
		for _, inner := range m.dynamic(t, b, extra) {
			m.evalAll(t, address+" "+b.Labels[0], inner.body, inner.extra)
		}
	}
}

// generated is a block of a dynamic block.
type generated struct {
	body  *hclsyntax.Body
	extra map[string]cty.Value
}

func (m *module) dynamic(t testing.TB, b *hclsyntax.Block, extra map[string]cty.Value) []generated {
	t.Helper()
	over, err := m.eval(b.Body.Attributes["for_each"].Expr, extra)
	check(t, err)
	var all []generated
	for it := over.ElementIterator(); it.Next(); {
		_, value := it.Element()
		scope := maps.Clone(extra)
		if scope == nil {
			scope = map[string]cty.Value{}
		}
		scope[b.Labels[0]] = cty.ObjectVal(map[string]cty.Value{"value": value})
		all = append(all, generated{b.Body.Blocks[0].Body, scope})
	}
	return all
}

func TestModulesAreFormatted(t *testing.T) {
	for _, dir := range []string{terraformDir, "examples/aws"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.tf"))
		check(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			check(t, err)
			if diff := cmp.Diff(string(hclwrite.Format(text)), string(text)); diff != "" {
				t.Errorf("%s: run terraform fmt (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestVariablesHaveTheirDefaults(t *testing.T) {
	m := least(t)
	want := map[string]string{
		"lambda_memory_size": "128", "log_retention_days": "14", "watchdog_schedule": "rate(5 minutes)", "sfn_timeout_seconds": "14400",
		"trigger_max_attempts": "3", "events_ttl_days": "90", "kms_key_arn": "<null>", "sns_alarm_topic_arn": "<null>",
		"enable_command_trigger": "false", "pipelines_path": "<null>", "calendars_path": "<null>", "slack_channel_id": "<null>", "slack_secret_arn": "<null>", "slack_bot_token": "<null>",
	}
	for _, kind := range triggers {
		want["enable_"+kind+"_trigger"] = "false"
	}
	for name, value := range want {
		v, err := m.variable(name)
		check(t, err)
		if shown(v) != value {
			t.Errorf("%s is %s, want %s", name, shown(v), value)
		}
	}
	for name, b := range m.all("var") {
		if m.text(t, b, "description", nil) == "" {
			t.Errorf("%s has no description", name)
		}
	}
	for _, name := range []string{"environment", "dist_path"} {
		if m.blocks["var."+name].Body.Attributes["default"] != nil {
			t.Errorf("%s has a default", name)
		}
	}
}

// holds reports whether all conditions of a variable hold.
func (m *module) holds(t testing.TB, name string) bool {
	t.Helper()
	fine := true
	for _, b := range m.blocks["var."+name].Body.Blocks {
		if b.Type != "validation" {
			continue
		}
		v, err := m.eval(b.Body.Attributes["condition"].Expr, nil)
		check(t, err)
		fine = fine && v.True()
	}
	return fine
}

func TestTriggerNeedsAListOfWhatItMayStart(t *testing.T) {
	for list, enable := range map[string]string{
		"glue_job_arns": "glue", "emr_cluster_arns": "emr", "emr_serverless_application_arns": "emr_serverless",
		"emr_serverless_execution_role_arns": "emr_serverless", "sfn_trigger_arns": "sfn", "lambda_trigger_arns": "lambda",
	} {
		on := parse(t, terraformDir, map[string]cty.Value{"enable_" + enable + "_trigger": cty.True})
		if on.holds(t, list) {
			t.Errorf("enable_%s_trigger is taken without %s", enable, list)
		}
		if !least(t).holds(t, list) || !everything(t).holds(t, list) {
			t.Errorf("%s is refused though it is in order", list)
		}
	}
}

func TestVariablesRefuseWhatMakesNoSense(t *testing.T) {
	for name, bad := range map[string][]cty.Value{
		"environment":          {cty.StringVal("Prod"), cty.StringVal(""), cty.StringVal("a-very-long-environment")},
		"watchdog_schedule":    {cty.StringVal("cron(0 * * * ? *)"), cty.StringVal("rate(5 days)"), cty.StringVal("rate(0 minutes)"), cty.StringVal("rate(1 hours)")},
		"sfn_timeout_seconds":  {cty.NumberIntVal(300), cty.NumberFloatVal(1000.5), cty.NumberIntVal(31536001)},
		"trigger_max_attempts": {cty.NumberIntVal(0)},
		"events_ttl_days":      {cty.NumberIntVal(0)},
	} {
		if !least(t).holds(t, name) {
			t.Errorf("%s is refused as it is", name)
		}
		for _, v := range bad {
			if parse(t, terraformDir, map[string]cty.Value{name: v}).holds(t, name) {
				t.Errorf("%s may be %s", name, shown(v))
			}
		}
	}
}

// placeholder matches a variable of a Terraform template.
var placeholder = regexp.MustCompile(`\$\{([a-z_]+)\}`)

func TestStateMachineGetsItsVariables(t *testing.T) {
	m := least(t)
	call := m.blocks["aws_sfn_state_machine.pipeline"].Body.Attributes["definition"].Expr.(*hclsyntax.FunctionCallExpr)
	var given []string
	for _, item := range call.Args[1].(*hclsyntax.ObjectConsExpr).Items {
		v, err := m.eval(item.KeyExpr, nil)
		check(t, err)
		given = append(given, shown(v))
	}
	var used []string
	for _, found := range placeholder.FindAllStringSubmatch(read(t, "deploy/statemachine.asl.json"), -1) {
		used = append(used, found[1])
	}
	slices.Sort(used)
	if diff := cmp.Diff(sorted(given), slices.Compact(used)); diff != "" {
		t.Errorf("(-given +used):\n%s", diff)
	}
}

func TestConfigRowsBearThePipelinesID(t *testing.T) {
	m := everything(t)
	b := m.blocks["aws_dynamodb_table_item.file"]
	all, err := m.instances(b)
	check(t, err)
	got := map[string]map[string]string{}
	for _, each := range all {
		var row map[string]map[string]string
		check(t, json.Unmarshal([]byte(m.text(t, b, "item", each)), &row))
		got[row["PK"]["S"]] = map[string]string{"SK": row["SK"]["S"], "list": row["list"]["S"], "place": row["place"]["S"], "config": row["config"]["S"]}
	}
	row := func(key, file string) map[string]string {
		return map[string]string{"SK": "CONFIG", "list": "FILE", "place": key, "config": read(t, file)}
	}
	want := map[string]map[string]string{
		"PIPELINE#orders":   row("PIPELINE#orders", "examples/aws/pipelines/orders.yaml"),
		"CALENDAR#holidays": row("CALENDAR#holidays", "examples/aws/calendars/holidays.yaml"),
		"SOURCE#rates":      row("SOURCE#rates", "examples/aws/sources/rates.yaml"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExampleGivesTheModuleWhatItTakes(t *testing.T) {
	example, m := parse(t, "examples/aws", nil), least(t)
	for name := range example.blocks["module.interlock"].Body.Attributes {
		if name != "source" && m.blocks["var."+name] == nil {
			t.Errorf("the module has no variable %s", name)
		}
	}
	for _, name := range []string{"environment", "dist_path"} {
		if example.blocks["module.interlock"].Body.Attributes[name] == nil {
			t.Errorf("the module is not given %s", name)
		}
	}
	for address, b := range example.all("output") {
		for _, path := range b.Body.Attributes["value"].Expr.Variables() {
			if steps := stepsOf(path); path.RootName() == "module" && m.blocks["output."+steps[1]] == nil {
				t.Errorf("%s: the module has no output %s", address, steps[1])
			}
		}
	}
}
