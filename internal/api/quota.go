package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Limits are quotas of each pipeline, so that none can use up what all share.
type Limits struct {
	SensorKeys  int   // keys that have a reading
	SensorBytes int64 // bytes of the latest readings of all keys
	OpenRuns    int   // runs that have not ended
}

// DefaultLimits are far above what a pipeline needs. One backfill of router.MaxBackfill periods fits.
var DefaultLimits = Limits{SensorKeys: 10_000, SensorBytes: 256 << 20, OpenRuns: 20_000}

// quotas counts what each pipeline uses. It reads a pipeline's usage from the store when the pipeline is first written
// to, and counts the requests of this process from then on. Replicas do not see each other's requests, so that together
// they may exceed a limit.
type quotas struct {
	Limits
	store records
	mu    sync.Mutex
	of    map[pipeline.ID]*usage
}

func newQuotas(l Limits, s records) *quotas {
	return &quotas{Limits: l, store: s, of: map[pipeline.ID]*usage{}}
}

// usage is what one pipeline uses.
type usage struct {
	mu    sync.Mutex
	sizes map[sensor.Key]int // of the latest reading of each key; nil until it is read
	bytes int64
	open  int       // runs that may be open: those counted last, and every request since that may have opened one
	asked time.Time // when open runs were counted
}

func (q *quotas) usage(id pipeline.ID) *usage {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.of[id]
	if u == nil {
		u = &usage{}
		q.of[id] = u
	}
	return u
}

// reserve counts a reading of that size as the latest of its key, or says which limit it would exceed. The function it
// returns takes that back.
func (q *quotas) reserve(ctx context.Context, id pipeline.ID, key sensor.Key, size int) (undo func(), p *Problem) {
	u := q.usage(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.readSizes(ctx, q.store, id); err != nil {
		return nil, problemOf(err)
	}
	old, known := u.sizes[key]
	switch {
	case !known && len(u.sizes) >= q.SensorKeys:
		return nil, problem(http.StatusTooManyRequests, limitReached,
			"pipeline %s has %d sensor keys, as many as limits.sensorKeys allows; write to one of them (a date belongs into the data, not into the key), or raise limits.sensorKeys in the server's file", id, len(u.sizes))
	case size > old && u.bytes+int64(size-old) > q.SensorBytes:
		return nil, problem(http.StatusRequestEntityTooLarge, limitReached,
			"the latest readings of pipeline %s have %d bytes, and limits.sensorBytes allows %s; write smaller readings, or raise limits.sensorBytes in the server's file", id, u.bytes, document.Size(q.SensorBytes))
	}
	if !known {
		key = sensor.Key(strings.Clone(string(key))) // it may be part of a whole request
	}
	u.set(key, size)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.set(key, old); !known {
			delete(u.sizes, key)
		}
	}, nil
}

func (u *usage) set(key sensor.Key, size int) {
	u.bytes += int64(size - u.sizes[key])
	u.sizes[key] = size
}

// readSizes reads how large the latest readings are, unless that is known.
func (u *usage) readSizes(ctx context.Context, s records, id pipeline.ID) error {
	if u.sizes != nil {
		return nil
	}
	sizes, err := s.SensorSizes(ctx, id)
	if err != nil {
		return fmt.Errorf("read how many sensors %s has: %w", id, err)
	}
	for key, size := range sizes {
		if key.Engine() {
			delete(sizes, key)
		} else {
			u.bytes += int64(size)
		}
	}
	u.sizes = sizes
	return nil
}

// recount is how long an answer that too many runs are open holds: counting them again takes time.
const recount = 5 * time.Second

// open counts a request that may open a run of the pipeline, or says that as many are open as may be.
func (q *quotas) open(ctx context.Context, id pipeline.ID, now time.Time) *Problem {
	u := q.usage(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.asked.IsZero() || u.open >= q.OpenRuns && now.Sub(u.asked) >= recount {
		runs, err := q.store.OpenRuns(ctx, id)
		if err != nil {
			return problemOf(fmt.Errorf("count the open runs of %s: %w", id, err))
		}
		u.open, u.asked = len(runs), now
	}
	if u.open >= q.OpenRuns {
		return problem(http.StatusTooManyRequests, limitReached,
			"pipeline %s has %d open runs, as many as limits.openRuns allows; wait until some have ended, cancel some, or raise limits.openRuns in the server's file", id, q.OpenRuns).
			with("Retry-After", fmt.Sprint(int(recount/time.Second)))
	}
	u.open++
	return nil
}

// opened corrects the count of a request that was let in for one run by the number that it may have opened: 0 if it was
// refused.
func (q *quotas) opened(id pipeline.ID, runs int) {
	u := q.usage(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = max(u.open+runs-1, 0)
}

// admit says which limit a reading would exceed. Undo takes back what it counted.
func (a *API) admit(ctx context.Context, e *catalog.Entry, r sensor.Reading, size int) (undo func(), p *Problem) {
	counted := false
	if opensRun(e, r) {
		if p := a.quotas.open(ctx, e.ID, a.now()); p != nil {
			// A run that exists already is not opened by it.
			key := e.Key(r.Period)
			if found, err := a.store.RunsAt(ctx, []run.Key{key}); err != nil || len(found) == 0 {
				return nil, p
			}
		} else {
			counted = true
		}
	}
	forget, p := a.quotas.reserve(ctx, e.ID, r.Key, size)
	if !counted {
		return forget, p
	}
	if p != nil {
		a.quotas.opened(e.ID, 0)
		return nil, p
	}
	return func() { forget(); a.quotas.opened(e.ID, 0) }, nil
}

// opensRun says whether a reading may open the run of its own period. An undated one opens at most that of the present.
func opensRun(e *catalog.Entry, r sensor.Reading) bool {
	if e.Opens != pipeline.ByStream || e.Start == nil || r.Period.IsZero() {
		return false
	}
	for _, ref := range e.Start.Gate.Refs() {
		if ref.From == "" && ref.Key == r.Key {
			return true
		}
	}
	return false
}
