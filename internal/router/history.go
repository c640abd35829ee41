package router

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// historySince lists the writes of a key since an instant, newest first, and one page before it, so
// that the first of them can be compared with its predecessor.
func (c *core) historySince(ctx context.Context, of store.ReadingQuery, since time.Time) ([]*sensor.Reading, error) {
	var writes []*sensor.Reading
	q := store.HistoryQuery{Pipeline: of.Pipeline, Key: of.Key, Limit: historyPage}
	for {
		page, err := c.store.History(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read history of sensor %s of %s: %w", of.Key, of.Pipeline, err)
		}
		past := len(writes) > 0 && writes[len(writes)-1].UpdatedAt.Before(since)
		writes = append(writes, page.Items...)
		if past || page.Next == "" {
			return writes, nil
		}
		q.Cursor = page.Next
	}
}

// historyPage is how many writes are read at once.
const historyPage = 200

// newInSlice reports whether a write brought data that its period did not have before; earlier are
// the writes before it, newest first. An undated write that repeats the data of an earlier period
// is new in its own: "ready" is the same data every day.
func newInSlice(e *catalog.Entry, w *sensor.Reading, earlier []*sensor.Reading) bool {
	for _, old := range earlier {
		if old.Period == w.Period {
			return old.Deleted || !w.SameFacts(old) || e.PeriodOf(old) != e.PeriodOf(w)
		}
	}
	return true
}

// lastChanges returns the change of the last write for each period. writes are those of one key,
// newest first.
func lastChanges(e *catalog.Entry, id pipeline.ID, writes []*sensor.Reading, since time.Time) []store.Change {
	type place struct{ slice, written period.Period }
	var changes []store.Change
	seen := map[place]bool{}
	for _, w := range writes {
		if w.UpdatedAt.Before(since) {
			break
		}
		at := place{e.PeriodOf(w), w.Period}
		if seen[at] {
			continue
		}
		seen[at] = true
		changes = append(changes, store.Change{
			Kind: store.ReadingWritten, At: w.UpdatedAt, Pipeline: id, Sensor: w.Key, Period: w.Period, Version: w.Version,
		})
	}
	return changes
}
