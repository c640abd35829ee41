// Package store is the contract of everything that Interlock remembers: runs, readings, deadlines, events, tasks. A
// handler reads, decides, and hands over one Batch, which happens as a whole or not at all; what must happen next, and
// what is to be announced, is part of it. So nothing is ever started or published "after" a write, and no crash falls
// between the two.
//
// The adapters are memory, sqlite, redis and dynamo, each in its folder; storetest is the one suite that all of them
// pass. docs/ADDING-A-STORE.md says how each method becomes one Lua script and one transaction of at most ten rows.
//
// What holds for every method: it is safe for use by several goroutines and, where the technology allows, by several
// processes on the same data. Stores take the current instant as a parameter and never read a clock for anything that a
// decision sees. Instants are kept to the nanosecond and come back in UTC. The data of readings comes back as the same
// data (sensor.SameData): a whole number may have become an int64. What a caller hands over or is given is his own: the
// store keeps and gives copies.
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

// ErrAway says that the store cannot be reached or takes nothing just now, which is nobody's mistake and passes. Whether what was
// asked for has happened is open, unless the error says more.
var ErrAway = errors.New("the store is not available")

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
	// Commit makes all of b happen, or returns an error and none of it has happened. What each part of a Batch does, and when
	// it is ErrConflict, is said there. Conflicting parts are looked for before anything is changed, so a refused Batch leaves
	// no event, task or mark behind.
	//
	// A Batch that was taken before, recognised by its Identity, is answered with nil and changes nothing, whatever it holds
	// and whatever has happened since (for at least CommitLife by now; by then versions tell). So where an error other than
	// ErrConflict leaves open whether it was taken, the same Batch is sent again. A Batch that was refused is not remembered.
	//
	// Changes are appended to the feed for runs that were created or whose status or attempt changed, and for every swap of a
	// pipeline's row. One Batch may append several; they come in the order runs, pipelines.
	Commit(ctx context.Context, b Batch, now time.Time) error
}

// Sensors takes readings.
type Sensors interface {
	// PutReadings stores all writes or none, in order, as the current reading of their pipeline, key and period and as
	// history, and appends a Change for each that was not ignored. Two writes of one row in one call are two writes. Each
	// gets a version that is larger than every version given out before it, by whatever row, and now as its UpdatedAt.
	// A write with Deleted is stored like any other, without fields; rules pass over it.
	// Written and acknowledged means durable.
	//
	// More writes than the store takes at once are ErrTooLarge (MaxWrites everywhere but on DynamoDB, where at least 5 fit, or 4 with one mark);
	// a write without pipeline or key, or with data that sensor.Normalize refuses, is an error too. Pipelines need not exist.
	PutReadings(ctx context.Context, writes []Write, now time.Time) ([]Put, error)
}

// Write is one reading on its way in.
type Write struct {
	Pipeline pipeline.ID
	Reading  sensor.Reading // UpdatedAt and Version are given by the store
	// Order, where it is not 0, makes a late write harmless: one that is not above the order of the stored reading of
	// that pipeline, key and period is passed over. The engine's own readings use it. A write without it is always taken, and
	// leaves the stored order as it is.
	Order int64
	// Once, where it has an ID, makes a repeat harmless: the mark is set together with the write, and a write of another call
	// whose mark is set already is passed over. Writes of one call may share a mark. A mark does not count after its Until.
	Once Mark
}

// Put is what became of a Write.
type Put struct {
	Version   int64
	UpdatedAt time.Time
	// Changed says that the data differs (sensor.SameData) from the current reading of that period, that there was none, or
	// that one of the two is Deleted.
	Changed bool
	Ignored bool // a later one, by Order, was there already: Version and UpdatedAt are its own
	// Repeated says that the mark of Once was set already, and nothing was stored. Version and UpdatedAt are zero.
	Repeated bool
}

// Reader reads. Every answer reflects all commits and writes that were acknowledged before the call. (On DynamoDB events,
// and lists over all pipelines, may follow a moment later; whoever acts on an entry swaps it by version.)
//
// Lists that come in pages have a total order, so that two reads of the same rows agree; see Page and PageSize. A cursor
// that no page of that list came with is ErrCursor. A list without any entry is no error.
type Reader interface {
	// Run gives a run, and DryRun the loop of a dry-run pipeline; ErrNotFound if there is none. The two share no rows.
	Run(ctx context.Context, key run.Key) (run.Run, error)
	DryRun(ctx context.Context, key run.Key) (run.Run, error)
	// Runs lists runs, latest period first (by Compare), then by pipeline and schedule. Dry runs are left out.
	Runs(ctx context.Context, q RunQuery) (Page[run.Run], error)
	// OpenRuns lists all runs of a pipeline (of all, if id is "") that have not ended, dry runs left out, oldest period
	// first, then by pipeline and schedule.
	OpenRuns(ctx context.Context, id pipeline.ID) ([]run.Run, error)
	// RunsAt gives the runs with these keys; those that are not there are left out.
	RunsAt(ctx context.Context, keys []run.Key) (map[run.Key]run.Run, error)

	// Pipeline gives a pipeline's own row; ErrNotFound if it was never accepted.
	Pipeline(ctx context.Context, id pipeline.ID) (Pipeline, error)
	// Pipelines lists all of them by id, removed ones included. EachPipeline hands them over one by one, for those who need little
	// of each: a row is large, and there may be very many. It ends with the first error of do.
	Pipelines(ctx context.Context) ([]Pipeline, error)
	EachPipeline(ctx context.Context, do func(Pipeline) error) error
	// Config gives one version of a pipeline's file; ErrNotFound if there is none. Configs lists them WithoutTexts, newest
	// first by At, those of one instant by version.
	Config(ctx context.Context, id pipeline.ID, version string) (Config, error)
	Configs(ctx context.Context, id pipeline.ID) ([]Config, error)

	// Readings answers each query, in order, with the readings that sensor.ForPeriod chooses from: those of the period itself
	// and of the slices that hold it, the undated one, and of all others that of the latest period by Compare, as far as they
	// exist, in any order. Expired and deleted ones are among them: sensor.ForPeriod and rules say whether they count.
	Readings(ctx context.Context, queries []ReadingQuery) ([][]*sensor.Reading, error)
	// LatestReadings lists the most recently written reading, by version, of every key of a pipeline, by key. It may be Deleted.
	LatestReadings(ctx context.Context, q LatestQuery) (Page[*sensor.Reading], error)
	// SensorSizes gives about how many bytes the data of the latest reading of each key of a pipeline has as JSON.
	SensorSizes(ctx context.Context, id pipeline.ID) (map[sensor.Key]int, error)
	// History lists the writes of a key, newest first by version. Writes that were ignored are not among them.
	History(ctx context.Context, q HistoryQuery) (Page[*sensor.Reading], error)
	// Writes gives the writes with these names, as History has them; those that are not there, or no longer, are left out.
	Writes(ctx context.Context, ids []WriteID) (map[WriteID]*sensor.Reading, error)

	// Deadlines lists ledger rows by breach instant, soonest first, then by period, pipeline, schedule and kind.
	Deadlines(ctx context.Context, q DeadlineQuery) (Page[Deadline], error)
	// JobLogs gives what happened to the jobs of these runs, as far as something did: oldest first by At, those of one instant
	// as they were appended.
	JobLogs(ctx context.Context, keys []run.Key) (map[run.Key][]JobEntry, error)
	// Snapshot gives the facts a start was decided on, PostRun what is remembered of a completed run; ErrNotFound if there is
	// none.
	Snapshot(ctx context.Context, id run.SnapshotID) (Snapshot, error)
	PostRun(ctx context.Context, key run.Key) (PostRun, error)
	// Reruns gives the requests for these runs with their answers, as far as there are any, in the same order.
	Reruns(ctx context.Context, keys []run.Key) (map[run.Key][]Rerun, error)
	// Events lists events in the order in which they were committed, newest first (oldest first with q.Ascending).
	Events(ctx context.Context, q EventQuery) (Page[event.Event], error)
	// EventsAfter is how sinks and streams follow: up to PageSize(limit) events after a position, oldest first, each with its
	// own. Positions start above 0 and grow. There may be gaps, however large, and none is ever filled. A position is never
	// reused, not even if the technology loses the last commits, as in a failover: followers keep theirs in memory.
	EventsAfter(ctx context.Context, after Position, limit int) ([]StoredEvent, error)
	// LastPosition returns the position of the last event; 0 if there is none.
	LastPosition(ctx context.Context) (Position, error)
	// PositionAt returns the position after which the events since t come: all of them, where clocks were right. If no event
	// is that young, it is that of the last event.
	PositionAt(ctx context.Context, t time.Time) (Position, error)
	// Marked says which of the marks are set; those that are not are left out.
	Marked(ctx context.Context, ids []string) (map[string]bool, error)
	// Note gives one note; ErrNotFound if there is none. Notes lists those of a kind, by key.
	Note(ctx context.Context, kind NoteKind, key string) (Note, error)
	Notes(ctx context.Context, kind NoteKind) ([]Note, error)
	// Dead lists events that a sink (any, if it is "") would not take, oldest first by At, then by sink and event id.
	Dead(ctx context.Context, sink string) ([]DeadLetter, error)
}

// Keeper looks after the store itself.
type Keeper interface {
	// Trim forgets what its retention allows, at most MaxTrim rows a call, and says how many; 0 means that there is nothing
	// left to forget. What is exactly as old as its retention stays. Its cost follows what it forgets, not what stays: a write
	// that it had to keep it may look at again only a day later. What
	// was stored while a clock was ahead keeps nothing else from going: it goes in its own time, or with what was stored
	// after it. It forgets:
	//
	//   - events, by their Time, that every cursor has passed. Their ids may be announced again.
	//   - writes, by AgesFrom; one that another write of its period replaced may go by UpdatedAt. Never the most recently written
	//     reading of a key, nor the current undated one, nor the current one of a period that is, holds, or lies in that of an
	//     open run or dry run of any pipeline.
	//   - job log entries and rerun requests, by At, of runs that are not open; and of those the snapshots that the run
	//     does not refer to.
	//   - changes that every group has passed, as long as there is a group.
	//   - dry runs that ended and were not touched for DryRunLife, marks and notes whose Until has passed, batches older than CommitLife.
	//
	// Everything else stays: runs with their counters, deadlines, what is remembered after a run, pipelines, config versions,
	// tasks, cursors, dead letters.
	Trim(ctx context.Context, keep Retention, now time.Time) (int, error)
	// Close ends what waits, and lets go of what was received and is not done. Every call after it is an error, except that
	// closing twice is fine.
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
