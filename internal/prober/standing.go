package prober

import (
	"context"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
)

// Standing is a probe that is in force, and how it has done of late.
type Standing struct {
	Pipeline pipeline.ID
	Probe    pipeline.Probe
	State    probe.State
}

// Standings are those of all probes of a pipeline, in the order of its file.
func Standings(ctx context.Context, from notes, e *catalog.Entry) ([]Standing, error) {
	all := make([]Standing, 0, len(e.Probes))
	for _, p := range e.Probes {
		s, err := StateOf(ctx, from, e.ID, p.Key, e.Version)
		if err != nil {
			return nil, err
		}
		all = append(all, Standing{Pipeline: e.ID, Probe: p, State: s})
	}
	return all, nil
}
