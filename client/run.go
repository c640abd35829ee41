package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Run is one run of a pipeline, for one schedule and one period, and its state.
type Run struct {
	Pipeline       string     `json:"pipeline"`
	Schedule       string     `json:"schedule" enum:"cron,stream,manual"`
	Date           string     `json:"date" doc:"The period of the run."`
	Status         Status     `json:"status" enum:"PENDING,TRIGGERING,RUNNING,COMPLETED,FAILED,FAILED_FINAL,JOB_POLL_EXHAUSTED,VALIDATION_EXHAUSTED,CANCELLED"`
	Phase          string     `json:"phase" enum:"waiting,not-due,backoff,max-active,starting,offered,start-refused,held,running,status-unread,settling,completed,would-start,failed,exhausted,cancelled" doc:"More specific than status: what an open run waits for, or how the run ended."`
	DryRun         bool       `json:"dryRun" doc:"Whether this is a dry run, which starts no job."`
	Attempt        int        `json:"attempt" doc:"The latest attempt; 0 if the run ended before an attempt opened."`
	Reason         *string    `json:"reason" doc:"Why the run has that status."`
	Cause          *string    `json:"cause" doc:"Why the latest attempt was opened."`
	RequestedBy    *string    `json:"requestedBy"`
	RequestReason  *string    `json:"requestReason"`
	Forced         bool       `json:"forced"`
	GateBypassed   bool       `json:"gateBypassed"`
	Degraded       []string   `json:"degraded" doc:"The sensors of the preferred rules that the latest attempt started without; usually empty."`
	OpenedAt       *time.Time `json:"openedAt"`
	UpdatedAt      *time.Time `json:"updatedAt"`
	StartedAt      *time.Time `json:"startedAt" doc:"When the latest attempt's job was started."`
	EndedAt        *time.Time `json:"endedAt"`
	WindowStart    *time.Time `json:"windowStart" doc:"When the evaluation window starts."`
	WindowEnd      *time.Time `json:"windowEnd" doc:"When the evaluation window ends."`
	LastEvaluation *time.Time `json:"lastEvaluation"`
	NextEvaluation *time.Time `json:"nextEvaluation"`
	WaitingForSlot bool       `json:"waitingForSlot" doc:"Whether the gate is open but maxActive jobs are already running."`
	Held           *string    `json:"held" doc:"Why it is unknown whether the job started; null unless the start is held."`
	HeldSince      *time.Time `json:"heldSince"`
	Unread         *string    `json:"unread" doc:"Why the job's status could not be read; null if the last poll succeeded."`
	UnreadSince    *time.Time `json:"unreadSince" doc:"When the first of the consecutive polls failed."`
	Handle         *string    `json:"handle" doc:"The job's id at its target."`
	OfferedSince   *time.Time `json:"offeredSince" doc:"When the attempt was offered to workers; null unless its job is external."`
	Worker         *string    `json:"worker" doc:"The worker that claimed the attempt."`
	ClaimedAt      *time.Time `json:"claimedAt"`
	LastHeartbeat  *time.Time `json:"lastHeartbeat" doc:"When the worker sent its last heartbeat."`
	NextBy         *time.Time `json:"nextBy" doc:"When the worker counts as lost without another heartbeat; null unless a worker may be running the job and sends heartbeats."`
	Deadline       *time.Time `json:"deadline" doc:"When the running job must have its result at the latest; it never moves. Null unless a job is running."`
	Result         *string    `json:"result" enum:"success,fail,timeout" doc:"The result of the latest attempt's job."`
	Category       *string    `json:"category" enum:"PERMANENT,TRANSIENT,TIMEOUT" doc:"The failure category; null if unknown."`
	Message        *string    `json:"message" doc:"The message of the job's result."`
	ExitCode       *int       `json:"exitCode"`
	JobMayRun      bool       `json:"jobMayRun" doc:"Whether the job could not be stopped and may still be running."`
	JobStopping    bool       `json:"jobStopping" doc:"Whether the job was asked to stop and has not ended yet."`
	ConfigVersion  *string    `json:"configVersion" doc:"The version of the pipeline file that the latest attempt uses."`
	Counters       Counters   `json:"counters"`
	Version        int64      `json:"version" doc:"The run's version, which increases with every change."`
}

// Key returns the key of the run.
func (r Run) Key() RunKey { return RunKey{r.Pipeline, r.Schedule, r.Date} }

// Status is the status of a run.
type Status string

// The statuses of a run. COMPLETED, FAILED_FINAL, VALIDATION_EXHAUSTED and CANCELLED end it.
const (
	Pending             Status = "PENDING"
	Triggering          Status = "TRIGGERING"
	Running             Status = "RUNNING"
	Completed           Status = "COMPLETED"
	Failed              Status = "FAILED"
	FailedFinal         Status = "FAILED_FINAL"
	JobPollExhausted    Status = "JOB_POLL_EXHAUSTED"
	ValidationExhausted Status = "VALIDATION_EXHAUSTED"
	Cancelled           Status = "CANCELLED"
)

// Counters counts the attempts that each cause has opened.
type Counters struct {
	Retries      int `json:"retries"`
	CodeRetries  int `json:"codeRetries"`
	DriftReruns  int `json:"driftReruns"`
	ManualReruns int `json:"manualReruns"`
	Reopenings   int `json:"reopenings"`
	Forced       int `json:"forced"`
}

// RunDetail is a run with all stored details.
type RunDetail struct {
	Run
	Why       *Reason    `json:"why" doc:"Why the run is in its current phase: a code and one line, with parameters; null if there is no reason to give."`
	Output    *string    `json:"output" doc:"The last output of the latest attempt. While the job runs, the output that its worker sent last."`
	Attempts  []Attempt  `json:"attempts" doc:"Oldest first."`
	JobLog    []JobEntry `json:"jobLog" doc:"The job log, oldest first."`
	Gate      *Shown     `json:"gate" doc:"The gate at the start of the latest attempt; while the attempt waits, the gate now."`
	Deadlines []Deadline `json:"deadlines"`
	Reruns    []Rerun    `json:"reruns" doc:"Rerun requests and their results, oldest first."`
}

// Attempt is one attempt of a run.
type Attempt struct {
	Attempt      int        `json:"attempt"`
	Cause        *string    `json:"cause"`
	RequestedBy  *string    `json:"requestedBy"`
	Reason       *string    `json:"reason"`
	Forced       bool       `json:"forced"`
	GateBypassed bool       `json:"gateBypassed"`
	OpenedAt     *time.Time `json:"openedAt"`
	StartedAt    *time.Time `json:"startedAt"`
	EndedAt      *time.Time `json:"endedAt"`
	Snapshot     *string    `json:"snapshot" doc:"The id of the stored facts that the attempt started on."`
	Handle       *string    `json:"handle"`
	Result       *string    `json:"result" enum:"success,fail,timeout"`
	Category     *string    `json:"category"`
	Message      *string    `json:"message"`
	ExitCode     *int       `json:"exitCode"`
	Output       *string    `json:"output" doc:"The last output of the job."`
}

// JobEntry is one entry of a run's job log.
type JobEntry struct {
	Attempt  int       `json:"attempt"`
	At       time.Time `json:"at"`
	Event    string    `json:"event" enum:"started,refused,held,success,fail,timeout,stopping,stopped,late"`
	Try      int       `json:"try" doc:"The number of the start call; 0 for other events."`
	Handle   *string   `json:"handle"`
	Category *string   `json:"category"`
	Message  *string   `json:"message"`
	Output   *string   `json:"output"`
	By       *string   `json:"by" doc:"Who reported it, if not the controller."`
}

// RunKey names a run: pipeline, schedule and date.
type RunKey struct{ Pipeline, Schedule, Date string }

// ParseRunKey parses "pipeline/schedule/date", or an attempt's id, which ends with a number.
func ParseRunKey(text string) (RunKey, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 4 {
		if n, err := strconv.Atoi(parts[3]); err == nil && n > 0 {
			parts = parts[:3]
		}
	}
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return RunKey{}, fmt.Errorf("%q is not a run; write PIPELINE/SCHEDULE/DATE, such as orders/cron/2026-03-03", text)
	}
	return RunKey{parts[0], parts[1], parts[2]}, nil
}

func (k RunKey) String() string { return k.Pipeline + "/" + k.Schedule + "/" + k.Date }

func (k RunKey) path(more ...string) string {
	return path(append([]string{"runs", k.Pipeline, k.Schedule, k.Date}, more...)...)
}

// RunQuery selects runs; empty fields match any.
type RunQuery struct {
	Pipeline string
	Date     string
	From, To string // periods, both included
	Status   Status
	Paging
}

// Runs lists runs, latest period first.
func (c *Client) Runs(ctx context.Context, q RunQuery, options ...CallOption) (Page[Run], error) {
	parameters := q.with("pipeline", q.Pipeline, "date", q.Date, "from", q.From, "to", q.To, "status", string(q.Status))
	return ask[Page[Run]](ctx, c, get(path("runs"), query(parameters...)), options)
}

// Run returns one run with all stored details.
func (c *Client) Run(ctx context.Context, key RunKey, options ...CallOption) (RunDetail, error) {
	return ask[RunDetail](ctx, c, get(key.path(), nil), options)
}

// RunOutput is the end of the output of an attempt's job.
type RunOutput struct {
	Pipeline string    `json:"pipeline"`
	Schedule string    `json:"schedule"`
	Date     string    `json:"date"`
	Attempt  int       `json:"attempt"`
	Running  bool      `json:"running" doc:"Whether the job is still running."`
	Live     bool      `json:"live" doc:"true: the output so far. false: the output stored at the end, or none if the server cannot read the output of a running job."`
	Output   string    `json:"output" doc:"The last 64 KiB of the output."`
	Seen     string    `json:"seen" doc:"Pass this value as seen in the next request to wait for more output."`
	At       time.Time `json:"at" doc:"The server's time."`
}

// OutputQuery selects an attempt's output.
type OutputQuery struct {
	Attempt int           // 0: the latest
	Follow  time.Duration // how long the server holds the request until there is more than Seen, or the job has ended; at most 60s
	Seen    string        // the Seen of the last response
}

// Output returns the end of the output of an attempt's job, even while it runs.
func (c *Client) Output(ctx context.Context, key RunKey, q OutputQuery, options ...CallOption) (RunOutput, error) {
	parameters := []string{"seen", q.Seen}
	if q.Attempt != 0 {
		parameters = append(parameters, "attempt", strconv.Itoa(q.Attempt))
	}
	if q.Follow > 0 {
		parameters = append(parameters, "follow", q.Follow.String())
	}
	r := get(key.path("output"), query(parameters...))
	r.long = q.Follow > 0
	return ask[RunOutput](ctx, c, r, options)
}
