package catalog

import (
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
)

// place is where pipelines run, if that has limits of its own.
type place struct {
	platform   pipeline.Platform
	timeLimit  time.Duration // of an attempt
	noPrograms bool
}

// On has files judged by the limits of a platform, too. It is said before files are applied.
func (c *Catalog) On(p pipeline.Platform, timeLimit time.Duration) *Catalog {
	c.place.platform, c.place.timeLimit = p, timeLimit
	return c
}

// WithoutPrograms rejects files whose jobs or probes run a program on the controller's own machine. It is called before files
// are applied. An older version that is in force stays so.
func (c *Catalog) WithoutPrograms() { c.place.noPrograms = true }
