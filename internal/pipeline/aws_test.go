package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestAWSAddsItsLimits(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		refused          bool
	}{
		{
			"windows past an execution's limit", "schedule: {evaluation: {window: 4h}}\njob: {type: glue, config: {jobName: x}}\n",
			"the window and the poll window take 5h together, which exceeds the execution time limit of 4h (sfn_timeout_seconds); shorten one of them", true,
		},
		{
			"a probe that is a command", "probes: [{key: a, command: x}]\n",
			"probes: probe a runs on the controller's machine, which does not exist on AWS; use url, or builtin http-status or sql", true,
		},
		{
			"a probe that takes long", "probes: [{key: a, url: https://example.com, timeout: 2m}]\n",
			"probes: probe a has a timeout of 2m; on AWS it must be at most 1m", true,
		},
		{"a probe that is a call", "probes: [{key: a, url: https://example.com, interval: 5m}]\n", "", false},
		{
			"a command without a timeout", "job: {type: command, config: {command: x}}\n",
			"job.config.timeout: is required on AWS: at most 100s", true,
		},
		{
			"an interval below a thousandth of its window", "schedule: {evaluation: {window: 2h, interval: 7s}}\n",
			"schedule.evaluation.interval: is raised to 8s on AWS, so that the loop runs at most 1000 times", false,
		},
		{
			"a poll interval below a thousandth of its window", "job: {type: glue, config: {jobName: x}, pollInterval: 1s}\n",
			"job.pollInterval: is raised to 4s on AWS, so that the loop runs at most 1000 times", false,
		},
		{"a thousand turns", "schedule: {evaluation: {window: 2h, interval: 7200ms}}\n", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := pipeline.Load(sources(minimal+c.text), pipeline.Options{Jobs: all.Kinds(), Whole: true, Platform: pipeline.AWS})
			got := strings.Join(report(set), "\n")
			if !strings.Contains(got, c.want) || set.Failed() != c.refused || c.want == "" && got != "" {
				t.Errorf("rejected %v\n%s\nwant %v with %q", set.Failed(), got, c.refused, c.want)
			}
			if elsewhere := load(minimal + c.text); elsewhere.Failed() {
				t.Errorf("rejected on other platforms too: %v", report(elsewhere))
			}
		})
	}
}

func TestAWSKnowsWhichVariablesThereAre(t *testing.T) {
	offers := &pipeline.Offers{
		Jobs: []string{"http"}, Env: []string{"TOKEN"},
		Secrets:    []string{"arn:aws:secretsmanager:eu-west-1:1:secret:warehouse-??????", "arn:aws:secretsmanager:eu-west-1:1:secret:orders/*", "arn:aws:secretsmanager:eu-west-1:1:secret:exact-AbCdEf"},
		Parameters: []string{"arn:aws:ssm:eu-west-1:1:parameter/orders/*", "arn:aws:ssm:eu-west-1:1:parameter/token"},
	}
	body := func(text string) string {
		return fmt.Sprintf("job: {type: http, config: {url: https://x.example, body: %q}}\n", text)
	}
	for text, want := range map[string]string{
		"job: {type: http, config: {url: https://x.example, headers: {A: \"${env:OTHER}\"}}}\n":                      "${env:OTHER} is not set in the deployment; add OTHER to job_environment",
		"probes: [{key: a, url: https://x.example, headers: {A: \"${env:OTHER}\"}}]\n":                               "probe a: ${env:OTHER} is not set in the deployment; add OTHER to job_environment",
		"probes: [{key: a, builtin: sql, config: {driver: postgres, dsnEnv: WAREHOUSE, query: select 1 as n}}]\n":    "probe a: ${env:WAREHOUSE} is not set in the deployment; add WAREHOUSE to job_environment",
		"probes: [{key: a, url: https://x.example, headers: {A: \"${env:TOKEN}\"}, config: {about: \"${DATE}\"}}]\n": "",
		"job: {type: http, config: {url: https://x.example, headers: {A: \"${env:TOKEN}\"}}}\n":                      "",
		body("${secret:warehouse#key} ${secret:orders/db} ${secret:exact}"):                                          "",
		body("${secret:arn:aws:secretsmanager:eu-west-1:1:secret:warehouse-a1B2c3#key}"):                             "",
		body("${secret:arn:aws:secretsmanager:eu-west-1:1:secret:warehouse}"):                                        "",
		body("${ssm:/orders/token} ${ssm:token:3} ${ssm:arn:aws:ssm:eu-west-1:1:parameter/token}"):                   "",
		body("${secret:warehouse2#key}"):   "the deployment may not read secret warehouse2; add its ARN to job_secret_arns",
		body("${secret:exact-AbCdE}"):      "the deployment may not read secret exact-AbCdE",
		body("${ssm:/other/token}"):        "the deployment may not read parameter other/token; add its ARN to job_parameter_arns",
		body("${file:/run/secrets/token}"): "${file:/run/secrets/token} cannot be used on AWS; use ${secret:NAME#key}",
		body("${secret:#key}"):             "${secret:#key} is not a valid secret name",
		body("${secret:warehouse#}"):       "${secret:warehouse#} has no key after #; write ${secret:warehouse#key}",
		body("${secret:ware house}"):       "${secret:ware house} is not a valid secret name",
		body("${ssm:/orders/token#key}"):   "a parameter has no keys",
		body("${ssm:orders token}"):        "${ssm:orders token} is not a valid parameter name",
		"probes: [{key: a, url: https://x.example, headers: {A: \"${secret:other}\"}}]\n": "probe a: the deployment may not read secret other",
	} {
		set := pipeline.Load(sources(minimal+text), pipeline.Options{Jobs: all.Kinds(), Whole: true, Platform: pipeline.AWS, Offers: offers})
		if got := strings.Join(report(set), "\n"); !strings.Contains(got, want) || set.Failed() != (want != "") {
			t.Errorf("%s%s\nwant %q", text, got, want)
		}
	}
}
