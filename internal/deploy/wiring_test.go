package deploy

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// lambdas are the six functions.
var lambdas = []awslambda.Function{
	awslambda.AlertDispatcher, awslambda.EventSink, awslambda.Orchestrator, awslambda.SLAMonitor, awslambda.StreamRouter, awslambda.Watchdog,
}

func TestFunctionsAreTheSameEverywhere(t *testing.T) {
	var want, programs []string
	for _, f := range lambdas {
		want = append(want, string(f))
	}
	entries, err := os.ReadDir(filepath.Join(root, "cmd", "lambda"))
	check(t, err)
	for _, e := range entries {
		programs = append(programs, e.Name())
	}
	if diff := cmp.Diff(want, programs); diff != "" {
		t.Errorf("cmd/lambda (-want +got):\n%s", diff)
	}
	m := least(t)
	deployed, err := m.local("functions")
	check(t, err)
	for name := range deployed.AsValueMap() {
		if !slices.Contains(want, name) {
			t.Errorf("Terraform deploys %s", name)
		}
	}
	if n := deployed.LengthInt(); n != len(want) {
		t.Errorf("Terraform deploys %d functions", n)
	}
	_, list, _ := strings.Cut(read(t, "deploy/build.sh"), "|| set -- ")
	list, _, _ = strings.Cut(list, "\n")
	if diff := cmp.Diff(want, sorted(strings.Fields(list))); diff != "" {
		t.Errorf("build.sh (-want +got):\n%s", diff)
	}
}

// environment returns the environment variables of a function.
func (m *module) environment(t testing.TB, of awslambda.Function) map[string]string {
	t.Helper()
	b := m.blocks["aws_lambda_function.this"]
	all, err := m.instances(b)
	check(t, err)
	given := map[string]string{}
	for _, each := range all {
		if shown(each["each"].GetAttr("key")) != string(of) {
			continue
		}
		inner := b.Body.Blocks[slices.IndexFunc(b.Body.Blocks, func(x *hclsyntax.Block) bool { return x.Type == "environment" })]
		v, err := m.eval(inner.Body.Attributes["variables"].Expr, each)
		check(t, err)
		for name, value := range v.AsValueMap() {
			given[name] = shown(value)
		}
	}
	return given
}

func TestFunctionsUnderstandTheirEnvironment(t *testing.T) {
	known := read(t, "internal/awslambda/settings.go")
	for _, m := range []*module{everything(t), least(t)} {
		for _, f := range lambdas {
			given := m.environment(t, f)
			s, err := awslambda.Read(f, func(name string) string { return given[name] })
			if err != nil {
				t.Error(err)
			}
			if s.Environment != "test" {
				t.Errorf("%s works in the environment %q", f, s.Environment)
			}
			if given["GOMEMLIMIT"] != "108MiB" { // of 128
				t.Errorf("%s may use %s", f, given["GOMEMLIMIT"])
			}
			for name := range given {
				if !strings.Contains(known, strconv.Quote(name)) && name != "JOBS_TOKEN" && name != "GOMEMLIMIT" {
					t.Errorf("%s is given %s, which no code reads", f, name)
				}
			}
		}
	}
}

// reached collects the constructors of package awscall that a function uses, directly or
// indirectly, as "awscall.NewBus".
func reached(t testing.TB, dir, name string, seen map[string]bool) {
	t.Helper()
	here := dir + "." + name
	if seen[here] {
		return
	}
	seen[here] = true
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	check(t, err)
	for _, file := range names {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		check(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Name.Name != name {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if from, ok := n.X.(*ast.Ident); ok {
						if target := imported(parsed, from.Name); target != "" {
							reached(t, target, n.Sel.Name, seen)
						}
					}
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.Ident); ok {
						reached(t, dir, called.Name, seen)
					}
				}
				return true
			})
		}
	}
}

const ours = "github.com/interlock-go/interlock/"

// imported returns the folder of the package that a file imports under a name.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value) // the parser has validated it
		if dir, ok := strings.CutPrefix(target, ours); ok && path.Base(dir) == name && strings.HasPrefix(dir, "internal/awslambda/") {
			return dir
		}
	}
	return ""
}

// clients maps constructors to the files of the AWS clients.
var clients = map[string]string{
	"internal/awslambda/awscall.NewBus":        "internal/awslambda/awscall/bus.go",
	"internal/awslambda/awscall.NewEntries":    "internal/awslambda/awscall/entry.go",
	"internal/awslambda/awscall.NewExecutions": "internal/awslambda/awscall/execution.go",
	"internal/awslambda/awscall.NewInvoker":    "internal/awslambda/awscall/invoke.go",
	"internal/awslambda/awscall.NewQueue":      "internal/awslambda/awscall/queue.go",
	"internal/awslambda/awscall.Token":         "internal/awslambda/awscall/secret.go",
}

func TestFunctionsMayDoWhatTheyCall(t *testing.T) {
	m := everything(t)
	for _, f := range lambdas {
		granted := m.granted(t, string(f))
		seen := map[string]bool{}
		reached(t, "cmd/lambda/"+string(f), "main", seen)
		called := map[string]bool{}
		for constructor, file := range clients {
			for _, call := range callsIn(t, file) {
				for _, action := range needed(call) {
					if seen[constructor] && !may(granted, action) {
						t.Errorf("%s calls %s through %s, and may not", f, call, constructor)
					}
					called[action] = called[action] || seen[constructor]
				}
			}
		}
		if f != awslambda.Watchdog && f != awslambda.AlertDispatcher {
			delete(called, "sqs:SendMessage") // Lambda sends failed records in their role
		}
		for action, does := range called {
			if !does && may(granted, action, "<") || !does && may(granted, action, ":test-interlock-") {
				t.Errorf("%s may %s, and does not", f, action)
			}
		}
	}
}

func TestEveryClientIsLookedAt(t *testing.T) {
	looked := map[string]bool{}
	for _, file := range clients {
		looked[file] = true
	}
	names, err := filepath.Glob(filepath.Join(root, "internal", "awslambda", "*", "*.go"))
	check(t, err)
	for _, name := range names {
		rel, err := filepath.Rel(root, name)
		check(t, err)
		rel = filepath.ToSlash(rel)
		if !strings.HasSuffix(rel, "_test.go") && !strings.Contains(rel, "test/") && len(callsIn(t, rel)) > 0 && !looked[rel] {
			t.Errorf("%s calls %v, and no test asks who may", rel, callsIn(t, rel))
		}
	}
}

func TestDecidersMayDoWhatTheStoreCallsAndNoMore(t *testing.T) {
	m := everything(t)
	all := map[string]bool{}
	for _, call := range calls(t, "internal/store/dynamo") {
		for _, action := range needed(call) {
			all[action] = true
		}
	}
	if len(all) < 5 {
		t.Fatalf("the store calls only %v", all)
	}
	for _, f := range []awslambda.Function{awslambda.StreamRouter, awslambda.Orchestrator, awslambda.Watchdog} {
		granted := m.granted(t, string(f))
		for action := range all {
			for _, table := range dynamo.Tables() {
				if !may(granted, action, "aws_dynamodb_table."+table.Name+".") {
					t.Errorf("%s may not %s on %s", f, action, table.Name)
				}
			}
		}
	}
	for _, f := range lambdas {
		for _, line := range m.granted(t, string(f)) {
			action, resource, _ := strings.Cut(line, " ")
			if strings.HasPrefix(action, "dynamodb:") && !strings.Contains(resource, "stream") && !all[action] {
				t.Errorf("%s may %s, which the store never calls", f, line)
			}
		}
	}
}

// The monitor reads, stores and finishes deadlines, and starts nothing.
func TestMonitorMayDoWhatDeadlinesTake(t *testing.T) {
	granted := everything(t).granted(t, string(awslambda.SLAMonitor))
	for _, action := range []string{"BatchGetItem", "ConditionCheckItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"} {
		if !may(granted, "dynamodb:"+action, "aws_dynamodb_table.control.") {
			t.Errorf("it may not %s", action)
		}
	}
	for _, action := range []string{"states:StartExecution", "events:PutEvents"} {
		if may(granted, action) {
			t.Errorf("it may %s", action)
		}
	}
}

// Lambda drops an asynchronous call after three failures, so functions that are called in this way
// need dead-letter queues.
func TestEventThatCannotBeKeptIsNotLost(t *testing.T) {
	m := least(t)
	b := m.blocks["aws_lambda_function.this"]
	all, err := m.instances(b)
	check(t, err)
	for _, each := range all {
		name, dead := shown(each["each"].GetAttr("key")), []string{}
		for _, inner := range b.Body.Blocks {
			if inner.Type != "dynamic" || inner.Labels[0] != "dead_letter_config" {
				continue
			}
			for _, g := range m.dynamic(t, inner, each) {
				v, err := m.eval(g.body.Attributes["target_arn"].Expr, g.extra)
				check(t, err)
				dead = append(dead, shown(v))
			}
		}
		want := []string{}
		if queue := map[string]string{"event-sink": "alert", "stream-router": "control", "orchestrator": "calls", "sla-monitor": "calls"}[name]; queue != "" {
			want = append(want, "<aws_sqs_queue.dead."+queue+".arn>")
		}
		if !slices.Equal(dead, want) || len(want) > 0 && !may(m.granted(t, name), "sqs:SendMessage", want[0]) {
			t.Errorf("what %s fails on goes to %q, want %q", name, dead, want)
		}
	}
}

// External events reach the stream-router, and undeliverable ones are kept.
func TestEventsOfOthersReachTheStreamRouter(t *testing.T) {
	m := everything(t)
	for name, want := range map[string]string{
		"aws_cloudwatch_event_rule.source.event_pattern": `{"source":["aws.s3"]}`, "aws_cloudwatch_event_rule.source.event_bus_name": "files",
		"aws_cloudwatch_event_target.source.event_bus_name": "files", "aws_cloudwatch_event_target.source.arn": "<aws_lambda_alias.live.stream-router.arn>",
		"aws_lambda_permission.source.function_name": "<aws_lambda_function.this.stream-router.function_name>",
	} {
		dot := strings.LastIndex(name, ".")
		b := m.blocks[name[:dot]]
		all, err := m.instances(b)
		check(t, err)
		if len(all) != 1 {
			t.Fatalf("%d of %s", len(all), name[:dot])
		}
		if got := m.text(t, b, name[dot+1:], all[0]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The deployed stream filters are those that the functions were tested with.
func TestStreamsAreFilteredAsInTheTests(t *testing.T) {
	m := least(t)
	filters, err := m.local("stream_filters")
	check(t, err)
	for table, want := range awslambdatest.Filters {
		var got []string
		for it := filters.GetAttr(table).ElementIterator(); it.Next(); {
			_, one := it.Element()
			text, err := ctyjson.SimpleJSONValue{Value: one}.MarshalJSON()
			check(t, err)
			got = append(got, string(text))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
	}
}

// The first records must not be published before their destination exists.
func TestStreamsAreReadOnceEventsHaveTargets(t *testing.T) {
	waits := needs(least(t).blocks["aws_lambda_event_source_mapping.stream"].Body.Attributes["depends_on"].Expr)
	for _, first := range []string{"aws_cloudwatch_event_target.sink", "aws_cloudwatch_event_target.alerts", "aws_lambda_permission.rule", "aws_sqs_queue_policy.alerts"} {
		if !slices.Contains(waits, first) {
			t.Errorf("the streams are read before there is %s", first)
		}
	}
}

// A function's timeout is long enough for the longest start that a file may request, and the state
// machine waits for it.
func TestAStartFitsIntoTheFunction(t *testing.T) {
	functions, err := least(t).local("functions")
	check(t, err)
	var machine struct {
		States map[string]struct {
			Type, Resource string
			TimeoutSeconds int
		}
	}
	check(t, json.Unmarshal([]byte(bare.ReplaceAllStringFunc(read(t, "deploy/statemachine.asl.json"), func(found string) string {
		if strings.HasPrefix(found, `"`) {
			return found
		}
		return "1"
	})), &machine))
	lives := map[string]int{}
	for name, seconds := range functions.AsValueMap() {
		lives[name], _ = strconv.Atoi(shown(seconds))
	}
	if start := int(job.MaxAWSStart.D().Seconds()); lives["orchestrator"] < start+30 || lives["orchestrator"] > 900 {
		t.Errorf("the orchestrator lives for %d s, and a start may take %d s", lives["orchestrator"], start)
	}
	for name, s := range machine.States {
		if s.Type != "Task" {
			continue
		}
		of := "orchestrator"
		if strings.Contains(s.Resource, "sla_monitor") {
			of = "sla-monitor"
		}
		if s.TimeoutSeconds <= lives[of] {
			t.Errorf("%s waits for %d s, and its function lives for %d s", name, s.TimeoutSeconds, lives[of])
		}
	}
}
