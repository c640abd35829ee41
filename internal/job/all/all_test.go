package all_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// problems returns the findings of decoding and checking a job.config.
func problems(t *testing.T, kind, config string) []string {
	t.Helper()
	d, found := document.Parse("f", []byte(config))
	if d == nil {
		t.Fatalf("%v", found)
	}
	into := newConfig(t, kind)
	if found = d.Decode(into); found == nil {
		found = d.Resolve(into.Check()...)
	}
	var texts []string
	for _, p := range found {
		text := strings.TrimPrefix(p.String(), "f:")
		if p.Severity == document.Warning {
			text = "warning: " + text
		}
		texts = append(texts, text)
	}
	return texts
}

func newConfig(t *testing.T, kind string) pipeline.JobConfig {
	t.Helper()
	for _, k := range all.Kinds() {
		if k.Name == kind {
			return k.NewConfig()
		}
	}
	t.Fatalf("no job type %q", kind)
	return nil
}

func TestTheTypesAreListed(t *testing.T) {
	var names []string
	for _, k := range all.Kinds() {
		names = append(names, k.Name)
	}
	want := strings.Fields("command http airflow databricks glue emr emr-serverless step-function lambda external")
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAFileMayNameEachType checks the list of names in package pipeline, which may not import the
// types.
func TestAFileMayNameEachType(t *testing.T) {
	for _, k := range all.Kinds() {
		if len(good[k.Name]) == 0 {
			t.Errorf("%s has no valid config in good", k.Name)
			continue
		}
		config := strings.ReplaceAll(good[k.Name][0], "\n", "\n    ")
		file := "pipeline: {id: a, owner: me}\nschedule: {cron: 0 6 * * *}\njob:\n  type: " + k.Name + "\n  config:\n    " + strings.TrimSpace(config) + "\n"
		set := pipeline.Load([]pipeline.Source{{File: "f", Data: []byte(file)}}, pipeline.Options{Jobs: all.Kinds()})
		if len(set.Problems) > 0 {
			t.Errorf("%s: %v\n%s", k.Name, set.Problems, file)
		}
	}
}

// good has valid configs of each type.
var good = map[string][]string{
	"command": {
		"command: python load.py --day ${DATE}\n",
		"command: [python, load.py, --retries, 3]\nenv: {MODE: full, LEVEL: 3}\ndir: /srv\ntimeout: 1h\n",
		"command: ls *.csv | wc -l\nshell: true\n",
		"command: true\n",
	},
	"external": {
		"heartbeat: 30s\n",
		"heartbeat: 0\n",
		"{}\n",
	},
	"http": {
		"url: https://host/run\n",
		"url: ${env:BASE}/run\nmethod: put\nheaders: {Authorization: 'Bearer ${env:TOKEN}', X-Try: 1}\nbody: {date: '${DATE}'}\ntimeout: 5m\ncallback: true\nonUnknown: retry\n",
		"url: http://host/\nmethod: GET\n",
		"url: http://host/\nbody: plain text\n",
	},
	"airflow": {
		"url: https://airflow.internal\ndagID: load\n",
		"url: https://airflow.internal\ndagID: load\nconf: {day: '${DATE}'}\napiVersion: v2\nheaders: {Authorization: 'Basic ${file:/run/secrets/a}'}\ntimeout: 10s\n",
		"url: https://airflow.internal\ndagID: load\nbody: {conf: {a: 1}, note: x}\n",
	},
	"databricks": {
		"workspaceURL: https://dbc-1.cloud.databricks.com\njobID: 123\nparams: {day: '${DATE}'}\n",
		"workspaceURL: https://dbc-1.cloud.databricks.com\njobID: \"123\"\n",
		"workspaceURL: https://dbc-1.cloud.databricks.com\njobID: ${env:JOB}\n",
		"workspaceURL: https://dbc-1.cloud.databricks.com\nbody: {tasks: [{task_key: a}]}\nheaders: {Authorization: 'Bearer ${env:T}'}\n",
		"workspaceURL: https://dbc-1.cloud.databricks.com\nbody: {job_id: 5}\n",
	},
	"glue": {
		"jobName: gold-revenue-etl\n",
		"jobName: etl\narguments: {--source: 's3://b/${DATE}', depth: 3}\nlogCheck: {enabled: false}\nregion: eu-west-1\nonUnknown: hold\n",
		"jobName: etl\nlogCheck: {group: /aws/x, patterns: [Failed, 'Out of memory']}\nregion: us-gov-west-1\n",
	},
	"emr": {
		"clusterID: j-2AXXXXXXGAPLF\nsteps:\n- name: load\n  args: [spark-submit, s3://b/job.py, 3]\n",
		"clusterID: ${env:CLUSTER}\nregion: ${env:REGION}\nonUnknown: retry\nsteps:\n- {name: a, jar: s3://b/a.jar, mainClass: X, properties: {k: 1}, actionOnFailure: CANCEL_AND_WAIT}\n",
	},
	"emr-serverless": {
		"applicationID: 00f1\nexecutionRoleArn: arn:aws:iam::123456789012:role/path/x\njobDriver: {sparkSubmit: {entryPoint: s3://b/j.py, entryPointArguments: [1, '${DATE}']}}\n",
		"applicationID: 00f1\nexecutionRoleArn: ${env:ROLE}\njobDriver: {hive: {query: s3://b/q.sql}}\nconfigurationOverrides: {applicationConfiguration: [{classification: spark-defaults, properties: {spark.executor.cores: 4}}]}\nregion: eu-west-1\n",
	},
	"step-function": {
		"stateMachineARN: arn:aws:states:eu-west-1:123456789012:stateMachine:load\ninput: {day: '${DATE}'}\n",
		"stateMachineARN: arn:aws-cn:states:cn-north-1:123456789012:stateMachine:load\ninput: '{\"hour\": ${HOUR}, \"day\": \"${DATE}\"}'\n",
		"stateMachineARN: arn:aws:states:eu-west-1:${env:ACCOUNT}:stateMachine:load\ninput: [1, 2]\n",
	},
	"lambda": {
		"functionName: load\n",
		"functionName: arn:aws:lambda:eu-west-1:123456789012:function:load:$LATEST\npayload: {day: '${DATE}'}\nasync: true\ntimeout: 5m\nregion: eu-west-1\nonUnknown: retry\n",
		"functionName: load\npayload: 'run ${RUN_ID}'\n",
		"functionName: 123456789012:function:load:prod\n",
		"functionName: arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:" + strings.Repeat("f", 64) + ":" + strings.Repeat("v", 128) + "\n",
		"functionName: " + strings.Repeat("a", 256) + "\n",
	},
}

func TestGoodConfigsHaveNoProblem(t *testing.T) {
	for kind, configs := range good {
		for _, config := range configs {
			if found := problems(t, kind, config); found != nil {
				t.Errorf("%s:\n%s%q", kind, config, found)
			}
		}
	}
}

func TestEachMistakeInAConfigIsReported(t *testing.T) {
	const (
		hill    = "url: https://h/\ndagID: d\n"
		bricks  = "workspaceURL: https://h\n"
		spark   = "applicationID: a\nexecutionRoleArn: arn:aws:iam::123456789012:role/x\n"
		machine = "stateMachineARN: arn:aws:states:eu-west-1:123456789012:stateMachine:x\n"
		url     = "must be an absolute http or https URL such as https://host/path"
		secret  = "contains a secret; use ${env:NAME} or ${file:PATH} instead"
	)
	tests := []struct{ kind, config, want string }{
		{"command", "shell: true\n", "1:1: command: is required: The program and its arguments, as one text or as a list of words"},
		{"command", "command: ''\n", "1:10: command: must not be empty: The program and its arguments, as one text or as a list of words"},
		{"command", "command: '  '\n", "1:10: command: names no program; write it with its arguments, such as [python, load.py]"},
		{"command", "command: []\n", "1:10: command: names no program; write it with its arguments, such as [python, load.py]"},
		{"command", "command: '  '\nshell: true\n", "1:10: command: names no program; write it with its arguments, such as [python, load.py]"},
		{"command", "command: echo 'hi\n", "1:10: command: a single quote (') is never closed; close it, or write a list of words"},
		{"command", "command: echo \"hi\n", `1:10: command: a double quote (") is never closed; close it, or write a list of words`},
		{"command", "command: echo \\\n", `1:10: command: ends in a backslash, which escapes nothing; write \\ for a backslash`},
		{"command", "command: [a]\nshell: true\n", "1:10: command: with shell it must be one text, not a list; write it as text or remove shell (see shell at 2:8)"},
		{"command", "command: [\"a\\0\"]\n", "1:10: command: contains a NUL character, which cannot be passed to a program"},
		{"command", "command: a\nenv: {A-B: 1}\n", `2:7: env.A-B: "A-B" is not a variable name; use letters, digits and _, starting with a letter or _`},
		{"command", "command: a\nenv: {INTERLOCK_DATE: 1}\n", "2:7: env.INTERLOCK_DATE: names that start with INTERLOCK_ are reserved; choose another"},
		{"command", "command: a\nenv: {A: \"\\0\"}\n", "2:10: env.A: contains a NUL character, which cannot be passed to a program"},
		{"command", "command: a\ntimeout: 0s\n", "2:10: timeout: is 0s; must be above 0s"},
		{"command", "command: a\nonUnknown: hold\n", `2:1: onUnknown: unknown key "onUnknown"; use one of command, shell, env, dir, timeout`},

		{"http", "method: POST\n", "1:1: url: is required: The http or https URL of the request, without credentials"},
		{"http", "url: host/path\n", "1:6: url: " + url},
		{"http", "url: https://u:p@host/\n", "1:6: url: contains a user or password; send credentials in a header, from ${env:NAME} or ${file:PATH}"},
		{"http", "url: https://h\nmethod: HEAD\n", `2:9: method: unknown value "HEAD"; use one of GET, POST, PUT, PATCH, DELETE`},
		{"http", "url: https://h\nmethod: GET\nbody: x\n", "3:7: body: a GET request has no body; use POST, or remove body (see method at 2:9)"},
		{"http", "url: https://h\nbody: 5\n", "2:7: body: must be a text, or a mapping or list that is sent as JSON"},
		{"http", "url: https://h\nheaders: {a b: c}\n", `2:11: headers["a b"]: "a b" is not a header name; use letters, digits and -`},
		{"http", "url: https://h\nheaders: {Authorization: Bearer abc}\n", "warning: 2:26: headers.Authorization: " + secret},
		{"http", "url: https://h\nonUnknown: ask\n", `2:12: onUnknown: unknown value "ask"; use one of hold, retry`},
		{"http", "url: https://h\ntimeout: 0s\n", "2:10: timeout: is 0s; must be above 0s"},

		{"airflow", "url: https://h\n", "1:1: dagID: is required: The DAG to run"},
		{"airflow", "url: https://h\ndagID: a/../b\n", "2:8: dagID: is not a DAG id; use letters, digits and the characters . _ -"},
		{"airflow", "url: h\ndagID: d\n", "1:6: url: " + url},
		{"airflow", hill + "conf: {}\nbody: {}\n", "4:1: body: cannot be combined with conf; put conf into body, or remove body (see conf at 3:7)"},
		{"airflow", hill + "body: {dag_run_id: x}\n", "3:8: body.dag_run_id: Interlock sets dag_run_id itself, so that a run starts once; remove it"},
		{"airflow", hill + "apiVersion: v3\n", `3:13: apiVersion: unknown value "v3"; use one of v1, v2`},
		{"airflow", hill + "conf: [a]\n", "3:7: conf: expected a mapping, found a list"},
		{"airflow", hill + "headers: {Authorization: Basic YTpi}\n", "warning: 3:26: headers.Authorization: " + secret},
		{"airflow", hill + "onUnknown: hold\n", `3:1: onUnknown: unknown key "onUnknown"; use one of url, dagID, headers, conf, body, apiVersion, timeout`},

		{"databricks", "jobID: 1\n", "1:1: workspaceURL: is required: The workspace, such as https://dbc-1234.cloud.databricks.com"},
		{"databricks", "workspaceURL: dbc\njobID: 1\n", "1:15: workspaceURL: " + url},
		{"databricks", bricks, "1:1: jobID: is required: the job to run; or set body"},
		{"databricks", bricks + "jobID: 1\nbody: {job_id: 1}\n", "3:1: body: cannot be combined with jobID; use one of them (see jobID at 2:8)"},
		{"databricks", bricks + "body: {job_id: 1}\nparams: {a: b}\n", "3:1: params: needs jobID; put the parameters into body (see body at 2:7)"},
		{"databricks", bricks + "body: {run_name: x}\n", "2:1: body: needs tasks for a one-time run, or job_id to run a job"},
		{"databricks", bricks + "body: {job_id: 1, idempotency_token: x}\n", "2:19: body.idempotency_token: Interlock sets idempotency_token itself, so that a run starts once; remove it"},
		{"databricks", bricks + "jobID: nightly\n", `2:8: jobID: expected a job's number such as 123456, found the text "nightly"`},
		{"databricks", bricks + "jobID: 1.5\n", "2:8: jobID: expected a job's number such as 123456, found the number 1.5"},
		{"databricks", bricks + "jobID: [1]\n", "2:8: jobID: expected a job's number such as 123456, found a list"},
		{"databricks", bricks + "jobID: 1\nheaders: {authorization: x}\n", "warning: 3:26: headers.authorization: " + secret},

		{"glue", "arguments: {}\n", "1:1: jobName: is required: The Glue job to run"},
		{"glue", "jobName: a\narguments: {--: b}\n", `2:13: arguments.--: "--" is not an argument name; write one such as --source`},
		{"glue", "jobName: a\narguments: {--x: b, x: c}\n", "2:21: arguments.x: the same argument is set twice, with and without -- (see arguments.--x at 2:18)"},
		{"glue", "jobName: a\narguments: {--interlock_run_id: b}\n", "warning: 2:13: arguments.--interlock_run_id: Interlock sets this argument itself, to find the job of an unanswered start call; remove it"},
		{"glue", "jobName: a\narguments: {x: [b]}\n", "2:16: arguments.x: expected a text, found a list"},
		{"glue", "jobName: a\nlogCheck: {patterns: []}\n", "2:22: logCheck.patterns: is empty; must have at least one item"},
		{"glue", "jobName: a\nlogCheck: {patterns: ['']}\n", `2:23: logCheck.patterns[0]: "" is not allowed; write a text to search for`},
		{"glue", "jobName: a\nregion: Ireland\n", `2:9: region: "Ireland" is not allowed; write a region such as eu-west-1`},
		{"glue", "jobName: a\njobname: b\n", `2:1: jobname: unknown key "jobname"; did you mean "jobName"?`},

		{"emr", "steps: [{name: a, args: [b]}]\n", "1:1: clusterID: is required: write a cluster's id such as j-2AXXXXXXGAPLF"},
		{"emr", "clusterID: x\nsteps: [{name: a, args: [b]}]\n", `1:12: clusterID: "x" is not allowed; write a cluster's id such as j-2AXXXXXXGAPLF`},
		{"emr", "clusterID: j-1\n", "1:1: steps: is required: The steps to add, in order"},
		{"emr", "clusterID: j-1\nsteps: []\n", "2:8: steps: is empty; must have at least one item"},
		{"emr", "clusterID: j-1\nsteps: [{args: [a]}]\n", "2:9: steps[0].name: is required: The step's name; the run's id is added to it"},
		{"emr", "clusterID: j-1\nsteps:\n- name: a\n", "3:3: steps[0].args: is required with command-runner.jar: the command, such as [spark-submit, s3://bucket/job.py]"},
		{"emr", "clusterID: j-1\nsteps: [{name: a, args: [b], actionOnFailure: STOP}]\n", `2:47: steps[0].actionOnFailure: unknown value "STOP"; use one of CONTINUE, CANCEL_AND_WAIT, TERMINATE_CLUSTER, TERMINATE_JOB_FLOW`},

		{"emr-serverless", "applicationID: a\nexecutionRoleArn: me\njobDriver: {hive: {query: q}}\n", `2:19: executionRoleArn: "me" is not allowed; write a role's ARN such as arn:aws:iam::123456789012:role/name`},
		{"emr-serverless", spark, "1:1: jobDriver: is required: What to run: sparkSubmit or hive"},
		{"emr-serverless", spark + "jobDriver: {}\n", "3:12: jobDriver: needs one of sparkSubmit and hive"},
		{"emr-serverless", spark + "jobDriver: {sparkSubmit: {entryPoint: a}, hive: {query: q}}\n", "3:43: jobDriver.hive: cannot be combined with sparkSubmit; use one of them (see jobDriver.sparkSubmit at 3:26)"},
		{"emr-serverless", spark + "jobDriver: {sparkSubmit: {}}\n", "3:13: jobDriver.sparkSubmit.entryPoint: is required: The script or JAR"},
		{"emr-serverless", spark + "jobDriver: {hive: {query: q}}\nconfigurationOverrides: {monitoring: {}}\n", `4:25: configurationOverrides: unknown field "monitoring"; write it in the format of StartJobRun`},
		{"emr-serverless", spark + "jobDriver: {hive: {query: q}}\nconfigurationOverrides: {applicationConfiguration: 5}\n", "4:25: configurationOverrides: applicationConfiguration cannot be a number; write it in the format of StartJobRun"},
		{"emr-serverless", spark + "jobDriver: {hive: {}}\n", "3:13: jobDriver.hive.query: is required: The query, or a file with the query"},

		{"step-function", "input: {}\n", "1:1: stateMachineARN: is required: write its ARN such as arn:aws:states:eu-west-1:123456789012:stateMachine:name"},
		{"step-function", "stateMachineARN: load\n", `1:18: stateMachineARN: "load" is not allowed; write its ARN such as arn:aws:states:eu-west-1:123456789012:stateMachine:name`},
		{"step-function", machine + "input: day ${DATE}\n", "2:8: input: a text must be JSON; write the input as a mapping instead"},

		{"lambda", "payload: {}\n", "1:1: functionName: is required: write a function's name or ARN"},
		{"lambda", "functionName: a b\n", `1:15: functionName: "a b" is not allowed; write a function's name or ARN`},
		{"lambda", "functionName: " + strings.Repeat("a", 257) + "\n", `1:15: functionName: "` + strings.Repeat("a", 60) + `…" is not allowed; write a function's name or ARN`},
		{"lambda", "functionName: a\ntimeout: 16m\n", "2:10: timeout: is 16m; must be above 0s and at most 15m"},
		{"lambda", "functionName: a\npayload: [1]\n", "warning: 2:10: payload: the run's id is added only to a mapping, and without it the function cannot detect a repeated start; write a mapping"},
		{"lambda", "functionName: a\nasync: 1\n", "2:8: async: expected true or false, found the number 1"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff([]string{tt.want}, problems(t, tt.kind, tt.config)); diff != "" {
			t.Errorf("%s:\n%s(-want +got):\n%s", tt.kind, tt.config, diff)
		}
	}
}

func TestSchemasAcceptTheGoodConfigs(t *testing.T) {
	for kind, configs := range good {
		text, err := json.Marshal(document.Schema(newConfig(t, kind), kind, "", ""))
		if err != nil {
			t.Fatal(err)
		}
		schema := compile(t, kind, text)
		for _, config := range configs {
			d, _ := document.Parse("f", []byte(config))
			instance, err := json.Marshal(d.Root().Value())
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s:\n%s%v", kind, config, err)
			}
		}
	}
}

func compile(t *testing.T, kind string, text []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(kind+".json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestEveryFieldIsDocumented keeps the schema, which editors show, complete.
func TestEveryFieldIsDocumented(t *testing.T) {
	for _, k := range all.Kinds() {
		schema := document.Fragment(k.NewConfig())
		for name, property := range schema.Properties {
			if property.Description == "" {
				t.Errorf("%s: %s has no description", k.Name, name)
			}
		}
	}
}

func TestOnlyAJobThatMayReportItsResultGetsACallback(t *testing.T) {
	expand := all.Expander(nil, func(key run.Key, attempt int) job.Callback {
		return job.Callback{URL: "https://interlock.example/" + key.String(), Token: fmt.Sprint(attempt)}
	})
	for config, want := range map[string]string{
		"http {url: 'https://a.example'}":                 "",
		"http {url: 'https://a.example', callback: true}": "https://interlock.example/orders/cron/2026-03-03",
		"lambda {functionName: f}":                        "",
		"lambda {functionName: f, async: true}":           "https://interlock.example/orders/cron/2026-03-03",
		"command {command: 'true'}":                       "https://interlock.example/orders/cron/2026-03-03",
	} {
		kind, text, _ := strings.Cut(config, " ")
		d, found := document.Parse("f", []byte(text))
		into := newConfig(t, kind)
		if found = append(found, d.Decode(into)...); len(found) > 0 {
			t.Fatal(found)
		}
		p, err := period.Parse("2026-03-03")
		if err != nil {
			t.Fatal(err)
		}
		got, err := expand(job.Attempt{Pipeline: "orders", Schedule: pipeline.ByCron, Period: p, Number: 2}, &pipeline.Job{Type: kind, Config: into, Raw: d.Root()})
		if err != nil || got.Callback.URL != want {
			t.Errorf("%s: got %+v, %v", config, got.Callback, err)
		}
	}
}
