package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

const (
	// awsTimeLimit is the default of sfn_timeout_seconds.
	awsTimeLimit = 4 * time.Hour
	// awsMaxTurns keeps one execution's history below Step Functions' limit.
	awsMaxTurns = 1000
)

// checkAWS checks the limits of the serverless platform.
func (b *builder) checkAWS() {
	pollWindow := defaultPollWindow
	if j := b.def.Job; j != nil {
		pollWindow = j.PollWindow
		b.warnTurns("job.pollInterval", j.PollInterval, j.PollWindow)
		if limited, ok := j.Config.(awsLimited); ok {
			b.addUnder("job.config", limited.AWSFindings())
		}
	}
	b.checkOffers()
	b.checkAWSProbes()
	b.warnTurns("schedule.evaluation.interval", b.def.Interval, b.def.Window)
	if need := b.def.Window + pollWindow; need > b.shelf.timeLimit {
		b.clashf("schedule.evaluation.window", "job.jobPollWindowSeconds",
			"the window and the poll window take %s together, which exceeds the execution time limit of %s (sfn_timeout_seconds); shorten one of them",
			document.Duration(need), document.Duration(b.shelf.timeLimit))
	}
}

// checkOffers rejects what the deployment does not offer to the file's job.
func (b *builder) checkOffers() {
	o, j := b.shelf.offers, b.file.Job
	if j == nil {
		return
	}
	if o != nil && !slices.Contains(o.Jobs, j.Type) {
		variable := "enable_" + strings.ReplaceAll(cmp.Or(triggers[j.Type], j.Type), "-", "_") + "_trigger"
		b.errorf("job.type", "the deployment may not start jobs of type %s; set %s", j.Type, variable)
	}
	b.addUnder("job.config", eachVariable(j.Config.Value(), b.unset))
}

// unset returns a message if a variable is an environment variable or a secret that the deployment
// does not have, otherwise "".
func (b *builder) unset(name string) string {
	env, is := strings.CutPrefix(name, "env:")
	if !is {
		return b.shelf.offers.unreadable(name)
	}
	if o := b.shelf.offers; o == nil || slices.Contains(o.Env, env) {
		return ""
	}
	return fmt.Sprintf("${env:%s} is not set in the deployment; add %s to job_environment", env, env)
}

// triggers maps job types to the name in their deployment variable, where it differs.
var triggers = map[string]string{"step-function": "sfn"}

// awsProbeTimeout is the longest timeout of a probe: the watchdog waits for it.
const awsProbeTimeout = time.Minute

// checkAWSProbes rejects probes that no function can run.
func (b *builder) checkAWSProbes() {
	for _, p := range b.def.Probes {
		switch {
		case p.URL == "" && p.Builtin != HTTPStatus && p.Builtin != SQL:
			b.errorf(b.probesPath(), "probe %s runs on the controller's machine, which does not exist on AWS; use url, or builtin http-status or sql", p.Key)
		case p.Timeout > awsProbeTimeout:
			b.errorf(b.probesPath(), "probe %s has a timeout of %s; on AWS it must be at most %s", p.Key, document.Duration(p.Timeout), document.Duration(awsProbeTimeout))
		}
		texts := []any{p.URL, p.Config}
		for _, header := range p.Headers {
			texts = append(texts, header)
		}
		if name, _ := p.Config["dsnEnv"].(string); name != "" {
			texts = append(texts, "${env:"+name+"}")
		}
		for _, f := range eachVariable(texts, b.unset) {
			b.errorf(b.probesPath(), "probe %s: %s", p.Key, f.Message)
		}
	}
}

// probesPath returns the path that the file's probes come from.
func (b *builder) probesPath() string {
	for _, path := range []string{"probes", "traits"} {
		if b.doc.Has(path) {
			return path
		}
	}
	return "archetype"
}

// warnTurns warns that an interval will be raised so that its loop runs at most awsMaxTurns times.
func (b *builder) warnTurns(path string, interval, window time.Duration) {
	if least := window / awsMaxTurns; interval < least {
		least = (least + time.Second - 1).Truncate(time.Second) // round up: rounded down, the loop would run more often
		b.warnf(path, "is raised to %s on AWS, so that the loop runs at most %d times", document.Duration(least), awsMaxTurns)
	}
}
