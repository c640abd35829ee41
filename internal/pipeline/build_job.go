package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/document"
)

const (
	defaultPollWindow = time.Hour
	minPollWindow     = time.Minute
	// usualTimeLimit is the default of engine.runTimeout.
	usualTimeLimit = 4 * time.Hour
	// timeLimitMargin is what an attempt gets in addition to its windows.
	timeLimitMargin = 30 * time.Minute
)

func (b *builder) buildJob() {
	s := b.file.Job
	if s == nil {
		return
	}
	b.def.Job = &Job{
		Type:       s.Type,
		Config:     b.jobConfig(s),
		Raw:        s.Config,
		MaxRetries: s.MaxRetries, MaxCodeRetries: s.MaxCodeRetries,
		MaxDriftReruns: s.MaxDriftReruns, MaxManualReruns: s.MaxManualReruns,
		RetryBackoff: time.Duration(s.RetryBackoff),
		PollWindow:   b.pollWindow(s),
		PollInterval: time.Duration(s.PollInterval),
		LearnPolls:   s.LearnPolls,
		Classes:      b.classes(s.Classify),
	}
	b.checkPolling(b.def.Job)
}

// jobConfig decodes job.config with the type's own struct and checks.
func (b *builder) jobConfig(s *JobSection) JobConfig {
	i := slices.IndexFunc(b.shelf.jobs, func(k JobKind) bool { return k.Name == s.Type })
	if i < 0 {
		return nil // decoding has already rejected the type
	}
	config := b.shelf.jobs[i].NewConfig()
	findings := s.Config.Decode(config)
	b.addUnder("job.config", findings)
	b.addUnder("job.config", s.Config.Independent(config.Check(), document.Paths(findings)))
	b.addUnder("job.config", variableFindings(s.Config.Value(), variables))
	return config
}

// refusePrograms reports everything that would run a program on the controller's machine.
func (b *builder) refusePrograms() {
	const remedy = "runs a program on the server's machine, which jobs.command in the server's file turns off; %s"
	if b.def.Job.runsProgram() {
		b.errorf("job.type", remedy, "use another job type, or set jobs: {command: on}")
	}
	for _, p := range b.def.Probes {
		if len(p.Command) > 0 {
			b.errorf(b.probesPath(), "%q "+remedy, p.Key, "use a url or a builtin, or set jobs: {command: on}")
		}
	}
}

// RunsPrograms reports whether the job or a probe runs a program on the controller's machine.
func (d *Definition) RunsPrograms() bool {
	return d.Job.runsProgram() || slices.ContainsFunc(d.Probes, func(p Probe) bool { return len(p.Command) > 0 })
}

func (j *Job) runsProgram() bool { return j != nil && j.Type == "command" }

func (b *builder) pollWindow(s *JobSection) time.Duration {
	window := time.Duration(s.JobPollWindowSeconds) * time.Second
	if window == 0 {
		return defaultPollWindow
	}
	if window < minPollWindow {
		b.errorf("job.jobPollWindowSeconds", "%d is too short; use 60 to 86400 seconds, or 0 for the default of 3600", s.JobPollWindowSeconds)
	}
	return window
}

func (b *builder) checkPolling(j *Job) {
	if j.PollInterval > j.PollWindow {
		b.warnClashf("job.pollInterval", "job.jobPollWindowSeconds",
			"is longer than the poll window of %s, so the job is polled only once", document.Duration(j.PollWindow))
	}
	if need := b.def.Window + j.PollWindow; need > usualTimeLimit {
		b.warnClashf("job.jobPollWindowSeconds", "schedule.evaluation.window",
			"together with the window of %s exceeds the default time limit of %s; an attempt may then take up to %s",
			document.Duration(b.def.Window), document.Duration(usualTimeLimit), document.Duration(need+timeLimitMargin))
	}
}

func (b *builder) classes(sections []ClassifySection) []Class {
	var classes []Class
	for i, s := range sections {
		path := fmt.Sprintf("job.classify[%d]", i)
		if s.Match == "" && s.ExitCode == nil {
			b.errorf(path, "has neither match nor exitCode; set at least one")
		}
		class := Class{ExitCode: s.ExitCode, Category: s.Category}
		if s.Match != "" {
			match, err := regexp.Compile(s.Match)
			if err != nil {
				b.errorf(path+".match", "%v", err)
			}
			class.Match = match
		}
		classes = append(classes, class)
	}
	return classes
}

func (b *builder) buildDryRun() {
	b.def.DryRun = b.file.DryRun
	if !b.def.DryRun {
		return
	}
	if b.def.Start == nil {
		b.clashf("dryRun", "schedule.trigger", "a dry run needs a start condition; add schedule.trigger")
	}
	if b.def.Job == nil {
		b.clashf("dryRun", "job.type", "a dry run needs a job; add job.type")
	}
}
