package job

import (
	"context"

	"github.com/interlock-go/interlock/internal/run"
)

// Target is the target of one attempt's job, as the config describes it. Its methods are those of
// Type, Finder, Stopper and Checker for that attempt.
type Target interface {
	Start(ctx context.Context) (Started, error)
	Status(ctx context.Context, h run.Handle) (Status, error)
	Find(ctx context.Context) (h run.Handle, found bool, err error)
	Stop(ctx context.Context, h run.Handle) error
	Check(ctx context.Context) error
}

// ByTarget is a job type that returns the target of an attempt with config C. Its errors are
// *Refusal.
type ByTarget[C any, T Target] func(ctx context.Context, a Attempt, c *C) (T, error)

var _ interface {
	Type
	Finder
	Stopper
	Checker
} = ByTarget[any, Target](nil)

// ConfigOf returns the attempt's config, which must be of the job type's own struct C.
func ConfigOf[C any](a Attempt) (*C, error) {
	c, ok := any(a.Config).(*C)
	if !ok {
		return nil, Refuse(run.Permanent, "the config of %s is a %T instead of a %T", a.ID, a.Config, c)
	}
	return c, nil
}

func (t ByTarget[C, T]) target(ctx context.Context, a Attempt) (target T, err error) {
	c, err := ConfigOf[C](a)
	if err != nil {
		return target, err
	}
	return t(ctx, a, c)
}

// Start starts the job at the attempt's target.
func (t ByTarget[C, T]) Start(ctx context.Context, a Attempt) (Started, error) {
	target, err := t.target(ctx, a)
	if err != nil {
		return Started{}, err
	}
	return target.Start(ctx)
}

// Status reads the state of the job at the attempt's target.
func (t ByTarget[C, T]) Status(ctx context.Context, a Attempt, h run.Handle) (Status, error) {
	target, err := t.target(ctx, a)
	if err != nil {
		return Status{}, err
	}
	return target.Status(ctx, h)
}

// Find searches the attempt's target for its job.
func (t ByTarget[C, T]) Find(ctx context.Context, a Attempt) (run.Handle, bool, error) {
	target, err := t.target(ctx, a)
	if err != nil {
		return "", false, err
	}
	return target.Find(ctx)
}

// Stop ends the job at the attempt's target.
func (t ByTarget[C, T]) Stop(ctx context.Context, a Attempt, h run.Handle) error {
	target, err := t.target(ctx, a)
	if err != nil {
		return err
	}
	return target.Stop(ctx, h)
}

// Check checks the attempt's target.
func (t ByTarget[C, T]) Check(ctx context.Context, a Attempt) error {
	target, err := t.target(ctx, a)
	if err != nil {
		return err
	}
	return target.Check(ctx)
}
