package record

import (
	"sync"

	"github.com/interlock-go/interlock/internal/store/row"
)

// Bounds of the memory that known takes: about 10 MB.
const (
	maxKnown     = 10_000 // readings
	maxKnownData = 512    // bytes of data per reading
)

// known holds readings that this process stored last, so that the next write of the same sensor
// need not read its row again. It is off where several processes share the data: there it would
// often be outdated, and cost a round trip instead of saving one. A known reading that is outdated
// nevertheless, because Trim deleted its row for example, makes the transaction that relies on it a
// conflict, and the retry reads the row.
type known struct {
	on bool

	mu       sync.Mutex
	readings map[row.Ref]*reading
}

// before returns the known reading that w replaces; nil if the row must be read. Only a write that
// is certain to replace the row may rely on it, because no transaction checks a reading that stays.
func (k *known) before(w *reading, ref row.Ref) *reading {
	if !k.on || w.Own || w.Order != 0 || w.once.ID != "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.readings[ref]
}

// add remembers readings that were stored.
func (k *known) add(stored []*reading) {
	if !k.on {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.readings == nil {
		k.readings = map[row.Ref]*reading{}
	}
	for _, r := range stored {
		ref := r.ref()
		if old := k.readings[ref]; old != nil && old.Version > r.Version {
			continue // stored by another call meanwhile
		}
		delete(k.readings, ref)
		if len(r.Data) > maxKnownData || r.Own || r.Order != 0 {
			continue // too large, or of a sensor whose writes rely on nothing known
		}
		if len(k.readings) == maxKnown {
			for other := range k.readings {
				delete(k.readings, other) // an arbitrary one
				break
			}
		}
		kept := *r
		kept.call = nil // it would keep the whole call in memory
		k.readings[ref] = &kept
	}
}

// forget makes the next writes of the same sensors read their rows.
func (k *known) forget(writes []*reading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range writes {
		delete(k.readings, w.ref())
	}
}
