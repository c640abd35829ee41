// Package job holds what the job types share. Each type has a folder of its own beside it, with the config that a
// pipeline file gives under job.config; job/all lists them. The types never import each other.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Type starts and follows jobs of one technology. It keeps no state of its own: what it needs to find a job again is in
// the attempt and the handle. All methods end promptly when ctx does. No error, message or output holds a secret.
type Type interface {
	// Start starts the attempt's job under its id as idempotency key, or adopts the job that an earlier call with the same
	// id started. A *Refusal means that certainly nothing was started; any other error leaves that open.
	Start(ctx context.Context, a Attempt) (Started, error)
	// Status looks at a job. An error says that nobody could look, not that the job failed.
	Status(ctx context.Context, a Attempt, h run.Handle) (Status, error)
}

// Finder is a type whose target can be searched by the attempt's id.
type Finder interface {
	// Find says whether the target knows a job of this attempt.
	Find(ctx context.Context, a Attempt) (h run.Handle, found bool, err error)
}

// Stopper is a type that can end a job.
type Stopper interface {
	// Stop asks for the job's end, and returns once the target has accepted that. The job runs until Status says that it is
	// done. Stop of a job that has ended or is stopping returns nil.
	Stop(ctx context.Context, a Attempt, h run.Handle) error
}

// Deduplicator is a type whose target refuses a second start with the same id, so that a start whose answer was lost may be repeated.
type Deduplicator interface{ RefusesRepeats() bool }

// Waiter is a type that sees its jobs end by itself.
type Waiter interface {
	// Wait returns nil once the job has ended, whichever controller started it, and Status then has its result. Any
	// error leaves that open.
	Wait(ctx context.Context, a Attempt, h run.Handle) error
}

// Tailer is a type that can read what a job has printed so far.
type Tailer interface {
	// Tail returns the end of what a job has printed, at most MaxOutput, without secrets. It looks at nothing else, and changes
	// nothing.
	Tail(h run.Handle) (string, error)
}

// Checker is a type that can say whether a job could be started, without starting it.
type Checker interface {
	// Check asks the target whether it is there, takes the credentials and has what the config names. A *Refusal says what
	// is wrong and what to do, an *Unsure that nothing is wrong as far as one can see; any other error that nobody could look.
	Check(ctx context.Context, a Attempt) error
}

// Preparer is a type whose starts are quicker when they are announced.
type Preparer interface {
	// Prepare begins what a start of the attempt needs and nobody takes for one, such as to connect, and returns at once. It
	// is called while the decision to start is being stored, so the start may never come.
	Prepare(a Attempt)
}

// SelfReporting is a config whose job may report its own result, so that its target cannot be asked for it.
type SelfReporting interface{ ReportsItself() bool }

// External is a config whose job is run by a worker outside: the attempt is offered, and no type is asked to start, poll or
// stop it.
type External interface {
	// HeartbeatLimit is how long the worker that claimed an attempt may be silent; 0: as long as it likes.
	HeartbeatLimit() time.Duration
}

// Offers returns the limits of a job that is run by a worker outside, and whether it is.
func Offers(j *pipeline.Job) (External, bool) {
	if j == nil {
		return nil, false
	}
	e, ok := j.Config.(External)
	return e, ok
}

// Local is a type whose jobs live on the machine of one replica, which alone can follow them.
type Local interface{ OnThisReplica() bool }

// MaxAWSStart is how long a start call that is the job itself may take on AWS: a function lives for 15 minutes, and needs
// the rest to store the result.
const MaxAWSStart = document.Duration(14 * time.Minute)

// Blocking is a type for which the start call is the job itself, so that it takes as long as Limit says.
type Blocking interface {
	Limit(config pipeline.JobConfig) (time.Duration, bool)
}

// Attempt is what is to be started.
type Attempt struct {
	ID       run.AttemptID
	Pipeline pipeline.ID
	Schedule pipeline.ScheduleID
	Period   period.Period
	Number   int
	File     string             // the pipeline file that Config is from; "" if it is not known
	Config   pipeline.JobConfig `json:"-"` // of the type's own struct, with variables and secrets put in: see Expand
	Secrets  Redactor           `json:"-"` // hides what Config must not show
	Callback Callback           `json:"-"`
}

// String names the attempt and nothing of its config, so that no log line can.
func (a Attempt) String() string { return string(a.ID) }

// LogValue is String.
func (a Attempt) LogValue() slog.Value { return slog.StringValue(a.String()) }

// Env is what a program that is the attempt's job finds in its environment, beside its own.
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

// Callback is how a job may report its own result.
type Callback struct{ URL, Token string }

// Started is a job that runs, or has already ended where the start call was the job.
type Started struct {
	Handle run.Handle
	Result *Status // nil: it runs
}

// Status is what a job shows.
type Status struct {
	Done     bool
	Result   run.Result // once Done
	Category run.Category
	Message  string
	Exited   bool // there is an exit code
	ExitCode int
	Output   string // the end of what it printed, at most 64 KiB
}

// Refusal is a start that certainly did not happen.
type Refusal struct {
	Category run.Category // Permanent: trying again is useless
	Reason   string
	After    time.Duration // the target's own wish for how long to wait; 0 without
	Own      bool          // the controller lacked what the call needs, which says nothing about the job: see Lacking
}

func (r *Refusal) Error() string { return r.Reason }

// Refuse makes a Refusal.
func Refuse(c run.Category, format string, args ...any) error {
	return &Refusal{Category: c, Reason: fmt.Sprintf(format, args...)}
}

// RefuseOver makes a Refusal because of err, which is Own if the controller lacked something.
func RefuseOver(err error, c run.Category, format string, args ...any) error {
	return &Refusal{Category: c, Reason: fmt.Sprintf(format, args...), Own: Lacking(err)}
}

// Lacking says that the controller's machine had too little of something for what was asked of it: descriptors, memory,
// processes or disk space.
func Lacking(err error) bool {
	for _, what := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, what) {
			return true
		}
	}
	return false
}

// Unsure is a check that found nothing wrong, and says what only a start would show.
type Unsure struct{ Reason string }

func (u *Unsure) Error() string { return u.Reason }

// ErrUnknownHandle says that the target has no job with that handle (any more).
var ErrUnknownHandle = errors.New("the target does not know this job")

// AWS is what the job types on AWS have in common.
type AWS struct {
	Region string `yaml:"region" pattern:"^(.*\\$\\{.*|[a-z]{2,}(-[a-z]+)+-[0-9]+)$" hint:"write a region such as eu-west-1" doc:"The AWS region; default the controller's own."`
}

// Unanswered is for the job types whose target does not refuse a repeated key, so that a start without an answer may
// have happened or not.
type Unanswered struct {
	OnUnknown string `yaml:"onUnknown" enum:"hold,retry" default:"hold" doc:"When a start got no answer and its job cannot be found: hold the run for an operator, or retry and risk a second start."`
}

// RetriesUnanswered says that the file takes the risk of a second start.
func (u Unanswered) RetriesUnanswered() bool { return u.OnUnknown == "retry" }
