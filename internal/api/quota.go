package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Limits are the quotas of each pipeline and each token, so that none can use up the shared store.
type Limits struct {
	SensorKeys      int   // keys that have a reading
	SensorBytes     int64 // bytes of the latest readings of all keys
	OpenRuns        int   // runs that have not ended
	WriteBytes      int64 // bytes that clients write to a pipeline in an hour
	TokenWriteBytes int64 // bytes that one token writes to all pipelines in an hour
}

// DefaultLimits are far above the needs of a pipeline. One backfill of router.MaxBackfill periods
// fits.
var DefaultLimits = Limits{SensorKeys: 10_000, SensorBytes: 256 << 20, OpenRuns: 20_000, WriteBytes: 256 << 20, TokenWriteBytes: 1 << 30}

// quotas counts the usage of each pipeline and each token. It reads the sensors and open runs of a
// pipeline from the store on the first request that needs them, and counts the requests of this
// process from then on. Replicas do not see each other's requests, so together they may exceed a
// limit.
type quotas struct {
	Limits
	store    records
	logger   *slog.Logger
	rejected *prometheus.CounterVec
	mu       sync.Mutex
	of       map[pipeline.ID]*usage
	tokens   map[string]*written // by name
}

func newQuotas(l Limits, s records, logger *slog.Logger) *quotas {
	return &quotas{Limits: l, store: s, logger: logger, of: map[pipeline.ID]*usage{}, tokens: map[string]*written{}}
}

// usage is the usage of one pipeline.
type usage struct {
	written // guarded by quotas.mu

	mu    sync.Mutex
	keys  share
	data  share
	runs  share
	sizes map[sensor.Key]int // size of the latest reading of each key; nil until it is read
	bytes int64
	open  int       // upper bound of open runs: the last count, plus every request since that may have opened one
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

// forget drops what was counted for a pipeline whose records are deleted.
func (q *quotas) forget(id pipeline.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.of, id)
}

// reserve counts a reading of that size as the latest of its key, or returns the limit it would
// exceed. undo reverses the count.
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
		return nil, q.reached(limitKeys, http.StatusTooManyRequests,
			"pipeline %s has %d sensor keys, as many as limits.sensorKeys allows; write to an existing key (a date belongs in the data, not in the key), or raise limits.sensorKeys in the server's file", id, len(u.sizes))
	case size > old && u.bytes+int64(size-old) > q.SensorBytes:
		return nil, q.reached(limitData, http.StatusRequestEntityTooLarge,
			"the latest readings of pipeline %s have %d bytes, and limits.sensorBytes allows %s; write smaller readings, or raise limits.sensorBytes in the server's file", id, u.bytes, document.Size(q.SensorBytes))
	}
	if !known {
		key = sensor.Key(strings.Clone(string(key))) // a copy: the key may be a slice of a whole request
	}
	u.set(key, size)
	q.used(&u.keys, limitKeys, "pipeline", string(id), int64(len(u.sizes)), int64(q.SensorKeys))
	q.used(&u.data, limitData, "pipeline", string(id), u.bytes, q.SensorBytes)
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

// readSizes reads the sizes of the latest readings once.
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

// The number of open runs is counted again after recount if it reached the limit, and after
// recountNear if it is near the limit: counting takes time.
const (
	recount     = 5 * time.Second
	recountNear = time.Minute
)

// open counts a request that may open a run of the pipeline, or returns a Problem if the limit is
// reached.
func (q *quotas) open(ctx context.Context, id pipeline.ID, now time.Time) *Problem {
	u := q.usage(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.asked.IsZero() || u.open >= q.OpenRuns && now.Sub(u.asked) >= recount || near(u.open, q.OpenRuns) && now.Sub(u.asked) >= recountNear {
		runs, err := q.store.OpenRuns(ctx, id)
		if err != nil {
			return problemOf(fmt.Errorf("count the open runs of %s: %w", id, err))
		}
		u.open, u.asked = len(runs), now
		q.used(&u.runs, limitRuns, "pipeline", string(id), int64(u.open), int64(q.OpenRuns))
	}
	if u.open >= q.OpenRuns {
		return q.reached(limitRuns, http.StatusTooManyRequests,
			"pipeline %s has %d open runs, as many as limits.openRuns allows; wait until some have ended, cancel some, or raise limits.openRuns in the server's file", id, q.OpenRuns).
			with("Retry-After", fmt.Sprint(int(recount/time.Second)))
	}
	u.open++
	return nil
}

// opened corrects the count of a request that open counted as one run: runs is how many it may have
// opened, 0 if it was rejected.
func (q *quotas) opened(id pipeline.ID, runs int) {
	u := q.usage(id)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open = max(u.open+runs-1, 0)
}

// admit counts a reading that a client writes, or returns the limit it would exceed. undo reverses
// the count.
func (a *API) admit(ctx context.Context, who principal, e *catalog.Entry, r sensor.Reading, size int) (undo func(), p *Problem) {
	unwrite, p := a.quotas.write(who, e.ID, size, a.now())
	if p != nil {
		return nil, p
	}
	forget, p := a.reserve(ctx, e, r, size)
	if p != nil {
		unwrite()
		return nil, p
	}
	return func() { forget(); unwrite() }, nil
}

// reserve counts what a reading adds to the sensors and the open runs of its pipeline.
func (a *API) reserve(ctx context.Context, e *catalog.Entry, r sensor.Reading, size int) (undo func(), p *Problem) {
	counted := false
	if opensRun(e, r) {
		if p := a.quotas.open(ctx, e.ID, a.now()); p != nil {
			// A reading for an existing run does not open it.
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

// opensRun reports whether a reading may open the run of its own period. An undated reading opens
// at most the current one.
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
