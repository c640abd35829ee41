package catalog

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// olderReaders says which pipelines have versions that read a sensor and that open attempts may
// still have, although they are not active. It may list too many, but not too few. Most of the time
// it is empty.
type olderReaders struct {
	mu      sync.RWMutex
	noted   map[pipeline.ID]olderReads
	readers map[address][]pipeline.ID
}

// olderReads are the sensors that the older versions of a pipeline read.
type olderReads struct {
	row      int64 // version of the row that named the versions
	versions []string
	sensors  []address
}

func newOlderReaders() *olderReaders {
	return &olderReaders{noted: map[pipeline.ID]olderReads{}, readers: map[address][]pipeline.ID{}}
}

// OlderReaders lists the pipelines with open attempts whose version is not active and reads that
// sensor. Some may have no such attempts any more; the row's Older is exact.
func (c *Catalog) OlderReaders(id pipeline.ID, key sensor.Key) []pipeline.ID {
	c.olderReaders.mu.RLock()
	defer c.olderReaders.mu.RUnlock()
	return c.olderReaders.readers[address{id, key}]
}

// OlderDependents lists the pipelines with open attempts whose version is not active and waits for
// the pipeline id.
func (c *Catalog) OlderDependents(id pipeline.ID) []pipeline.ID {
	return c.OlderReaders(id, sensor.UpstreamKey(string(id)))
}

// ForgetOlder drops a pipeline of whose open attempts none has an older version, as of that version
// of its row.
func (c *Catalog) ForgetOlder(id pipeline.ID, row int64) {
	c.olderReaders.set(id, olderReads{row: row})
}

// noteOlder reads which sensors the older versions of rows read. A version that is not stored or
// cannot be compiled is left out: its attempts cannot evaluate their gate either.
func (c *Catalog) noteOlder(ctx context.Context, rows []store.Pipeline) error {
	for _, row := range rows {
		if c.olderReaders.has(row) {
			continue
		}
		reads := olderReads{row: row.Version, versions: row.Older}
		for _, version := range row.Older {
			def, err := c.Definition(ctx, row.ID, version)
			if IsGone(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read the older versions of pipeline %s: %w", row.ID, err)
			}
			for _, up := range def.After { // no pipeline reads a run of its own
				reads.sensors = append(reads.sensors, address{up, sensor.UpstreamKey(string(up))})
			}
			for owner, key := range def.Reads() {
				reads.sensors = append(reads.sensors, address{owner, key})
			}
		}
		c.olderReaders.set(row.ID, reads)
	}
	return nil
}

func (o *olderReaders) has(row store.Pipeline) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Equal(o.noted[row.ID].versions, row.Older)
}

// set replaces what is known of a pipeline, unless that is newer. Lists that were returned stay as
// they are.
func (o *olderReaders) set(id pipeline.ID, reads olderReads) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.noted[id].row > reads.row {
		return
	}
	for _, at := range o.noted[id].sensors {
		o.readers[at] = slices.DeleteFunc(slices.Clone(o.readers[at]), func(other pipeline.ID) bool { return other == id })
		if len(o.readers[at]) == 0 {
			delete(o.readers, at)
		}
	}
	delete(o.noted, id)
	if len(reads.versions) == 0 {
		return
	}
	o.noted[id] = reads
	for _, at := range reads.sensors {
		if !slices.Contains(o.readers[at], id) {
			o.readers[at] = append(slices.Clip(o.readers[at]), id)
		}
	}
}

// olderThan lists the versions that open attempts may have beside the one that becomes active.
func olderThan(row store.Pipeline, version string) []string {
	var all []string
	for _, v := range append(slices.Clip(row.Older), row.Config) {
		if v != "" && v != version && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}
