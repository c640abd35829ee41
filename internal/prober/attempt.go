package prober

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// attempt is a run or dry run, and the version of its file that it uses.
type attempt struct {
	run run.Run
	def *pipeline.Definition
}

// attempts returns the run of that key, with the file version it opened with, and also the dry run if the pipeline is
// now a dry run: a real run that was open before continues beside it.
func (t *turn) attempts(ctx context.Context, key run.Key) ([]attempt, error) {
	inForce := t.Catalog.Current().Definition(key.Pipeline)
	var found []attempt
	r, err := missing(t.Store.Run(ctx, key))
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", key, err)
	}
	if def, err := t.opened(ctx, r, inForce); err != nil {
		return nil, err
	} else if def != nil && r.Status != "" {
		found = append(found, attempt{r, def})
	}
	if inForce == nil || !inForce.DryRun {
		return found, nil
	}
	dry, err := missing(t.Store.DryRun(ctx, key))
	if err != nil {
		return nil, fmt.Errorf("read dry run %s: %w", key, err)
	}
	if dry.Status != "" {
		found = append(found, attempt{dry, inForce})
	}
	return found, nil
}

// opened returns the file version that a run opened with; the one in force if that is unknown.
func (t *turn) opened(ctx context.Context, r run.Run, inForce *pipeline.Definition) (*pipeline.Definition, error) {
	version := r.Progress.Opening.ConfigVersion
	if version == "" {
		return inForce, nil
	}
	def, err := t.Catalog.Definition(ctx, r.Pipeline, version)
	if errors.Is(err, store.ErrNotFound) {
		return inForce, nil
	}
	return def, err
}

// missing converts store.ErrNotFound to the zero Run.
func missing(r run.Run, err error) (run.Run, error) {
	if errors.Is(err, store.ErrNotFound) {
		return run.Run{}, nil
	}
	return r, err
}
