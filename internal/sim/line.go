package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// errFault is the error of a store call without an answer, whether or not it had an effect.
var errFault = fmt.Errorf("the store does not answer: %w", store.ErrAway)

// line is one controller's connection to the store. Every call may fail before or after it took
// effect; the controller may crash on either side of it, be suspended, or be overtaken by others.
type line struct {
	store.Store
	host  *host
	whole bool // no other act runs in between: for callers that hold a lock
}

var _ store.Store = (*line)(nil)

// before injects faults before a call takes effect.
func (l *line) before(name string) error {
	w := l.host.world
	if w.current != nil && w.current.dead { // a handler that recovers panics has recovered the crash
		return l.host.gone(l)
	}
	if w.chaos == nil {
		return nil
	}
	return w.chaos.strike(l, name, false)
}

// after injects faults after a call took effect.
func (l *line) after(name string) error {
	c := l.host.world.chaos
	if c == nil {
		return nil
	}
	return c.strike(l, name, true)
}

// ask makes one call.
func ask[T any](l *line, name string, call func() (T, error)) (T, error) {
	var none T
	if err := l.before(name); err != nil {
		return none, err
	}
	answer, err := call()
	if err != nil {
		return answer, err
	}
	if err := l.after(name); err != nil {
		return none, err
	}
	return answer, nil
}

// demand makes a call that returns only an error.
func demand(l *line, name string, call func() error) error {
	_, err := ask(l, name, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// All methods of a store, each with its name.

func (l *line) Commit(ctx context.Context, b store.Batch, now time.Time) error {
	return demand(l, "Commit", func() error { return l.Store.Commit(ctx, b, now) })
}

func (l *line) PutReadings(ctx context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	return ask(l, "PutReadings", func() ([]store.Put, error) { return l.Store.PutReadings(ctx, writes, now) })
}

func (l *line) Run(ctx context.Context, key run.Key) (run.Run, error) {
	return ask(l, "Run", func() (run.Run, error) { return l.Store.Run(ctx, key) })
}

func (l *line) DryRun(ctx context.Context, key run.Key) (run.Run, error) {
	return ask(l, "DryRun", func() (run.Run, error) { return l.Store.DryRun(ctx, key) })
}

func (l *line) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	return ask(l, "Runs", func() (store.Page[run.Run], error) { return l.Store.Runs(ctx, q) })
}

func (l *line) OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error) {
	return ask(l, "OpenRuns", func() ([]run.Run, error) { return l.Store.OpenRuns(ctx, id) })
}

func (l *line) RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error) {
	return ask(l, "RunsAt", func() (map[run.Key]run.Run, error) { return l.Store.RunsAt(ctx, keys) })
}

func (l *line) Pipeline(ctx context.Context, id pipeline.ID) (store.Pipeline, error) {
	return ask(l, "Pipeline", func() (store.Pipeline, error) { return l.Store.Pipeline(ctx, id) })
}

func (l *line) Pipelines(ctx context.Context) ([]store.Pipeline, error) {
	return ask(l, "Pipelines", func() ([]store.Pipeline, error) { return l.Store.Pipelines(ctx) })
}

func (l *line) EachPipeline(ctx context.Context, do func(store.Pipeline) error) error {
	rows, err := l.Pipelines(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := do(row); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) Config(ctx context.Context, id pipeline.ID, version string) (store.Config, error) {
	if l.whole { // the catalog makes many calls at once, and the world has one thread
		return l.Store.Config(ctx, id, version)
	}
	return ask(l, "Config", func() (store.Config, error) { return l.Store.Config(ctx, id, version) })
}

func (l *line) Configs(ctx context.Context, id pipeline.ID) ([]store.Config, error) {
	return ask(l, "Configs", func() ([]store.Config, error) { return l.Store.Configs(ctx, id) })
}

func (l *line) Readings(ctx context.Context, queries []store.ReadingQuery) ([][]*sensor.Reading, error) {
	return ask(l, "Readings", func() ([][]*sensor.Reading, error) { return l.Store.Readings(ctx, queries) })
}

func (l *line) LatestReadings(ctx context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	return ask(l, "LatestReadings", func() (store.Page[*sensor.Reading], error) { return l.Store.LatestReadings(ctx, q) })
}

func (l *line) SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error) {
	return ask(l, "SensorSizes", func() (map[sensor.Key]int, error) { return l.Store.SensorSizes(ctx, id) })
}

func (l *line) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	return ask(l, "History", func() (store.Page[*sensor.Reading], error) { return l.Store.History(ctx, q) })
}

func (l *line) Writes(ctx context.Context, ids []store.WriteID) (map[store.WriteID]*sensor.Reading, error) {
	return ask(l, "Writes", func() (map[store.WriteID]*sensor.Reading, error) { return l.Store.Writes(ctx, ids) })
}

func (l *line) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	return ask(l, "Deadlines", func() (store.Page[store.Deadline], error) { return l.Store.Deadlines(ctx, q) })
}

func (l *line) JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]store.JobEntry, error) {
	return ask(l, "JobLogs", func() (map[run.Key][]store.JobEntry, error) { return l.Store.JobLogs(ctx, keys) })
}

func (l *line) Snapshot(ctx context.Context, id run.SnapshotID) (store.Snapshot, error) {
	return ask(l, "Snapshot", func() (store.Snapshot, error) { return l.Store.Snapshot(ctx, id) })
}

func (l *line) PostRun(ctx context.Context, key run.Key) (store.PostRun, error) {
	return ask(l, "PostRun", func() (store.PostRun, error) { return l.Store.PostRun(ctx, key) })
}

func (l *line) Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]store.Rerun, error) {
	return ask(l, "Reruns", func() (map[run.Key][]store.Rerun, error) { return l.Store.Reruns(ctx, keys) })
}

func (l *line) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	return ask(l, "Events", func() (store.Page[event.Event], error) { return l.Store.Events(ctx, q) })
}

func (l *line) EventsAfter(ctx context.Context, after store.Position, limit int) ([]store.StoredEvent, error) {
	return ask(l, "EventsAfter", func() ([]store.StoredEvent, error) { return l.Store.EventsAfter(ctx, after, limit) })
}

func (l *line) Marked(ctx context.Context, ids []string) (map[string]bool, error) {
	return ask(l, "Marked", func() (map[string]bool, error) { return l.Store.Marked(ctx, ids) })
}

func (l *line) Receive(ctx context.Context, name, consumer string, limit int) ([]store.Change, error) {
	return ask(l, "Receive", func() ([]store.Change, error) { return l.Store.Receive(ctx, name, consumer, limit) })
}

func (l *line) Done(ctx context.Context, name string, changes []store.Change) error {
	return demand(l, "Done", func() error { return l.Store.Done(ctx, name, changes) })
}

func (l *line) Backlog(ctx context.Context, name string) (n int, oldest time.Time, err error) {
	err = demand(l, "Backlog", func() error {
		n, oldest, err = l.Store.Backlog(ctx, name)
		return err
	})
	return n, oldest, err
}

func (l *line) Claim(ctx context.Context, q store.ClaimQuery, now time.Time) ([]store.Claim, error) {
	return ask(l, "Claim", func() ([]store.Claim, error) { return l.Store.Claim(ctx, q, now) })
}

func (l *line) Renew(ctx context.Context, leases []store.Lease, lease time.Duration, now time.Time) ([]store.Lease, error) {
	return ask(l, "Renew", func() ([]store.Lease, error) { return l.Store.Renew(ctx, leases, lease, now) })
}

func (l *line) Release(ctx context.Context, leases []store.Lease, now time.Time) error {
	return demand(l, "Release", func() error { return l.Store.Release(ctx, leases, now) })
}

func (l *line) VoidLeases(ctx context.Context) error {
	return demand(l, "VoidLeases", func() error { return l.Store.VoidLeases(ctx) })
}

func (l *line) Task(ctx context.Context, id string) (store.Task, error) {
	return ask(l, "Task", func() (store.Task, error) { return l.Store.Task(ctx, id) })
}

func (l *line) Trim(ctx context.Context, keep store.Retention, now time.Time) (int, error) {
	return ask(l, "Trim", func() (int, error) { return l.Store.Trim(ctx, keep, now) })
}
