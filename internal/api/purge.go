package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// purge deletes what is stored about a removed pipeline.
func (a *API) purge(ctx context.Context, in *struct {
	OfPipeline
	Body client.PurgeRequest
},
) (*output[client.Purged], error) {
	id := pipeline.ID(in.ID)
	if strings.TrimSpace(in.Body.Reason) == "" {
		return nil, badRequest("a purge needs a reason").at("body.reason", "missing")
	}
	done, err := a.store.Purge(ctx, id, in.Body.DryRun, a.now())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, a.noPipeline(ctx, id)
	case errors.Is(err, store.ErrConflict):
		return nil, problem(http.StatusConflict, refused, "the purge of %s stopped, because a file for the pipeline was read meanwhile; what was deleted until then stays deleted", id)
	case err != nil:
		return nil, fmt.Errorf("purge %s: %w", id, err)
	case done.Active:
		return nil, problem(http.StatusConflict, refused, "pipeline %s has a file, active or rejected; remove the file before purging it", id)
	case !done.NotBefore.IsZero():
		return nil, problem(http.StatusConflict, refused, "pipeline %s was removed, or a run of it ended, a moment ago; purge it from %s on", id, period.Stamp(done.NotBefore))
	case len(done.Open) > 0:
		return nil, problem(http.StatusConflict, refused, "pipeline %s is not at rest: %s open; cancel its runs, or wait until they have ended", id, openText(done.Open))
	case !in.Body.DryRun:
		a.quotas.forget(id)
	}
	return answer(client.Purged{Pipeline: in.ID, DryRun: in.Body.DryRun, Rows: done.Rows}), nil
}

func openText(open []string) string {
	if len(open) == 1 {
		return open[0] + " is"
	}
	return strings.Join(open, ", ") + " are"
}
