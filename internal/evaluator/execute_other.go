//go:build !unix

package evaluator

import (
	"context"

	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
)

// execute fails: ending a program requires process groups.
func (a *asking) execute(context.Context) (probe.Answer, error) {
	return probe.Answer{}, failure(run.Permanent, "programs are not run on this system; use url or builtin, or a controller on Linux")
}
