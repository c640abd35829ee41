package sim

import (
	"context"

	"github.com/interlock-go/interlock/internal/probe"
)

// Evaluator answers the questions to probes.
type Evaluator interface {
	Evaluate(ctx context.Context, r probe.Request) (probe.Answer, error)
}

// passing is a world in which whatever is looked at is fine.
type passing struct{}

func (passing) Evaluate(context.Context, probe.Request) (probe.Answer, error) {
	return probe.Answer{Status: probe.Pass}, nil
}
