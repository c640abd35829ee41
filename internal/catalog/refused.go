package catalog

import (
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// RefusedSource is a source file with errors.
type RefusedSource struct {
	File  string
	ID    source.ID // "" if unknown
	Stays bool      // the last good version of the source is active

	problems []string
}

// Problem describes the first error, and which version is active.
func (r RefusedSource) Problem() string {
	v := verdict{files: []string{r.File}, problems: r.problems}
	return v.refusal() + "; " + standing(pipeline.SourceFile, r.Stays)
}

// RefusedSources lists the source files that were last rejected, in the order in which they were
// read. The list must not be changed.
func (c *Catalog) RefusedSources() []RefusedSource {
	if all := c.refusedSources.Load(); all != nil {
		return *all
	}
	return nil
}

// activeSource returns the version of a source that is stored, which is the last good one, and when
// it was accepted; "" if there is none.
func (c *Catalog) activeSource(id source.ID) (version string, at time.Time) {
	kept, found := c.ledger.files[sourceKey(id)]
	if !found {
		return "", time.Time{}
	}
	return hash(string(kept.Data)), kept.At
}
