package awslambda

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// Settings are the functions' settings from their environment. Each function reads only those that
// it needs.
type Settings struct {
	Environment string // the prefix of the tables

	Bus            string // for events
	StateMachine   string // that runs attempts
	Orchestrator   string // the function
	StreamRouter   string // the function
	SLAMonitor     string // the function
	SchedulerGroup string
	SchedulerRole  string // that Scheduler assumes to call the functions
	SchedulerDead  string // ARN of the queue for calls that Scheduler cannot deliver

	TimeLimit  time.Duration // of an execution
	StartTries int
	Watch      time.Duration // between two watchdog passes
	EventsKept time.Duration

	JobTypes        []string // that may be started; nil if the function does not know
	SecretVariables []string // names that ${env:…} may read
	Secrets         []string // ARNs that ${secret:…} may read
	Parameters      []string // ARNs that ${ssm:…} may read
	EgressAllow     []string // hosts and networks that may be reached besides public ones

	SlackToken   string
	SlackSecret  string // ARN of the secret that holds the token, instead
	SlackChannel string
	SlackAPI     string

	Heartbeat  string // the URL that is pinged after each healthy watchdog pass
	AlertQueue string // the URL of the queue that alerts come from
}

// The environment variables that some functions require.
const (
	envEnvironment    = "ENVIRONMENT"
	envBus            = "EVENT_BUS_NAME"
	envStateMachine   = "STATE_MACHINE_ARN"
	envOrchestrator   = "ORCHESTRATOR_ARN"
	envStreamRouter   = "STREAM_ROUTER_ARN"
	envSLAMonitor     = "SLA_MONITOR_ARN"
	envSchedulerGroup = "SCHEDULER_GROUP_NAME"
	envSchedulerRole  = "SCHEDULER_ROLE_ARN"
	envSchedulerDead  = "SCHEDULER_DLQ_ARN"
	envAlertQueue     = "ALERT_QUEUE_URL"
)

// Function is one of the six.
type Function string

// The functions.
const (
	StreamRouter    Function = "stream-router"
	Orchestrator    Function = "orchestrator"
	SLAMonitor      Function = "sla-monitor"
	Watchdog        Function = "watchdog"
	EventSink       Function = "event-sink"
	AlertDispatcher Function = "alert-dispatcher"
)

// The variables of functions that create schedules, and of those that relay all kinds of stored
// tasks.
var (
	schedules = []string{envEnvironment, envStreamRouter, envSLAMonitor, envSchedulerGroup, envSchedulerRole, envSchedulerDead}
	relays    = append([]string{envBus, envStateMachine, envOrchestrator}, schedules...)
)

// required lists the variables that a function cannot work without. All others have a default.
var required = map[Function][]string{
	StreamRouter:    relays,
	Orchestrator:    {envEnvironment},
	SLAMonitor:      schedules,
	Watchdog:        relays,
	EventSink:       {envEnvironment},
	AlertDispatcher: {envEnvironment, envAlertQueue},
}

// Read reads the settings of a function. The error names every variable that is missing or invalid.
func Read(f Function, getenv func(string) string) (Settings, error) {
	r := reader{getenv: getenv}
	for _, name := range required[f] {
		if getenv(name) == "" {
			r.errs = append(r.errs, fmt.Errorf("%s is not set", name))
		}
	}
	s := Settings{
		Environment: getenv(envEnvironment), Bus: getenv(envBus), StateMachine: getenv(envStateMachine), Orchestrator: getenv(envOrchestrator),
		StreamRouter: getenv(envStreamRouter), SLAMonitor: getenv(envSLAMonitor),
		SchedulerGroup: getenv(envSchedulerGroup), SchedulerRole: getenv(envSchedulerRole), SchedulerDead: getenv(envSchedulerDead),
		TimeLimit:  time.Duration(r.number("SFN_TIMEOUT_SECONDS", 14400)) * time.Second,
		StartTries: r.number("TRIGGER_MAX_ATTEMPTS", 3),
		Watch:      time.Duration(r.number("WATCHDOG_INTERVAL_SECONDS", 300)) * time.Second,
		EventsKept: time.Duration(r.number("EVENTS_TTL_DAYS", 90)) * 24 * time.Hour,
		JobTypes:   list(getenv("JOB_TYPES")), SecretVariables: list(getenv("SECRET_VARIABLES")), Secrets: list(getenv("JOB_SECRET_ARNS")), Parameters: list(getenv("JOB_PARAMETER_ARNS")), EgressAllow: list(getenv("EGRESS_ALLOW")),
		SlackToken: getenv("SLACK_BOT_TOKEN"), SlackSecret: getenv("SLACK_SECRET_ARN"), SlackChannel: getenv("SLACK_CHANNEL_ID"),
		SlackAPI: r.text("SLACK_API_URL", "https://slack.com/api/"), AlertQueue: getenv(envAlertQueue), Heartbeat: getenv("HEARTBEAT_URL"),
	}
	if len(r.errs) > 0 {
		return s, fmt.Errorf("the environment of function %s: %w", f, errors.Join(r.errs...))
	}
	return s, nil
}

// Offers returns what the deployment offers to pipeline files; nil if the function does not know.
func (s Settings) Offers() *pipeline.Offers {
	if len(s.JobTypes) == 0 {
		return nil
	}
	return &pipeline.Offers{Jobs: s.JobTypes, Env: s.SecretVariables, Secrets: s.Secrets, Parameters: s.Parameters}
}

// reader collects errors.
type reader struct {
	getenv func(string) string
	errs   []error
}

func (r *reader) text(name, usual string) string {
	if v := r.getenv(name); v != "" {
		return v
	}
	return usual
}

func (r *reader) number(name string, usual int) int {
	text := r.getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		r.errs = append(r.errs, fmt.Errorf("%s is %q; write a whole number of at least 1", name, text))
	}
	return n
}

// list splits a variable at its commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}
