// Package job holds the contract that all job types share. Each type has its own folder below, with
// its config struct for job.config; job/all lists them. The types never import each other.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Type starts and polls jobs of one technology. It is stateless: the attempt and the handle are
// enough to find a job again. All methods return promptly when ctx ends. No error, message or
// output contains a secret.
type Type interface {
	// Start starts the attempt's job with the attempt's id as idempotency key, or adopts the job
	// that an earlier call with the same id started. A *Refusal means that certainly nothing was
	// started; after any other error the job may have been started.
	Start(ctx context.Context, a Attempt) (Started, error)
	// Status reads the state of a job. An error means that the state is unknown, not that the job
	// failed.
	Status(ctx context.Context, a Attempt, h run.Handle) (Status, error)
}

// Finder is a type whose target can be searched by the attempt's id.
type Finder interface {
	// Find reports whether the target has a job of this attempt.
	Find(ctx context.Context, a Attempt) (h run.Handle, found bool, err error)
}

// Stopper is a type that can end a job.
type Stopper interface {
	// Stop asks the target to end the job, and returns once the target has accepted that. The job
	// runs until Status reports Done. Stop of a job that has ended or is stopping returns nil.
	Stop(ctx context.Context, a Attempt, h run.Handle) error
}

// Unstoppable is the config of a type that is no Stopper.
type Unstoppable interface{ CannotStop() }

// Deduplicator is a type whose target rejects a second start with the same id, so that a start
// without an answer may be repeated.
type Deduplicator interface{ RefusesRepeats() bool }

// Waiter is a type that is notified when its jobs end.
type Waiter interface {
	// Wait returns nil once the job has ended, whichever controller started it; Status then has its
	// result. After an error the job may still run.
	Wait(ctx context.Context, a Attempt, h run.Handle) error
}

// Tailer is a type that can read the output of a running job.
type Tailer interface {
	// Tail returns the end of a job's output, at most MaxOutput bytes, without secrets. It has no
	// side effects.
	Tail(h run.Handle) (string, error)
}

// Checker is a type that can check whether a job could be started, without starting it.
type Checker interface {
	// Check checks that the target is reachable, accepts the credentials and has what the config
	// names. A *Refusal says what is wrong and how to fix it. An *Unsure means that no problem was
	// found. Any other error means that the check could not be made.
	Check(ctx context.Context, a Attempt) error
}

// SelfReporting is a config whose job may report its own result, so that its target cannot be
// polled.
type SelfReporting interface{ ReportsItself() bool }

// Unpolled is the Status of a type whose jobs report their own result, or end with their start.
type Unpolled struct{}

// Status returns that a job which reports its own result is running, and ErrUnknownHandle for any
// other.
func (Unpolled) Status(_ context.Context, a Attempt, _ run.Handle) (Status, error) {
	if c, ok := a.Config.(SelfReporting); ok && c.ReportsItself() {
		return Status{}, nil
	}
	return Status{}, ErrUnknownHandle
}

// External is a config whose job is run by an external worker: the attempt is offered, and the type
// never starts, polls or stops it.
type External interface {
	// HeartbeatLimit returns how long the worker that claimed an attempt may be silent; 0 means for
	// ever.
	HeartbeatLimit() time.Duration
	// StopsOnSilence reports whether the worker ends its command before it counts as lost, when it
	// cannot send heartbeats.
	StopsOnSilence() bool
}

// Offers returns the limits of a job that is run by an external worker, and whether it is one.
func Offers(j *pipeline.Job) (External, bool) {
	if j == nil {
		return nil, false
	}
	e, ok := j.Config.(External)
	return e, ok
}

// Local is a type whose jobs live on the machine of one replica, which alone can poll them.
type Local interface{ OnThisReplica() bool }

// MaxAWSStart is how long a start call that is the job itself may take on AWS: a Lambda function
// lives for 15 minutes, and needs the rest to store the result.
const MaxAWSStart = document.Duration(14 * time.Minute)

// Blocking is a type whose start call is the job itself, and takes up to Limit.
type Blocking interface {
	Limit(config pipeline.JobConfig) (time.Duration, bool)
}

// Attempt is a job to be started.
type Attempt struct {
	ID       run.AttemptID
	Pipeline pipeline.ID
	Schedule pipeline.ScheduleID
	Period   period.Period
	Number   int
	File     string             // the pipeline file of Config; "" if unknown
	Config   pipeline.JobConfig `json:"-"` // the type's own struct, with variables and secrets expanded: see Expand
	Secrets  Redactor           `json:"-"` // hides the secrets of Config
	Callback Callback           `json:"-"`
}

// String returns only the id, so that no log line can show the config.
func (a Attempt) String() string { return string(a.ID) }

// LogValue returns String as a log value.
func (a Attempt) LogValue() slog.Value { return slog.StringValue(a.String()) }

// Env returns the variables that a program run as the attempt's job gets in addition to its own.
func (a Attempt) Env() map[string]string {
	env := map[string]string{
		"INTERLOCK_RUN_ID": string(a.ID), "INTERLOCK_PIPELINE": string(a.Pipeline), "INTERLOCK_DATE": a.Date(), "INTERLOCK_HOUR": a.Hour(),
		"INTERLOCK_ATTEMPT": strconv.Itoa(a.Number),
	}
	if a.Callback.URL != "" {
		env["INTERLOCK_CALLBACK_URL"], env["INTERLOCK_CALLBACK_TOKEN"] = a.Callback.URL, a.Callback.Token
	}
	return env
}

// TraceHeader is the header of W3C Trace Context. In the environment of a program it is
// TRACEPARENT.
const TraceHeader = "traceparent"

// Traceparent returns the span that ctx belongs to, for a job that continues its trace; "" if
// nothing is traced.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(TraceHeader)
}

// Callback is where a job may report its own result.
type Callback struct{ URL, Token string }

// Started is a job that runs, or has already ended if the start call was the job.
type Started struct {
	Handle run.Handle
	Result *Status // nil: it runs
}

// Status is the state of a job.
type Status struct {
	Done     bool
	Result   run.Result // set if Done
	Category run.Category
	Message  string
	Exited   bool // ExitCode is valid
	ExitCode int
	Output   string // the end of its output, at most 64 KiB
}

// Refusal is a start that certainly did not happen.
type Refusal struct {
	Category run.Category // Permanent: a retry is useless
	Reason   string
	After    time.Duration // how long the target asks to wait; 0 if it does not say
	Own      bool          // the controller lacked resources, which says nothing about the job: see Lacking
}

func (r *Refusal) Error() string { return r.Reason }

// Refuse returns a Refusal.
func Refuse(c run.Category, format string, args ...any) error {
	return &Refusal{Category: c, Reason: fmt.Sprintf(format, args...)}
}

// RefuseOver returns a Refusal because of err, with Own set if the controller lacked resources.
func RefuseOver(err error, c run.Category, format string, args ...any) error {
	return &Refusal{Category: c, Reason: fmt.Sprintf(format, args...), Own: Lacking(err)}
}

// Lacking reports whether the controller's machine lacked file descriptors, memory, processes or
// disk space.
func Lacking(err error) bool {
	lacks := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.ENOSPC, syscall.EDQUOT}
	return slices.ContainsFunc(lacks, func(lack error) bool { return errors.Is(err, lack) })
}

// Unsure is a check that found no problem, and says what only a start would show.
type Unsure struct{ Reason string }

func (u *Unsure) Error() string { return u.Reason }

// ErrUnknownHandle means that the target has no job with that handle, or no longer.
var ErrUnknownHandle = errors.New("the target does not know this job")

// AWS is the config that the AWS job types share.
type AWS struct {
	Region string `yaml:"region" pattern:"^(.*\\$\\{.*|[a-z]{2,}(-[a-z]+)+-[0-9]+)$" hint:"write a region such as eu-west-1" doc:"The AWS region; default the controller's own."`
}

// Unanswered is the config of job types whose target does not reject a repeated key, so that a
// start without an answer may or may not have happened.
type Unanswered struct {
	OnUnknown string `yaml:"onUnknown" enum:"hold,retry" default:"hold" doc:"What to do if a start call was not answered and its job cannot be found. hold: wait for an operator. retry: start again and risk a second job."`
}

// RetriesUnanswered reports whether the file accepts the risk of a second start.
func (u Unanswered) RetriesUnanswered() bool { return u.OnUnknown == "retry" }
