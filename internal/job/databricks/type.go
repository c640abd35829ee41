package databricks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// Type starts runs and polls them. A run cannot be found by its idempotency token, but a repeated start with the same
// token returns the existing run.
type Type struct{ client *rest.Client }

var (
	_ job.Type         = (*Type)(nil)
	_ job.Stopper      = (*Type)(nil)
	_ job.Deduplicator = (*Type)(nil)
	_ job.Checker      = (*Type)(nil)
)

// New returns a Type that connects through the guard.
func New(g *egress.Guard) *Type { return &Type{rest.New(g)} }

// RefusesRepeats returns true: a workspace starts one run per token.
func (t *Type) RefusesRepeats() bool { return true }

// token returns the idempotency token of an attempt. Databricks allows at most 64 characters, which is the length of
// the hash.
func token(id run.AttemptID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// workspace is the workspace of one attempt's run.
type workspace struct {
	rest.API
	*Config
}

func (t *Type) workspace(a job.Attempt) (workspace, error) {
	c, err := job.ConfigOf[Config](a)
	if err != nil {
		return workspace{}, err
	}
	return workspace{rest.API{Client: t.client, Base: c.WorkspaceURL, Headers: c.Headers, Limit: c.Timeout.D(), Secrets: a.Secrets}, c}, nil
}

// Start runs the job, or submits the one-time run.
func (t *Type) Start(ctx context.Context, a job.Attempt) (job.Started, error) {
	w, err := t.workspace(a)
	if err != nil {
		return job.Started{}, err
	}
	id, err := w.start(ctx, token(a.ID))
	if err != nil {
		return job.Started{}, rest.Started(err)
	}
	return job.Started{Handle: run.Handle(strconv.FormatInt(id, 10))}, nil
}

// Status reads the run.
func (t *Type) Status(ctx context.Context, a job.Attempt, h run.Handle) (job.Status, error) {
	w, id, err := t.known(a, h)
	if err != nil {
		return job.Status{}, err
	}
	seen, err := w.look(ctx, id)
	if err != nil {
		return job.Status{}, err
	}
	return w.status(ctx, seen)
}

// Stop cancels the run. It returns nil for a run that has ended, whatever the workspace answers.
func (t *Type) Stop(ctx context.Context, a job.Attempt, h run.Handle) error {
	w, id, err := t.known(a, h)
	if err != nil {
		return err
	}
	err = w.cancel(ctx, id)
	if answered := (*rest.Answered)(nil); errors.As(err, &answered) && answered.Code == http.StatusBadRequest {
		if seen, lookErr := w.look(ctx, id); lookErr == nil && seen.end().done {
			return nil
		}
	}
	return err
}

// known returns the run of a handle.
func (t *Type) known(a job.Attempt, h run.Handle) (workspace, int64, error) {
	w, err := t.workspace(a)
	if err != nil {
		return w, 0, err
	}
	id, err := strconv.ParseInt(string(h), 10, 64)
	if err != nil || id <= 0 {
		return w, 0, job.ErrUnknownHandle
	}
	return w, id, nil
}

// Check reads the job or, for a one-time run, only checks that the workspace accepts the credentials.
func (t *Type) Check(ctx context.Context, a job.Attempt) error {
	w, err := t.workspace(a)
	if err != nil {
		return err
	}
	unsure := "the workspace accepts the credentials; whether they may submit these tasks, and whether the tasks can run, shows only when they are submitted"
	if id := w.job(); id != "" {
		err = w.getJob(ctx, id)
		unsure = "job " + id + " is there; whether the credentials may run it shows only when it is run"
	} else {
		err = w.listJobs(ctx)
	}
	if err != nil {
		return rest.Checked(err)
	}
	return &job.Unsure{Reason: w.Secrets.Text(unsure)}
}
