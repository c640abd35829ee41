package pipeline

import (
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

const (
	// awsTimeLimit is the default of sfn_timeout_seconds.
	awsTimeLimit = 4 * time.Hour
	// awsMaxTurns keeps one execution's history below Step Functions' limit.
	awsMaxTurns = 1000
)

// checkAWS adds the limits of the serverless platform.
func (b *builder) checkAWS() {
	pollWindow := defaultPollWindow
	if j := b.def.Job; j != nil {
		pollWindow = j.PollWindow
		b.warnTurns("job.pollInterval", j.PollInterval, j.PollWindow)
		if limited, ok := j.Config.(awsLimited); ok {
			b.addUnder("job.config", limited.AWSFindings())
		}
	}
	if len(b.def.Probes) > 0 {
		b.warnf(b.probesPath(), "only `interlock serve` runs probes; on AWS let a scheduled function write their sensors")
	}
	b.warnTurns("schedule.evaluation.interval", b.def.Interval, b.def.Window)
	if need := b.def.Window + pollWindow; need > b.shelf.timeLimit {
		b.clashf("schedule.evaluation.window", "job.jobPollWindowSeconds",
			"window and poll window together take %s, longer than an execution's time limit of %s (sfn_timeout_seconds); shorten one of them",
			document.Duration(need), document.Duration(b.shelf.timeLimit))
	}
}

// probesPath is where the file's first probe comes from.
func (b *builder) probesPath() string {
	for _, path := range []string{"probes", "traits"} {
		if b.doc.Has(path) {
			return path
		}
	}
	return "archetype"
}

// warnTurns says that an interval will be raised so that its loop turns at most awsMaxTurns times.
func (b *builder) warnTurns(path string, interval, window time.Duration) {
	if least := window / awsMaxTurns; interval < least {
		least = (least + time.Second - 1).Truncate(time.Second) // rounded down, it would turn more often
		b.warnf(path, "will be raised to %s on AWS, so that the loop turns at most %d times", document.Duration(least), awsMaxTurns)
	}
}
