package prober

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// attempt is a run, or a dry run, and the version of its file that it works on.
type attempt struct {
	run run.Run
	def *pipeline.Definition
}

// attempts are the run of that key, with the version of its file that it opened with, and the dry run where that is what its
// pipeline is by now: one that was opened in earnest goes on beside it.
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

// opened is the version of its file that a run opened with; the one in force where that is not known.
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

// missing makes the zero Run of one that is not there.
func missing(r run.Run, err error) (run.Run, error) {
	if errors.Is(err, store.ErrNotFound) {
		return run.Run{}, nil
	}
	return r, err
}
