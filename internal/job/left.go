package job

import (
	"errors"
	"fmt"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Left returns the state of the job of r's attempt if the attempt ends now without the job's result.
// It asks no target: JobStopping means that the job, if there is one, must be stopped after the end
// is stored. In this order, a job that ends because it is stopped cannot be mistaken for a result.
// The error says why a job cannot be stopped. def is the version that the attempt opened with, nil
// if it is not available.
func Left(def *pipeline.Definition, r run.Run) (run.Leftover, error) {
	switch {
	case !r.MayHaveJob():
		return run.NothingLeft, nil
	case def == nil:
		return run.JobMayRun, errors.New("its version of the file is not available")
	case def.Job == nil:
		return run.NothingLeft, nil
	}
	if worker, is := Offers(def.Job); is {
		if worker.HeartbeatLimit() > 0 {
			return run.JobStopping, nil
		}
		return run.JobMayRun, fmt.Errorf("worker %s sends no heartbeats, so it cannot be asked to stop", r.Progress.Offer.Worker)
	}
	if _, cannot := def.Job.Config.(Unstoppable); cannot && !r.Progress.StartedAt.IsZero() {
		return run.JobMayRun, fmt.Errorf("a job of type %q cannot be stopped", def.Job.Type)
	}
	return run.JobStopping, nil
}
