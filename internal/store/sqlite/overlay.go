package sqlite

import (
	"cmp"
	"slices"
	"sync"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// reading is one write of a sensor, as the log holds it. It is never changed once it is in the log.
type reading struct {
	sensorID
	period   period.Period
	version  int64
	at       int64
	order    int64
	prev     tip   // the write before it under the same key
	prevSame int64 // the same, for the same period
	changed  bool
	extra    string
	body     string
}

type sensorID struct {
	pipeline pipeline.ID
	sensor   sensor.Key
}

// tip is the most recent write of a key; version 0 if there is none.
type tip struct {
	version int64
	period  period.Period
}

func (r *reading) tip() tip { return tip{r.version, r.period} }

// give is the reading for a caller.
func (r *reading) give() (*sensor.Reading, error) {
	out := &sensor.Reading{Key: r.sensor, Period: r.period, UpdatedAt: fromNanos(r.at), Version: r.version}
	if err := store.DecodeData(out, []byte(r.body)); err != nil {
		return nil, err
	}
	if r.extra != "" {
		e, err := decode[extra](r.extra)
		if err != nil {
			return nil, err
		}
		out.Source, out.ExpiresAt = e.Source, e.ExpiresAt
	}
	return out, nil
}

// size is about how much memory it takes.
func (r *reading) size() int {
	return 256 + len(r.pipeline) + len(r.sensor) + len(r.extra) + len(r.body)
}

// overlay holds the readings that are in the log and not yet in their table. Updating a row of a table with many keys
// dirties a page for each; a write that only appends to the log costs a third of that (see bench_test.go). So rows are
// folded in behind, sorted, and only the last of many writes of the same row.
//
// A reader looks here first and into the table after that, and takes the newer: folding commits before it lets go here.
// Only the writer changes an overlay, so it alone reads without the lock.
type overlay struct {
	mu      sync.RWMutex
	fresh   *generation // takes the writes
	folding *generation // full, on its way into the table; nil if there is none
	clean   *generation // was folded last: spares the writer, and only him, a look into the table
}

// generation is what is folded in one go.
type generation struct {
	keys   map[sensorID]*keyRows
	rows   int
	writes int
	bytes  int
	first  int64 // the position of its first write
	last   int64 // and of its last
	todo   []*keyRows
}

// keyRows are the last writes of each period of one key.
type keyRows struct {
	sensorID
	base tip // before this generation
	tip  tip
	rows map[period.Period]*reading
}

func newGeneration() *generation { return &generation{keys: map[sensorID]*keyRows{}} }

// add puts a write in the place of the one before it.
func (g *generation) add(r *reading) {
	k := g.keys[r.sensorID]
	if k == nil {
		k = &keyRows{sensorID: r.sensorID, base: r.prev, rows: make(map[period.Period]*reading, 1)}
		g.keys[r.sensorID] = k
	}
	if old := k.rows[r.period]; old != nil {
		g.bytes -= old.size()
	} else {
		g.rows++
	}
	if g.writes == 0 {
		g.first = r.version
	}
	k.rows[r.period], k.tip = r, r.tip()
	g.bytes += r.size()
	g.writes++
	g.last = r.version
}

// sort plans the folding: neighbours in the table are folded together, so that a page is written once.
func (g *generation) sort() {
	for _, k := range g.keys {
		g.todo = append(g.todo, k)
	}
	slices.SortFunc(g.todo, func(a, b *keyRows) int {
		return cmp.Or(cmp.Compare(a.pipeline, b.pipeline), cmp.Compare(a.sensor, b.sensor))
	})
}

// publish makes committed writes visible.
func (o *overlay) publish(writes []*reading) {
	if len(writes) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range writes {
		o.fresh.add(r)
	}
}

// freeze begins to fold what is fresh.
func (o *overlay) freeze() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.folding, o.fresh = o.fresh, newGeneration()
	o.folding.sort()
}

// folded lets go of what is in the table now.
func (o *overlay) folded() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clean, o.folding = o.folding, nil
}

// rowsOf gives what is held of a key. In whole it says that the table holds nothing else of it.
func (o *overlay) rowsOf(id sensorID) (rows map[period.Period]*reading, whole bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	rows = map[period.Period]*reading{}
	for _, g := range []*generation{o.folding, o.fresh} {
		if g == nil || g.keys[id] == nil {
			continue
		}
		k := g.keys[id]
		whole = whole || k.base.version == 0
		for p, r := range k.rows {
			rows[p] = r
		}
	}
	return rows, whole
}

// latestOf gives the most recent write of every key of a pipeline that is held.
func (o *overlay) latestOf(id pipeline.ID) map[sensor.Key]*reading {
	o.mu.RLock()
	defer o.mu.RUnlock()
	latest := map[sensor.Key]*reading{}
	for _, g := range []*generation{o.folding, o.fresh} {
		if g == nil {
			continue
		}
		for at, k := range g.keys {
			if at.pipeline == id {
				latest[at.sensor] = k.rows[k.tip.period]
			}
		}
	}
	return latest
}

// first is the position of the first write that is not in the table yet; 0 if all are.
func (o *overlay) first() int64 {
	if o.folding != nil {
		return o.folding.first
	}
	return o.fresh.first
}

// generations are those that the writer looks into, the newest first.
func (o *overlay) generations() [3]*generation { return [3]*generation{o.fresh, o.folding, o.clean} }
