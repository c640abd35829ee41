package event

// What to do, where several events share it.
const (
	explain  = "`interlock explain PIPELINE --date DATE` shows "
	runAgain = "`interlock rerun PIPELINE --date DATE --reason WHY`"
	decide   = "`interlock job complete RUN success` or `fail`, or `interlock cancel`"
)

var groups = []Group{
	{"The life of an attempt", []Entry{
		{ValidationPassed, Info, "", PerAttempt, "The gate was found open.", "", Gate{}},
		{
			ValidationExhausted, Warning, "", PerAttempt, "The window ended and the gate was never open; the run ends.",
			explain + "the rule that stayed closed; then " + runAgain + ".",
			Gate{},
		},
		{TriggerStarted, Info, "", PerAttempt, "A run opened, or another attempt of it.", "", Opening{}},
		{JobTriggered, Info, "", PerAttempt, "The attempt's job was started.", "", Started{}},
		{JobCompleted, Info, "", PerAttempt, "The job succeeded; the run is COMPLETED.", "", Finished{}},
		{
			JobFailed, Warning, "", PerAttempt, "The job failed; a retry or RETRY_EXHAUSTED follows.",
			explain + "its output.",
			Finished{},
		},
		{
			JobTimeout, Warning, "", PerAttempt, "The job took longer than its own time limit; a retry or RETRY_EXHAUSTED follows.",
			explain + "its output; raise the job's `timeout` if it needs longer.",
			Finished{},
		},
		{
			JobPollExhausted, Critical, "", PerAttempt, "The job gave no result within its poll window; the run is on its way to FAILED_FINAL.",
			"Look at the job itself; raise `job.jobPollWindowSeconds` if it needs longer; then " + runAgain + ".",
			Left{},
		},
		{RetryScheduled, Info, "", PerAttempt, "The attempt failed and its budget opens another.", "", Budget{}},
		{
			RetryExhausted, Critical, "", PerAttempt, "The attempt failed and its budget is spent; the run is FAILED_FINAL.",
			explain + "every attempt; mend the cause, then " + runAgain + ".",
			Budget{},
		},
		{
			RunCancelled, Info, "", PerAttempt, "An operator ended the run.",
			"To run it after all: " + runAgain + ".",
			Left{},
		},
		{
			InfraFailure, Critical, "", PerAttempt, "A start call had no answer and may not be repeated blindly, or a step or task keeps failing; as a warning, a job's status could not be read three times in a row.",
			"See whether the job runs; if the run is held, " + decide + "; otherwise see `interlock explain PIPELINE --date DATE`, the server's log and `/readyz`.",
			Infra{},
		},
		{
			InfraAlarm, Warning, "", PerPlatform, "An alarm of the platform, or of the controller about its own surroundings, changed its state.",
			"The message says what happened; alarms of AWS are also in CloudWatch.",
			Alarm{},
		},
		{
			SFNTimeout, Critical, "", PerAttempt, "The attempt passed its overall time limit; the run is FAILED_FINAL.",
			explain + "where it stood; see whether its job still runs, then " + runAgain + ".",
			Left{},
		},
	}},
	{"Deadlines", []Entry{
		{
			SLAWarning, Warning, Critical, PerRun, "The warning instant came and the run was not COMPLETED.",
			explain + "what it waits for.",
			Deadline{},
		},
		{
			SLABreach, Warning, Critical, PerRun, "The deadline came and the run was not COMPLETED, whether or not it ever opened.",
			explain + "what it waits for, or why it failed.",
			Deadline{},
		},
		{SLAMet, Info, "", PerRun, "The run was COMPLETED in time.", "", Deadline{}},
		{SLACancelled, Info, "", PerRun, "The deadline no longer counts: cancelled run, exclusion, pause, removed pipeline, replaced file.", "", Deadline{}},
		{
			RelativeSLAWarning, Warning, Critical, PerRun, "Most of `sla.maxDuration` has passed since the first reading, and the run was not COMPLETED.",
			explain + "what it waits for.",
			Deadline{},
		},
		{
			RelativeSLABreach, Warning, Critical, PerRun, "`sla.maxDuration` has passed since the first reading, and the run was not COMPLETED.",
			explain + "what it waits for, or why it failed.",
			Deadline{},
		},
	}},
	{"What did not happen", []Entry{
		{
			ScheduleMissed, Warning, "", PerPipeline, "Cron fires passed with no run, and their window is over.",
			"`interlock backfill PIPELINE --from FIRST --to DATE --only-missing` runs what was missed.",
			Missed{},
		},
		{
			IrregularScheduleMissed, Warning, "", PerPipeline, "Include dates passed with no run, and their window is over.",
			"`interlock trigger PIPELINE --date DATE` runs it.",
			Missed{},
		},
		{
			SensorDeadlineExpired, Warning, "", PerRun, "The start condition's deadline passed with no run for the period, which is now closed.",
			explain + "what did not arrive; `interlock trigger PIPELINE --date DATE` runs it.",
			Deadline{},
		},
		{TriggerRecovered, Warning, "", PerRun, "A start condition was met with no run; the watchdog opened it.", "", Opening{}},
		{
			WatchdogDegraded, Critical, "", PerPlatform, "Checks of the watchdog failed, so absences may go unnoticed.",
			"See the server's log and `/readyz`.",
			Degraded{},
		},
	}},
	{"Around and after the run", []Entry{
		{
			LateDataArrival, Warning, "", PerAttempt, "An input of the run changed after it completed, or arrived after its window closed.",
			"If no rerun follows: " + runAgain + ".",
			Late{},
		},
		{RerunAccepted, Info, "", PerRun, "A rerun was asked for and another attempt opens.", "", Opening{}},
		{
			RerunRejected, Warning, "", PerRun, "A rerun was asked for and refused.",
			"The reason says what stands against it; `--force` skips breaker and budget.",
			Refusal{},
		},
		{PipelineExcluded, Info, "", PerRun, "The calendar suppressed the period.", "", Exclusion{}},
		{PipelinePaused, Warning, "", PerPipeline, "An operator paused the pipeline, or all pipelines; nothing starts.", "`interlock resume PIPELINE` ends the pause, `interlock resume --all` that of all pipelines.", Pause{}},
		{PipelineResumed, Info, "", PerPipeline, "A pause ended. The message says whether another one goes on.", "", Pause{}},
		{PostRunPassed, Info, "", PerAttempt, "The post-run rules hold.", "", Gate{}},
		{
			PostRunFailed, Warning, "", PerAttempt, "The post-run rules do not hold.",
			explain + "which one and the value seen.",
			Gate{},
		},
		{
			PostRunDrift, Warning, "", PerAttempt, "A post-run sensor moved from its baseline by more than the threshold, or cannot be compared.",
			"A rerun follows within its budget; " + explain + "it.",
			Drift{},
		},
		{PostRunDriftInflight, Info, "", PerAttempt, "A post-run sensor moved while the run was open.", "", Drift{}},
		{PostRunBaselineCaptured, Info, "", PerAttempt, "The run completed and the values of its post-run sensors were stored.", "", Sensors{}},
		{
			BaselineCaptureFailed, Warning, "", PerAttempt, "The run completed and values of its post-run sensors could not be stored; drift in them goes unnoticed.",
			"`interlock sensor get PIPELINE KEY` shows what is there.",
			Sensors{},
		},
		{
			PostRunSensorMissing, Warning, "", PerAttempt, "No reading of a post-run sensor came after completion within `postRun.sensorTimeout`.",
			"`interlock sensor history PIPELINE KEY` shows when it last came.",
			Sensors{},
		},
	}},
	{"Files and readings", []Entry{
		{ConfigAccepted, Info, "", PerPipeline, "A new version of the pipeline file is in force.", "", Config{}},
		{
			ConfigRejected, Critical, "", PerPipeline, "The pipeline file has problems; the last good version stays in force.",
			"`interlock validate PATH` shows each problem at its line.",
			Config{},
		},
		{ConfigRemoved, Warning, "", PerPipeline, "The pipeline file is gone; open attempts finish, nothing new opens.", "Put the file back if that was not meant.", Config{}},
		{
			SensorRejected, Warning, "", PerPipeline, "A reading written into the store was malformed and does not count.",
			"Mend the producer: the message says what is wrong.",
			Sensors{},
		},
	}},
	{"The audit record", []Entry{
		{
			Audit, Info, "", PerPlatform, "A client logged in, failed to, or asked for a change; or the server's files or tokens changed. Only admins can read it.",
			"`interlock audit` lists the whole record.",
			Audited{},
		},
	}},
	{"Dry runs", []Entry{
		{DryRunWouldTrigger, Info, "", PerRun, "The gate was found open; without `dryRun` the job would start now.", "", Gate{}},
		{DryRunLateData, Info, "", PerRun, "An input changed after the dry run; without `dryRun` a rerun would follow.", "", Late{}},
		{DryRunSLAProjection, Info, "", PerRun, "Whether the deadline would have been met, by the expected duration.", "", Projection{}},
		{DryRunDrift, Info, "", PerRun, "A post-run sensor moved; without `dryRun` a rerun would follow.", "", Drift{}},
		{DryRunCompleted, Info, "", PerRun, "The dry run of the period is over.", "", nil},
	}},
}
