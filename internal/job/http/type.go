package http

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Type sends requests. Without callback the call is the job: whatever is answered is its result. With callback a 2xx
// answer means that the job has started, and its result is reported later; any other answer refused the start.
//
// The target cannot be asked what became of a request, nor be trusted to recognise a repeated key. So a request that
// certainly was not sent is refused and may be repeated, and one that was sent and not answered is unknown.
type Type struct {
	transport nethttp.RoundTripper
	now       func() time.Time
}

var (
	_ job.Type     = (*Type)(nil)
	_ job.Blocking = (*Type)(nil)
)

// New sends through the guard.
func New(g *egress.Guard) *Type { return &Type{transport: g.Transport(), now: time.Now} }

// Limit is how long a request may take that is the job itself.
func (t *Type) Limit(config pipeline.JobConfig) (time.Duration, bool) {
	c, ok := config.(*Config)
	if !ok || c.Callback {
		return 0, false
	}
	return c.Timeout.D(), true
}

// Start sends the request.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	c, ok := a.Config.(*Config)
	if !ok {
		return job.Started{}, job.Refuse(run.Permanent, "start http job: its config is a %T", a.Config)
	}
	m, err := compose(a, c)
	if err != nil {
		return job.Started{}, job.Refuse(run.Permanent, "compose the request: %s", a.Secrets.Text(err.Error()))
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout.D())
	defer cancel()
	got, err := t.send(limited, m)
	if err != nil && limited.Err() != nil {
		err = late(ctx, c, err)
	}
	if err != nil {
		return job.Started{}, hide(a.Secrets, err)
	}
	if c.Callback {
		return t.acknowledged(a, got)
	}
	result := got.result(a.Secrets)
	return job.Started{Handle: run.Handle(a.ID), Result: &result}, nil
}

// acknowledged is the start of a job whose result comes later.
func (t *Type) acknowledged(a job.Attempt, got answer) (job.Started, error) {
	if got.success() {
		return job.Started{Handle: run.Handle(a.ID)}, nil
	}
	status := got.result(a.Secrets)
	return job.Started{}, &job.Refusal{Category: status.Category, Reason: status.Message, After: got.retryAfter(t.now())}
}

// Status has nothing to look at: a job with a callback reports its own result, and any other has ended with its start.
func (t *Type) Status(_ context.Context, a job.Attempt, _ run.Handle) (job.Status, error) {
	if c, ok := a.Config.(*Config); ok && c.Callback {
		return job.Status{}, nil
	}
	return job.Status{}, job.ErrUnknownHandle
}

// late says whether it was the time limit of the file or the caller that ended the wait. Only the reason of a refusal
// changes: it stays one.
func late(caller context.Context, c *Config, err error) error {
	ended, why := error(context.DeadlineExceeded), fmt.Sprintf("no answer within the timeout of %s", c.Timeout)
	if caller.Err() != nil {
		ended, why = caller.Err(), "the wait for an answer was ended"
	}
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		return &job.Refusal{Category: refusal.Category, Reason: why + ", before a connection was there"}
	}
	return fmt.Errorf("%s: %w", why, ended)
}

// hide is err without secrets.
func hide(secrets job.Redactor, err error) error {
	if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
		hidden := *refusal
		hidden.Reason = secrets.Text(refusal.Reason)
		return &hidden
	}
	if text := secrets.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}
