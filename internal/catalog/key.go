package catalog

import (
	"slices"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/source"
)

// Uses reports whether a reading of that sensor means anything: a pipeline's rules read it, or a
// probe or a source writes it too. Versions that open attempts may still have count.
func (c *Catalog) Uses(id pipeline.ID, key sensor.Key) bool {
	s := c.Current()
	return len(s.Readers(id, key)) > 0 || s.Probe(id, key) != nil || len(c.OlderReaders(id, key)) > 0 ||
		slices.ContainsFunc(c.Sources().All(), func(d *source.Definition) bool { return d.Writes(id, string(key)) })
}

// Keys lists the sensors of a pipeline that rules read or that its probes write, without those that
// the engine writes.
func (c *Catalog) Keys(id pipeline.ID) []string {
	var keys []string
	for _, e := range c.Current().All() {
		for owner, key := range e.Reads() {
			if owner == id && !key.Engine() && !slices.Contains(keys, string(key)) {
				keys = append(keys, string(key))
			}
		}
		if e.ID != id {
			continue
		}
		for _, p := range e.Probes {
			if !slices.Contains(keys, p.Key) {
				keys = append(keys, p.Key)
			}
		}
	}
	return keys
}
