package event

// What to do, where several events share it.
const (
	explain  = "`interlock explain PIPELINE --date DATE` shows "
	runAgain = "`interlock rerun PIPELINE --date DATE --reason WHY`"
	decide   = "`interlock job complete RUN success` or `fail`, or `interlock cancel`"
)

var groups = []Group{
	{"The life of an attempt", []Entry{
		{ValidationPassed, Info, "", PerAttempt, "The gate is open.", "", Gate{}},
		{
			ValidationExhausted, Warning, "", PerAttempt, "The window ended before the gate opened, or before a worker claimed the attempt; the run ends. The message names the rules that are not satisfied, with what was seen.",
			explain + "the rule that did not pass, or that no worker claimed it; then " + runAgain + ".",
			Gate{},
		},
		{TriggerStarted, Info, "", PerAttempt, "A run, or another attempt of a run, was opened.", "", Opening{}},
		{JobTriggered, Info, "", PerAttempt, "The job of the attempt was started, or claimed by a worker.", "", Started{}},
		{JobCompleted, Info, "", PerAttempt, "The job succeeded; the run is COMPLETED.", "", Finished{}},
		{
			JobFailed, Warning, "", PerAttempt, "The job failed; a retry or RETRY_EXHAUSTED follows.",
			explain + "its output.",
			Finished{},
		},
		{
			JobTimeout, Warning, "", PerAttempt, "The job exceeded its own timeout, or its worker stopped reporting; a retry or RETRY_EXHAUSTED follows.",
			explain + "its output; raise the job's `timeout` if it needs longer, or check the worker.",
			Finished{},
		},
		{
			JobPollExhausted, Critical, "", PerAttempt, "The job returned no result within its poll window; the run becomes FAILED_FINAL.",
			"Check the job at its target; raise `job.jobPollWindowSeconds` if it needs longer; then " + runAgain + ".",
			Left{},
		},
		{RetryScheduled, Info, "", PerAttempt, "The attempt failed and its retry budget allows another.", "", Budget{}},
		{
			RetryExhausted, Critical, "", PerAttempt, "The attempt failed and its retry budget is used up; the run is FAILED_FINAL.",
			explain + "every attempt; fix the cause, then " + runAgain + ".",
			Budget{},
		},
		{
			RunCancelled, Info, "", PerAttempt, "An operator cancelled the run.",
			"To run it after all: " + runAgain + ".",
			Left{},
		},
		{
			InfraFailure, Critical, "", PerAttempt, "A start call was not answered and may not be repeated, or a step or task keeps failing, or a source file was rejected and no version of it is active, or a controller with another store answers at this controller's address. As a warning: a job's status could not be read three times in a row, or the last good version of a rejected source file stays active.",
			"Check whether the job is running. If the run is held, " + decide + ". Otherwise see `interlock explain PIPELINE --date DATE`, the server's log and `/readyz`.",
			Infra{},
		},
		{
			InfraAlarm, Warning, "", PerPlatform, "A platform alarm changed state, or the controller reports a change in its environment.",
			"See the message; AWS alarms are also in CloudWatch.",
			Alarm{},
		},
		{
			SFNTimeout, Critical, "", PerAttempt, "The attempt exceeded its overall time limit; the run is FAILED_FINAL.",
			explain + "its last state. Check whether its job is still running, then " + runAgain + ".",
			Left{},
		},
	}},
	{"Deadlines", []Entry{
		{
			SLAWarning, Warning, Critical, PerRun, "The run was not COMPLETED at the warning instant. If it waits, the message names the rules that are not satisfied, with what was seen.",
			explain + "what it is waiting for.",
			Deadline{},
		},
		{
			SLABreach, Warning, Critical, PerRun, "The run was not COMPLETED at the deadline, or was never opened. The message names the rules that it waits for, with what was seen.",
			explain + "what it is waiting for, or why it failed.",
			Deadline{},
		},
		{SLAMet, Info, "", PerRun, "The run was COMPLETED before the deadline.", "", Deadline{}},
		{SLACancelled, Info, "", PerRun, "The deadline no longer applies: cancelled run, exclusion, pause, removed pipeline, replaced file.", "", Deadline{}},
		{
			RelativeSLAWarning, Warning, Critical, PerRun, "Most of `sla.maxDuration` has passed since the first reading, and the run was not COMPLETED.",
			explain + "what it is waiting for.",
			Deadline{},
		},
		{
			RelativeSLABreach, Warning, Critical, PerRun, "`sla.maxDuration` has passed since the first reading, and the run was not COMPLETED.",
			explain + "what it is waiting for, or why it failed.",
			Deadline{},
		},
	}},
	{"Missing runs and data", []Entry{
		{
			ScheduleMissed, Warning, "", PerPipeline, "Cron fires passed without a run, and their window is over. The message names the rules that are not satisfied, with what was seen.",
			"`interlock backfill PIPELINE --from FIRST --to DATE --only-missing` runs the missed periods.",
			Missed{},
		},
		{
			IrregularScheduleMissed, Warning, "", PerPipeline, "Include dates passed without a run, and their window is over. The message names the rules that are not satisfied, with what was seen.",
			"`interlock trigger PIPELINE --date DATE` runs it.",
			Missed{},
		},
		{
			SensorDeadlineExpired, Warning, "", PerRun, "The deadline of the start condition passed without a run for the period, which is now closed. The message says what was seen of it.",
			explain + "what did not arrive; `interlock trigger PIPELINE --date DATE` runs it.",
			Deadline{},
		},
		{TriggerRecovered, Warning, "", PerRun, "A start condition was met without opening a run; the watchdog opened it.", "", Opening{}},
		{
			WatchdogDegraded, Critical, "", PerPlatform, "Checks of the watchdog failed, so missing runs and data may go undetected.",
			"See the server's log and `/readyz`.",
			Degraded{},
		},
	}},
	{"Around and after the run", []Entry{
		{
			LateDataArrival, Warning, "", PerAttempt, "An input of the run changed after its job had used it, once per attempt and sensor; as info if the new data would still have passed. Or data arrived after the window closed.",
			"If no rerun follows: " + runAgain + ".",
			Late{},
		},
		{RerunAccepted, Info, "", PerRun, "A rerun was accepted and opens another attempt.", "", Opening{}},
		{
			RerunRejected, Warning, "", PerRun, "A rerun was rejected.",
			"See the reason; `--force` skips the breaker and the budget.",
			Refusal{},
		},
		{PipelineExcluded, Info, "", PerRun, "The calendar excludes the period.", "", Exclusion{}},
		{PipelinePaused, Warning, "", PerPipeline, "An operator paused the pipeline, or all pipelines; nothing starts.", "`interlock resume PIPELINE` ends the pause; `interlock resume --all` ends a pause of all pipelines.", Pause{}},
		{PipelineResumed, Info, "", PerPipeline, "A pause ended. The message says whether another pause remains.", "", Pause{}},
		{PostRunPassed, Info, "", PerAttempt, "The post-run rules pass.", "", Gate{}},
		{
			PostRunFailed, Warning, "", PerAttempt, "The post-run rules do not pass.",
			explain + "which rule failed and its value.",
			Gate{},
		},
		{
			PostRunDrift, Warning, "", PerAttempt, "A post-run sensor differs from its baseline by more than the threshold, or cannot be compared.",
			"A rerun follows within its budget; " + explain + "it.",
			Drift{},
		},
		{PostRunDriftInflight, Info, "", PerAttempt, "A post-run sensor changed while the run was open.", "", Drift{}},
		{PostRunBaselineCaptured, Info, "", PerAttempt, "The run completed and the values of its post-run sensors were stored.", "", Sensors{}},
		{
			BaselineCaptureFailed, Warning, "", PerAttempt, "The run completed but values of its post-run sensors could not be stored; their drift goes undetected.",
			"`interlock sensor get PIPELINE KEY` shows the current reading.",
			Sensors{},
		},
		{
			PostRunSensorMissing, Warning, "", PerAttempt, "A post-run sensor received no reading after completion within `postRun.sensorTimeout`.",
			"`interlock sensor history PIPELINE KEY` shows its last readings.",
			Sensors{},
		},
	}},
	{"Files and readings", []Entry{
		{ConfigAccepted, Info, "", PerPipeline, "A new version of a pipeline, archetype, calendar or source file is active.", "", Config{}},
		{
			ConfigRejected, Critical, "", PerPipeline, "A pipeline, archetype, calendar or source file has errors; the last good version stays active.",
			"`interlock validate PATH` shows each problem at its line.",
			Config{},
		},
		{ConfigRemoved, Warning, "", PerPipeline, "A pipeline, archetype, calendar or source file was removed; open attempts of a removed pipeline finish, and no new runs open.", "Restore the file if that was not intended.", Config{}},
		{
			SensorRejected, Warning, "", PerPipeline, "A reading in the store is malformed and is ignored.",
			"Fix the producer: the message says what is wrong.",
			Sensors{},
		},
	}},
	{"The audit record", []Entry{
		{
			Audit, Info, "", PerPlatform, "A client logged in, failed to log in, or requested a change; or the server's files or tokens changed. Only admins can read it.",
			"`interlock audit` lists the whole record.",
			Audited{},
		},
	}},
	{"Dry runs", []Entry{
		{DryRunWouldTrigger, Info, "", PerRun, "The gate is open; without `dryRun` the job would start now.", "", Gate{}},
		{DryRunLateData, Info, "", PerRun, "An input changed after the dry run; the reason says what would follow without `dryRun`.", "", Late{}},
		{DryRunSLAProjection, Info, "", PerRun, "A forecast from the expected duration: whether the deadline would be met.", "", Projection{}},
		{DryRunDrift, Info, "", PerRun, "A post-run sensor changed; without `dryRun` a rerun would follow.", "", Drift{}},
		{DryRunCompleted, Info, "", PerRun, "The dry run of the period is over.", "", nil},
	}},
}
