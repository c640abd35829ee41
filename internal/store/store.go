// Package store is the contract of everything that Interlock remembers: runs, readings, deadlines, events, tasks. A
// handler reads, decides, and hands over one Batch, which happens as a whole or not at all; what must happen next, and
// what is to be announced, is part of it. So nothing is ever started or published "after" a write, and no crash falls
// between the two.
//
// The adapters are memory, sqlite, redis and dynamo, each in its folder; storetest is the one suite that all of them
// pass. docs/ADDING-A-STORE.md says how each method becomes one Lua script and one transaction of at most ten rows.
// Stores take the current instant as a parameter and never read a clock for anything that a decision sees.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// ErrConflict says that a Batch was decided on something that is no longer so: a stale version, a row that was created
// meanwhile, a lease that somebody else holds. Nothing of it happened; read again and decide again.
var ErrConflict = errors.New("conflict: something changed since it was read")

// ErrNotFound says that there is no such record.
var ErrNotFound = errors.New("not found")

// ErrTooLarge says that one call carries more than this store takes at once.
var ErrTooLarge = errors.New("too much for one call")

// Store is everything. Handlers ask for the roles they need.
type Store interface {
	Committer
	Sensors
	Reader
	Feed
	Tasks
	Keeper
}

// Committer changes what is remembered.
type Committer interface {
	// Commit makes all of b happen, or returns an error and none of it has happened. An error other than ErrConflict
	// leaves open whether it did: the same Batch may be sent again, since a Batch that was taken before, recognised by
	// its ID, is answered as it was the first time (for at least an hour).
	Commit(ctx context.Context, b Batch, now time.Time) error
}

// Sensors takes readings.
type Sensors interface {
	// PutReadings stores all writes or none, in order, and appends a Change for each. A version is larger than every
	// version given out before it. More writes than the store takes at once are ErrTooLarge (at least 10 always fit;
	// 1,000 everywhere but on DynamoDB). Written and acknowledged means durable.
	PutReadings(ctx context.Context, writes []Write, now time.Time) ([]Put, error)
}

// Write is one reading on its way in.
type Write struct {
	Pipeline pipeline.ID
	Reading  sensor.Reading // UpdatedAt and Version are given by the store
	// Order, where it is not 0, makes a late write harmless: one that is not above the order of the stored reading of
	// that pipeline, key and period is passed over. The engine's own readings use it.
	Order int64
}

// Put is what became of a Write.
type Put struct {
	Version   int64
	UpdatedAt time.Time
	Changed   bool // the data differs from what was there
	Ignored   bool // a later one, by Order, was there already
}

// Reader reads. Every answer reflects all commits and writes that were acknowledged before the call.
type Reader interface {
	// Run gives a run, and DryRun the loop of a dry-run pipeline; ErrNotFound if there is none.
	Run(ctx context.Context, key run.Key) (run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	// Runs lists runs, latest period first, then by pipeline and schedule.
	Runs(ctx context.Context, q RunQuery) (Page[run.Run], error)
	// OpenRuns lists the runs of a pipeline (of all, if id is "") that have not ended, dry runs left out, oldest period first.
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	// LastRuns gives the runs of one pipeline and schedule with the given periods; those that are not there are left out.
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)

	// Pipeline gives a pipeline's own row; ErrNotFound if it was never accepted.
	Pipeline(ctx context.Context, id pipeline.ID) (Pipeline, error)
	// Pipelines lists all of them by id, removed ones included.
	Pipelines(ctx context.Context) ([]Pipeline, error)
	// Config gives one version of a pipeline's file; Configs lists them without their texts, newest first.
	Config(ctx context.Context, id pipeline.ID, version string) (Config, error)
	Configs(ctx context.Context, id pipeline.ID) ([]Config, error)

	// Readings answers each query with the readings that sensor.ForPeriod chooses from: those of the period itself, of
	// the slices that hold it, the undated one, and the newest of all others, as far as they exist.
	Readings(ctx context.Context, queries []ReadingQuery) ([][]*sensor.Reading, error)
	// LatestReadings lists the most recently written reading of every key of a pipeline, by key.
	LatestReadings(ctx context.Context, id pipeline.ID) ([]*sensor.Reading, error)
	// History lists the writes of a key, newest first.
	History(ctx context.Context, q HistoryQuery) (Page[*sensor.Reading], error)

	// Deadlines lists ledger rows by breach instant, soonest first.
	Deadlines(ctx context.Context, q DeadlineQuery) (Page[Deadline], error)
	// JobLog lists what happened to the jobs of a run, oldest first.
	JobLog(ctx context.Context, key run.Key) ([]JobEntry, error)
	// Snapshot gives the facts a start was decided on; PostRun what is remembered of a completed run.
	Snapshot(ctx context.Context, id run.SnapshotID) (Snapshot, error)
	PostRun(ctx context.Context, key run.Key) (PostRun, error)
	// Reruns lists the requests for a run with their answers, oldest first.
	Reruns(ctx context.Context, key run.Key) ([]Rerun, error)
	// Events lists events, newest first (oldest first with q.Ascending). EventsAfter is how sinks and streams follow:
	// up to limit events after a position, oldest first, each with its own.
	Events(ctx context.Context, q EventQuery) (Page[event.Event], error)
	EventsAfter(ctx context.Context, after Position, limit int) ([]StoredEvent, error)
	// Marked says which of the marks are set.
	Marked(ctx context.Context, ids []string) (map[string]bool, error)
	// Dead lists events that a sink would not take, oldest first.
	Dead(ctx context.Context, sink string) ([]DeadLetter, error)
}

// Keeper looks after the store itself.
type Keeper interface {
	// Trim forgets what its retention allows, at most some hundred rows a call, and says how many. It never touches runs,
	// counters, armed deadlines, the latest reading of a key or of an open run's period, nor what a cursor has not passed.
	Trim(ctx context.Context, keep Retention, now time.Time) (int, error)
	Close() error
}

// Retention is how long history is kept; 0 means for ever.
type Retention struct {
	Events, History, JobLog time.Duration
}

// What is not for the user to choose.
const (
	MaxTrim    = 500                // how many rows one Trim forgets at most
	DryRunLife = 7 * 24 * time.Hour // how long the marker of an ended dry run stays
	CommitLife = time.Hour          // how long a Batch is recognised at least
)
