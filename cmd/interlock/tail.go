package main

import (
	"context"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// tails reads what running jobs have printed so far, of those types that can: on the replica that a job belongs to.
func (j *jobs) tails(replica string, known *catalog.Catalog) func(context.Context, run.Run) (string, bool, error) {
	return func(ctx context.Context, r run.Run) (string, bool, error) {
		p := r.Progress
		if p.Handle == "" || p.Replica != "" && p.Replica != replica {
			return "", false, nil
		}
		def := known.Current().Definition(r.Pipeline)
		if version := p.Opening.ConfigVersion; version != "" {
			if older, err := known.Definition(ctx, r.Pipeline, version); err == nil {
				def = older
			}
		}
		if def == nil || def.Job == nil {
			return "", false, nil
		}
		t, can := j.types[def.Job.Type].(job.Tailer)
		if !can {
			return "", false, nil
		}
		text, err := t.Tail(p.Handle)
		return text, err == nil, err
	}
}
