package api

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/gate"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	maxWait  = time.Minute     // the longest wait for a gate
	gatePace = 5 * time.Second // see Deps.GatePace
)

// parseWait parses how long a request waits for a gate; 0 if it does not.
func parseWait(sent string) (time.Duration, *Problem) {
	if sent == "" {
		return 0, nil
	}
	d, err := document.ParseDuration(sent)
	if err != nil {
		return 0, badRequest("wait: %s", err).at("query.wait", "not a duration")
	}
	if d > maxWait {
		return 0, badRequest("wait is %s; it must be at most %s; repeat the request to wait longer", document.Duration(d), document.Duration(maxWait)).at("query.wait", "too long")
	}
	return d, nil
}

// asked identifies a gate that requests wait for.
type asked struct {
	pipeline pipeline.ID
	period   period.Period
}

// waits manages the requests that wait for gates. Requests for the same gate share one watch. It
// evaluates the gate when something that the gate depends on changes, and periodically, since rules
// may depend on the time alone.
type waits struct {
	api  *API
	pace time.Duration

	mu      sync.Mutex
	watches map[asked]*watch
	of      map[pipeline.ID]int // number of watches per pipeline
}

// watch evaluates one gate for the requests that wait for it. waits.mu guards all fields except the
// channels.
type watch struct {
	asked
	waiting int
	stale   chan struct{}      // holds one token if something has changed since the last evaluation
	found   chan struct{}      // closed once an answer ends the wait
	answer  client.Gate        // valid once found is closed
	stop    context.CancelFunc // called when no request waits any more
}

func newWaits(a *API, pace time.Duration) *waits {
	return &waits{api: a, pace: cmp.Or(pace, gatePace), watches: map[asked]*watch{}, of: map[pipeline.ID]int{}}
}

// GateChanged wakes only the requests that wait for a gate which depends on the change. The host
// calls it for each change that it has handled.
func (a *API) GateChanged(c store.Change) {
	a.waits.mu.Lock()
	defer a.waits.mu.Unlock()
	for _, one := range a.waits.waitingFor(c) {
		one.touch()
	}
}

// waitingFor returns the watches of gates that may depend on a change.
func (w *waits) waitingFor(c store.Change) []*watch {
	if len(w.watches) == 0 {
		return nil
	}
	var found []*watch
	for _, id := range w.concerned(c) {
		if w.of[id] == 0 {
			continue
		}
		for _, one := range w.watches {
			if one.pipeline == id && matters(c, one.period) {
				found = append(found, one)
			}
		}
	}
	return found
}

// concerned returns the pipelines whose gates may depend on a change.
func (w *waits) concerned(c store.Change) []pipeline.ID {
	ids := []pipeline.ID{c.Pipeline}
	if c.Kind != store.ReadingWritten {
		return ids
	}
	for _, e := range w.api.catalog.Current().Readers(c.Pipeline, c.Sensor) {
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// matters reports whether a change may affect the gate of a period. A dated reading affects only
// its own period and those inside it. Other runs of the pipeline count too: they may free a slot.
func matters(c store.Change, p period.Period) bool {
	return c.Kind != store.ReadingWritten || c.Period.IsZero() || c.Period == p || c.Period.Holds(p)
}

func (o *watch) touch() {
	select {
	case o.stale <- struct{}{}:
	default:
	}
}

// join adds a request to the watch of a gate.
func (w *waits) join(e *catalog.Entry, p period.Period, first client.Gate) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := asked{e.ID, p}
	one := w.watches[key]
	if one == nil {
		ctx, stop := context.WithCancel(context.Background())
		one = &watch{asked: key, stale: make(chan struct{}, 1), found: make(chan struct{}), stop: stop}
		one.touch() // covers changes from before the watch was registered
		w.watches[key] = one
		w.of[key.pipeline]++
		go w.watchGate(ctx, one, e, blockCode(first))
	}
	one.waiting++
	return one
}

// leave removes a request from a watch. The last request ends the watch.
func (w *waits) leave(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.waiting--; one.waiting == 0 {
		w.end(one)
	}
}

// end removes a watch, so that the next request starts a new one.
func (w *waits) end(one *watch) {
	one.stop()
	if w.watches[one.asked] != one {
		return
	}
	delete(w.watches, one.asked)
	if w.of[one.pipeline]--; w.of[one.pipeline] == 0 {
		delete(w.of, one.pipeline)
	}
}

// watchGate evaluates a gate until an answer ends the wait, or no request waits.
func (w *waits) watchGate(ctx context.Context, one *watch, e *catalog.Entry, before gate.Code) {
	tick := time.NewTicker(w.pace)
	defer tick.Stop()
	for {
		select {
		case <-one.stale:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if current := w.api.catalog.Current().Get(one.pipeline); current != nil {
			e = current
		}
		g, err := w.api.gateView(ctx, e, one.period)
		if err != nil { // the waiting requests evaluate the gate themselves in the end, and report the error
			continue
		}
		if endsWait(g, before) {
			w.mu.Lock()
			one.answer = g
			w.end(one)
			w.mu.Unlock()
			close(one.found)
			return
		}
		before = blockCode(g)
	}
}

// blockCode returns why a start is not allowed; "" if it is.
func blockCode(g client.Gate) gate.Code {
	if len(g.BlockedBy) == 0 {
		return ""
	}
	return gate.Code(g.BlockedBy[0].Code)
}

// endsWait reports whether an answer ends the wait: a start is allowed, it never will be, or the
// run's job has started since.
func endsWait(g client.Gate, before gate.Code) bool {
	code := blockCode(g)
	return g.Open || g.RetryAfterSeconds == nil || code != before && (code == gate.Running || code == gate.Held)
}

// awaitGate holds a request until a start is allowed or d has passed, and returns the gate's state
// then.
func (a *API) awaitGate(ctx context.Context, e *catalog.Entry, p period.Period, first client.Gate, d time.Duration) (client.Gate, error) {
	one := a.waits.join(e, p, first)
	defer a.waits.leave(one)
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-one.found:
		return one.answer, nil
	case <-ctx.Done():
		return client.Gate{}, ctx.Err()
	case <-limit.C:
	case <-a.closing.Done():
	}
	return a.gateView(ctx, e, p)
}
