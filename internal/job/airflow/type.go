package airflow

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/rest"
	"github.com/interlock-go/interlock/internal/run"
)

// Type creates DAG runs and polls them. The attempt's id is the DAG run's id: Airflow itself
// rejects a second one, and the handle of a job follows from its attempt.
type Type struct{ job.ByTarget[Config, target] }

var _ job.Deduplicator = (*Type)(nil)

// New returns a Type that connects through the guard.
func New(g *egress.Guard) *Type {
	client := rest.New(g)
	return &Type{func(_ context.Context, a job.Attempt, c *Config) (target, error) {
		api := rest.API{Client: client, Base: c.URL, Headers: c.Headers, Limit: c.Timeout.D(), Secrets: a.Secrets}
		return target{api, c, runID(a.ID)}, nil
	}}
}

// RefusesRepeats returns true: DAG run ids are unique within a DAG.
func (t *Type) RefusesRepeats() bool { return true }

// runID returns the id of an attempt's DAG run. Airflow allows no slash in it, and Interlock no
// tilde in an attempt's id.
func runID(id run.AttemptID) string { return strings.ReplaceAll(string(id), "/", "~") }

// target is the DAG of one attempt.
type target struct {
	rest.API
	*Config
	run string
}

// Start creates the DAG run, or adopts it if it exists.
func (d target) Start(ctx context.Context) (job.Started, error) {
	err := d.create(ctx)
	if answered, ok := errors.AsType[*rest.Answered](err); ok && answered.Code == http.StatusConflict {
		err = d.adopt(ctx, answered)
	}
	if err != nil {
		return job.Started{}, rest.Started(err)
	}
	return job.Started{Handle: run.Handle(d.run)}, nil
}

// adopt makes sure that a conflict is about the run's id and not about its logical date.
func (d target) adopt(ctx context.Context, conflict *rest.Answered) error {
	_, err := d.readRun(ctx)
	if errors.Is(err, job.ErrUnknownHandle) {
		return job.Refuse(run.Permanent, "%s, but there is no run %s, so another run has the same logical date: remove logical_date from job.config.body, or make it unique", conflict.Text, d.run)
	}
	if err != nil {
		return fmt.Errorf("adopt the existing run: %w", rest.Open(err)) // it may be ours, so this is no refusal
	}
	return nil
}

// Find reads the DAG run.
func (d target) Find(ctx context.Context) (run.Handle, bool, error) {
	_, err := d.readRun(ctx)
	switch {
	case errors.Is(err, job.ErrUnknownHandle):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return run.Handle(d.run), true, nil
}

// Status reads the DAG run.
func (d target) Status(ctx context.Context, h run.Handle) (job.Status, error) {
	seen, err := d.known(ctx, h)
	if err != nil {
		return job.Status{}, err
	}
	return d.outcome(ctx, seen)
}

// Stop marks a DAG run as failed, which ends its tasks. It does nothing if the DAG run has ended.
func (d target) Stop(ctx context.Context, h run.Handle) error {
	seen, err := d.known(ctx, h)
	if err != nil || seen.State == stateSuccess || seen.State == stateFailed {
		return err
	}
	return d.fail(ctx)
}

// known reads the DAG run of a handle, which must belong to this attempt.
func (d target) known(ctx context.Context, h run.Handle) (dagRun, error) {
	if string(h) != d.run {
		return dagRun{}, job.ErrUnknownHandle
	}
	return d.readRun(ctx)
}

// Check reads the DAG.
func (d target) Check(ctx context.Context) error {
	found, err := d.dag(ctx)
	switch {
	case err != nil:
		return rest.Checked(err)
	case found.removed():
		return d.unfit("DAG %q has been removed: Airflow no longer finds it in its DAG files; restore its file, or change job.config.dagID", d.DagID)
	case found.Paused:
		return d.unfit("DAG %q is paused: its runs would wait until it is unpaused", d.DagID)
	case found.Broken:
		return d.unfit("DAG %q has import errors; Airflow's list of DAGs shows them", d.DagID)
	}
	return &job.Unsure{Reason: d.Secrets.Text(fmt.Sprintf("DAG %q is active and has no import errors; only a start shows whether the credentials may start it", d.DagID))}
}

func (d target) unfit(format string, args ...any) error {
	return job.Refuse(run.Permanent, "%s", d.Secrets.Text(fmt.Sprintf(format, args...)))
}
