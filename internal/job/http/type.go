package http

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Type sends requests. Without callback the request is the job: the answer is its result. With
// callback a 2xx answer means that the job has started, and the result is reported later. Any other
// answer refuses the start if it proves that nothing was started; otherwise the start is unknown.
//
// The target cannot be asked what became of a request, and may not recognise a repeated key. So a
// request that was certainly not sent is refused and may be repeated, and one that was sent but not
// answered is unknown.
type Type struct {
	job.Unpolled
	client *rest.Client
}

var (
	_ job.Type     = (*Type)(nil)
	_ job.Blocking = (*Type)(nil)
	_ job.Checker  = (*Type)(nil)
)

// New returns a Type that connects through the guard.
func New(g *egress.Guard) *Type { return &Type{client: rest.New(g)} }

// Limit returns the timeout of a request that is the job itself.
func (t *Type) Limit(config pipeline.JobConfig) (time.Duration, bool) {
	c, ok := config.(*Config)
	if !ok || c.Callback {
		return 0, false
	}
	return c.Timeout.D(), true
}

// Start sends the request.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return job.Started{}, err
	}
	m, err := compose(a, c)
	if err != nil {
		return job.Started{}, job.Refuse(run.Permanent, "compose the request: %s", a.Secrets.Text(err.Error()))
	}
	got, err := t.client.Send(ctx, m, c.Timeout.D())
	switch {
	case err != nil:
		return job.Started{}, a.Secrets.Error(err)
	case !c.Callback:
		result := got.Result(a.Secrets)
		return job.Started{Handle: run.Handle(a.ID), Result: &result}, nil
	case !got.Success():
		return job.Started{}, t.client.NotStarted(got, a.Secrets)
	}
	return job.Started{Handle: run.Handle(a.ID)}, nil
}

// compose builds the request of an attempt.
func compose(a job.Attempt, c *Config) (rest.Message, error) {
	m, err := rest.NewMessage(c.Method, c.URL, c.Headers)
	if err != nil {
		return m, err
	}
	m.Key = string(a.ID)
	if c.Callback && a.Callback.URL != "" {
		m.Header.Set("Interlock-Callback-URL", a.Callback.URL)
		m.Header.Set("Interlock-Callback-Token", a.Callback.Token)
	}
	return m, m.SetBody(c.Body)
}

// Check connects. It sends nothing, because any request may start something.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return err
	}
	m, err := compose(a, c)
	if err == nil {
		err = t.client.Reach(ctx, c.URL, c.Timeout.D())
	}
	if err != nil {
		return a.Secrets.Error(rest.Checked(err))
	}
	return &job.Unsure{Reason: fmt.Sprintf("%s accepts connections; the request itself is not sent, because it may start the job", m.Host())}
}
