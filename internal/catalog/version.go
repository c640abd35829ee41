package catalog

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// Of returns the version of its file that the latest attempt of r opened with, whether or not it is
// still active. An attempt that recorded no version uses the active one. The error is as of
// Definition: IsGone reports that the version is not available.
//
// What then happens depends on what the caller does, and there are three cases. What starts or
// shows more than before must not go on: it returns the error. What ends an attempt goes on without
// a definition: IfKnown. What only looks uses the active version: Shown.
func (c *Catalog) Of(ctx context.Context, r run.Run) (*pipeline.Definition, error) {
	version := r.Progress.Opening.ConfigVersion
	if version != "" {
		return c.Definition(ctx, r.Pipeline, version)
	}
	if d := c.Current().Definition(r.Pipeline); d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("pipeline %s is not active, and %s names no version of its file: %w", r.Pipeline, r.Key, store.ErrNotFound)
}

// IfKnown turns the error for a version that is not available into a nil definition:
// IfKnown(c.Of(ctx, r)).
func IfKnown(d *pipeline.Definition, err error) (*pipeline.Definition, error) {
	if IsGone(err) {
		return nil, nil
	}
	return d, err
}

// Shown is Of for a reader, whom the active version serves better than none: own is false if it is
// returned because the version of the attempt is not available.
func (c *Catalog) Shown(ctx context.Context, r run.Run, active *pipeline.Definition) (d *pipeline.Definition, own bool, err error) {
	if r.Progress.Opening.ConfigVersion == "" {
		return active, true, nil
	}
	if d, err = c.Of(ctx, r); IsGone(err) {
		return active, false, nil
	}
	return d, true, err
}
