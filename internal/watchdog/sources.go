package watchdog

import (
	"context"

	"github.com/interlock-go/interlock/internal/ingest"
)

// silentSources finds sources whose events are missing: they have been silent for longer than on any of the last days
// with events. Each silence is reported once; it ends with the next event or the removal of the source.
func (w *Watchdog) silentSources(ctx context.Context, p pass) (int, error) {
	sources := w.Catalog.Sources()
	if len(sources.All()) == 0 && !w.hadSources {
		return 0, nil
	}
	w.hadSources = true
	return ingest.CheckSilence(ctx, w.Store, sources, p.now)
}
