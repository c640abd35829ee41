package awslambda

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/watchdog"
)

// Watch is the watchdog of the function: it looks for what did not happen, and relays intents that nobody carried out.
type Watch struct {
	*Router
	// Beat, where it is set, tells another party of each healthy pass: the watcher is watched.
	Beat func(ctx context.Context) error
	dog  *watchdog.Watchdog
}

// lookers is how many pipelines are looked at at once: what they ask for at the same time is read together.
const lookers = 200

// group is the router's place in the feed.
const group = "router"

// NewWatch makes a watchdog over r.
func NewWatch(r *Router) *Watch {
	return &Watch{Router: r, dog: watchdog.New(watchdog.Deps{
		Store: r.Store, Catalog: r.Catalog, Router: r.router, Deadlines: r.monitor, Group: group, Interval: r.Settings.Watch, Workers: lookers,
		Overview: r.Streams.Overview(),
	})}
}

// WatchReply is what one pass found.
type WatchReply struct {
	Findings map[string]int `json:"findings"`
	Relayed  int            `json:"relayed"`
	Probes   int            `json:"probes"` // tasks of probes
}

// Pass looks at everything once. What could not be looked at is an error, after all the rest has been.
func (w *Watch) Pass(ctx context.Context) (WatchReply, error) {
	if err := errors.Join(w.Catalog.Load(ctx), w.Catalog.LoadSources(ctx)); err != nil {
		return WatchReply{}, err
	}
	lost, unread := w.recoverSensors(ctx)
	report, err := w.dog.Pass(ctx, w.Now())
	report.Findings[lostSensors] = lost
	tasks, failed := w.relayOverdue(ctx)
	outboxes, unpublished := w.publishOverdue(ctx)
	probes, unasked := w.askProbes(ctx)
	return WatchReply{Findings: report.Findings, Relayed: tasks + outboxes, Probes: probes}, errors.Join(unread, err, failed, unpublished, unasked)
}

// relayOverdue relays the intents that should have been carried out two passes ago: the record that told of them was lost, or
// whoever took it. One that cannot be relayed keeps nobody else from it.
func (w *Watch) relayOverdue(ctx context.Context) (int, error) {
	overdue, err := w.Store.Overdue(ctx, w.forgotten(), store.MaxPage)
	if err != nil {
		return 0, fmt.Errorf("list overdue tasks: %w", err)
	}
	var errs []error
	for _, t := range overdue {
		errs = append(errs, w.task(ctx, t.ID, true))
	}
	return len(overdue), errors.Join(errs...)
}

// publishOverdue does the same for events.
func (w *Watch) publishOverdue(ctx context.Context) (int, error) {
	overdue, err := w.Streams.Outboxes(ctx, w.forgotten())
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, o := range overdue {
		errs = append(errs, w.publish(ctx, o))
	}
	return len(overdue), errors.Join(errs...)
}

// forgotten is the instant before which everything should have been passed on.
func (w *Watch) forgotten() time.Time { return w.Now().Add(-2 * w.Settings.Watch) }
