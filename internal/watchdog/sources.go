package watchdog

import (
	"context"

	"github.com/interlock-go/interlock/internal/ingest"
)

// silentSources finds sources whose events are missing: they have been quiet for longer than on any of the last days with
// events. Each silence is reported once; the next event ends it, and so does the removal of the source.
func (w *Watchdog) silentSources(ctx context.Context, p pass) (int, error) {
	sources := w.Catalog.Sources()
	if len(sources.All()) == 0 && !w.hadSources {
		return 0, nil
	}
	w.hadSources = true
	return ingest.CheckSilence(ctx, w.Store, sources, p.now)
}
