package catalog

import (
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// place is where pipelines run, if that has limits of its own.
type place struct {
	platform  pipeline.Platform
	timeLimit time.Duration // of an attempt
}

// On has files judged by the limits of a platform, too. It is said before files are applied.
func (c *Catalog) On(p pipeline.Platform, timeLimit time.Duration) *Catalog {
	c.place = place{p, timeLimit}
	return c
}
